//! The program's allocator, which tree-sitter shares, with a limit in a process that only reads texts.

use std::alloc::{GlobalAlloc, Layout};
use std::ffi::c_void;
use std::process::exit;
use std::sync::atomic::{AtomicUsize, Ordering};

use codeskim::syntax::worker::TOO_LARGE;
use libmimalloc_sys::{mi_calloc, mi_free, mi_malloc, mi_realloc, mi_usable_size};
use mimalloc::MiMalloc;

/// Bytes that may be taken; none are counted where there is no limit.
static MOST: AtomicUsize = AtomicUsize::new(usize::MAX);
/// Bytes that are taken.
static TAKEN: AtomicUsize = AtomicUsize::new(0);

/// Counts what it gives. Tree-sitter crashes where it gets no memory, and Rust aborts, so that the process ends before, with a status that says why.
pub struct Limited;

/// Gives tree-sitter this allocator: with libc's, a sixth of the time of a map of a hundred files went into getting memory.
pub fn share() {
    let allocator = tree_sitter::Allocator { malloc, calloc, realloc, free };
    // SAFETY: the four belong together, each calls the one of the program's allocator and only counts beside it, and nothing has been parsed yet.
    unsafe { tree_sitter::set_allocator(Some(allocator)) };
}

/// How many bytes more than now may be taken. What was taken before the first limit is not counted.
pub fn limit(bytes: usize) {
    if MOST.load(Ordering::Relaxed) == usize::MAX {
        TAKEN.store(0, Ordering::Relaxed);
    }
    MOST.store(TAKEN.load(Ordering::Relaxed).saturating_add(bytes).min(usize::MAX - 1), Ordering::Relaxed);
}

fn is_limited() -> bool {
    MOST.load(Ordering::Relaxed) != usize::MAX
}

fn take(bytes: usize) {
    if is_limited() && TAKEN.fetch_add(bytes, Ordering::Relaxed).saturating_add(bytes) > MOST.load(Ordering::Relaxed) {
        MOST.store(usize::MAX, Ordering::Relaxed); // the end takes memory, too
        exit(TOO_LARGE.into());
    }
}

/// What was taken before there was a limit may come back, too.
fn give(bytes: usize) {
    if is_limited() {
        let less = |taken: usize| Some(taken.saturating_sub(bytes));
        let _ = TAKEN.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less);
    }
}

// SAFETY: each call is the same of mimalloc, and counting touches no memory.
unsafe impl GlobalAlloc for Limited {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        take(layout.size());
        // SAFETY: the caller's promise.
        unsafe { MiMalloc.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        take(layout.size());
        // SAFETY: the caller's promise.
        unsafe { MiMalloc.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, old: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        take(size);
        give(layout.size());
        // SAFETY: the caller's promise.
        unsafe { MiMalloc.realloc(old, layout, size) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        give(layout.size());
        // SAFETY: the caller's promise.
        unsafe { MiMalloc.dealloc(pointer, layout) }
    }
}

unsafe extern "C" fn malloc(size: usize) -> *mut c_void {
    // SAFETY: the caller's promise.
    counted(unsafe { mi_malloc(size) })
}

unsafe extern "C" fn calloc(count: usize, size: usize) -> *mut c_void {
    // SAFETY: the caller's promise.
    counted(unsafe { mi_calloc(count, size) })
}

unsafe extern "C" fn realloc(old: *mut c_void, size: usize) -> *mut c_void {
    // SAFETY: the caller's promise: `old` is of this allocator, or null, of which the size is 0.
    let (before, new) = unsafe { (mi_usable_size(old), mi_realloc(old, size)) };
    give(before);
    counted(new)
}

unsafe extern "C" fn free(pointer: *mut c_void) {
    // SAFETY: the caller's promise: `pointer` is of this allocator, or null, of which the size is 0.
    unsafe {
        give(mi_usable_size(pointer));
        mi_free(pointer);
    }
}

/// Counts a piece of memory with all that it has, as freeing it gives back as much.
fn counted(new: *mut c_void) -> *mut c_void {
    // SAFETY: it has just come from this allocator, or is null, of which the size is 0.
    take(unsafe { mi_usable_size(new) });
    new
}
