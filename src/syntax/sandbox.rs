//! The walls around a child that reads texts: it opens no file and no connection, starts nothing, and leaves no dump of itself.
//!
//! Each wall is put up where the system has it; what holds everywhere is that the child is a process of its own, with limits of time and memory.

use super::message::Walls;

/// Bytes of address space, far more than the grammars may take: what else goes wrong ends there.
#[cfg(unix)]
const ADDRESSES: u64 = 4 << 30;

/// Closes this process in, for good, with the thread that `start` begins.
pub fn close<T>(start: impl FnOnce() -> T) -> (Walls, T) {
    let landlock = landlock(); // needs a descriptor, and holds for threads that begin later
    let started = start();
    let no_descriptors = limit();
    (Walls { no_descriptors, landlock, seccomp: seccomp() }, started)
}

#[cfg(unix)]
fn limit() -> bool {
    use rustix::process::{Resource, Rlimit, setrlimit};

    let set = |resource, most| setrlimit(resource, Rlimit { current: Some(most), maximum: Some(most) }).is_ok();
    set(Resource::Core, 0);
    set(Resource::Fsize, 0);
    set(Resource::As, ADDRESSES);
    set(Resource::Nofile, 0)
}

#[cfg(not(unix))]
fn limit() -> bool {
    false
}

#[cfg(target_os = "linux")]
fn landlock() -> bool {
    use landlock::{ABI, Access, AccessFs, AccessNet, Ruleset, RulesetAttr, RulesetStatus};

    let rules = Ruleset::default().handle_access(AccessFs::from_all(ABI::V5));
    let rules = rules.and_then(|rules| rules.handle_access(AccessNet::from_all(ABI::V5)));
    let closed = rules.and_then(Ruleset::create).and_then(|rules| rules.restrict_self());
    closed.is_ok_and(|closed| closed.ruleset != RulesetStatus::NotEnforced)
}

#[cfg(not(target_os = "linux"))]
fn landlock() -> bool {
    false
}

/// What a child needs once it has started; all else is refused, and not deadly, as allocators ask for more than they need.
#[cfg(all(target_os = "linux", target_pointer_width = "64"))]
const CALLS: &[i64] = &[
    libc::SYS_read,
    libc::SYS_write,
    libc::SYS_readv,
    libc::SYS_writev,
    libc::SYS_mmap,
    libc::SYS_munmap,
    libc::SYS_mremap,
    libc::SYS_mprotect,
    libc::SYS_madvise,
    libc::SYS_brk,
    libc::SYS_futex,
    libc::SYS_sched_yield,
    libc::SYS_clock_gettime,
    libc::SYS_clock_nanosleep,
    libc::SYS_nanosleep,
    libc::SYS_getrandom,
    libc::SYS_rt_sigaction,
    libc::SYS_rt_sigprocmask,
    libc::SYS_rt_sigreturn,
    libc::SYS_sigaltstack,
    libc::SYS_getpid,
    libc::SYS_gettid,
    libc::SYS_exit,
    libc::SYS_exit_group,
];

#[cfg(all(target_os = "linux", target_pointer_width = "64"))]
fn seccomp() -> bool {
    use seccompiler::{
        BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule, TargetArch,
        apply_filter_all_threads,
    };

    let refuse = SeccompAction::Errno(libc::EPERM as u32);
    // An abort is a signal to itself.
    let own = SeccompCondition::new(0, SeccompCmpArgLen::Dword, SeccompCmpOp::Eq, std::process::id().into());
    let Ok(to_itself) = own.and_then(|own| SeccompRule::new(vec![own])) else { return false };
    let calls = CALLS.iter().map(|call| (*call, Vec::new())).chain([(libc::SYS_tgkill, vec![to_itself])]);
    let rules = calls.collect();
    let Ok(arch) = TargetArch::try_from(std::env::consts::ARCH) else { return false };
    let program = SeccompFilter::new(rules, refuse, SeccompAction::Allow, arch).and_then(BpfProgram::try_from);
    program.is_ok_and(|program| apply_filter_all_threads(&program).is_ok())
}

#[cfg(not(all(target_os = "linux", target_pointer_width = "64")))]
fn seccomp() -> bool {
    false
}
