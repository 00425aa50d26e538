//! How far a command is, for whoever looks on: a line on stderr once it takes long, which is gone when the command ends.

use std::io::{self, IsTerminal};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::JoinHandle;
use std::time::Duration;

use indicatif::{HumanCount, ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};

/// How long a command may take before it says how far it is.
const SILENCE: Duration = Duration::from_secs(2);
/// Time between two pictures of one that has nothing new to say.
const TICK: Duration = Duration::from_millis(100);

/// The line of a command that runs.
pub(super) struct Progress {
    bar: ProgressBar,
    what: &'static str,
    /// Hangs up when the command ends, and who waits for that.
    watch: Option<(Sender<()>, JoinHandle<()>)>,
}

impl Progress {
    /// Begins to wait. `what` is counted: files. Where stderr is no terminal, nothing is ever shown.
    pub(super) fn of(what: &'static str) -> Self {
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::hidden()).with_style(style("{spinner} {far}", what));
        let watch = io::stderr().is_terminal().then(|| {
            let ((end, ended), bar) = (mpsc::channel(), bar.clone());
            let watcher = std::thread::spawn(move || {
                if ended.recv_timeout(SILENCE) == Err(RecvTimeoutError::Timeout) {
                    bar.set_draw_target(ProgressDrawTarget::stderr());
                    bar.enable_steady_tick(TICK);
                }
            });
            (end, watcher)
        });
        Self { bar, what, watch }
    }

    /// Says how many are done, and of how many, where that is known.
    pub(super) fn set(&self, done: usize, all: Option<usize>) {
        let all = all.map(|all| all as u64);
        if self.bar.length() != all {
            match all {
                Some(all) => self.bar.set_length(all),
                None => self.bar.unset_length(),
            }
            self.bar.set_style(style(if all.is_some() { "{spinner} {bar:32} {far}" } else { "{spinner} {far}" }, self.what));
        }
        self.bar.set_position(done as u64);
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some((end, watcher)) = self.watch.take() {
            drop(end);
            let _ = watcher.join();
        }
        self.bar.finish_and_clear();
    }
}

fn style(template: &str, what: &'static str) -> ProgressStyle {
    let far = move |state: &ProgressState, out: &mut dyn std::fmt::Write| {
        let _ = out.write_str(&far(state.pos(), state.len(), what));
    };
    ProgressStyle::with_template(template).expect("a template").with_key("far", far)
}

/// `1,200 of 51,659 files`.
fn far(done: u64, all: Option<u64>, what: &str) -> String {
    match all {
        Some(all) => format!("{} of {} {what}", HumanCount(done), HumanCount(all)),
        None if done == 0 => "working".to_owned(),
        None => format!("{} {what}", HumanCount(done)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_known_is_not_said() {
        let said = [(0, None), (1_200, None), (1_200, Some(51_659))].map(|(done, all)| far(done, all, "files"));
        assert_eq!(said, ["working", "1,200 files", "1,200 of 51,659 files"]);
    }
}
