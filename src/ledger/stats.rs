//! What was saved, from the ledger.
//!
//! The measure is the same session without questions: each call returns what it would have returned whole. What a view left out counts once, the
//! first time: when its lines are asked for again, read back or with another question, the reader would have had them already. So
//!
//! ```text
//! net = whole - returned - asked again - list of tools
//! ```
//!
//! A call that returns what no other call would, a map, counts as a cost.

use std::collections::{BTreeMap, HashMap};

use chrono::{Days, Local, TimeZone};
use serde::Serialize;

use super::{Call, Entry};

/// Calls of a shell that are further apart belong to two sessions, in seconds.
const PAUSE: u64 = 30 * 60;

/// Tokens (o200k) and counts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Figures {
    /// Sessions of agents that were told of the tools.
    pub sessions: usize,
    /// Calls of tools.
    pub calls: usize,
    /// What the calls return without their questions.
    pub whole: usize,
    /// What they returned.
    pub returned: usize,
    /// What of the whole an earlier view had left out.
    pub again: usize,
    /// Calls that asked again for something left out.
    pub again_calls: usize,
    /// The list of tools, once a session.
    pub schema: usize,
    /// Calls that returned the whole all the same, to observe what would be saved.
    pub observed: usize,
    /// What remains.
    pub net: isize,
}

/// The figures, in all and by what they are of.
#[derive(Debug, Default, Serialize)]
pub struct Stats {
    /// In all.
    pub total: Figures,
    /// By tool or command.
    pub tools: BTreeMap<String, Figures>,
    /// By first root.
    pub projects: BTreeMap<String, Figures>,
    /// By day, in the local time zone: 2026-11-22.
    pub days: BTreeMap<String, Figures>,
}

impl Figures {
    fn add(&mut self, other: &Self) {
        self.sessions += other.sessions;
        self.calls += other.calls;
        self.whole += other.whole;
        self.returned += other.returned;
        self.again += other.again;
        self.again_calls += other.again_calls;
        self.schema += other.schema;
        self.observed += other.observed;
        self.net += other.net;
    }

    fn with_net(self) -> Self {
        Self { net: self.whole as isize - (self.returned + self.again + self.schema) as isize, ..self }
    }
}

/// Adds up a ledger, in order of time.
pub fn stats(entries: &[Entry]) -> Stats {
    let mut stats = Stats::default();
    let mut sessions = Sessions::default();
    for entry in entries {
        let (figures, tool, project) = match entry {
            Entry::Session(session) => {
                let figures = Figures { sessions: 1, schema: session.schema, ..Figures::default() };
                (figures.with_net(), None, &session.project)
            }
            Entry::Call(call) => (sessions.call(call), Some(&call.tool), &call.project),
        };
        stats.total.add(&figures);
        if let Some(tool) = tool {
            stats.tools.entry(tool.clone()).or_default().add(&figures);
        }
        stats.projects.entry(project.clone()).or_default().add(&figures);
        stats.days.entry(day(entry.time())).or_default().add(&figures);
    }
    stats
}

/// Keeps the entries of the last days, today included.
pub fn keep_days(entries: &mut Vec<Entry>, days: u64) {
    let first = Local::now().date_naive().checked_sub_days(Days::new(days - 1));
    let first = first.map_or_else(String::new, |first| first.format("%F").to_string());
    entries.retain(|entry| day(entry.time()) >= first);
}

fn day(time: u64) -> String {
    let moment = i64::try_from(time).ok().and_then(|time| Local.timestamp_opt(time, 0).single());
    moment.map_or_else(String::new, |moment| moment.format("%F").to_string())
}

/// What sessions have left out so far.
#[derive(Default)]
struct Sessions {
    /// By session and by what was asked for.
    left_out: HashMap<(String, String), LeftOut>,
    /// For each project the last call of a shell, and the number of its session.
    shells: HashMap<String, (u64, usize)>,
}

/// What was left out of a file or a search: first line, last line, tokens.
#[derive(Default)]
struct LeftOut {
    version: u64,
    gaps: Vec<(usize, usize, f64)>,
}

impl Sessions {
    fn call(&mut self, call: &Call) -> Figures {
        let again = match &call.of {
            Some(of) => {
                let session = self.session(call);
                self.left_out.entry((session, of.clone())).or_default().asked_again(call)
            }
            None => 0.0,
        };
        let again = (again.round() as usize).min(call.whole);
        let figures = Figures {
            calls: 1,
            whole: call.whole,
            returned: call.returned,
            again,
            again_calls: usize::from(again > 0),
            observed: usize::from(call.observed),
            ..Figures::default()
        };
        figures.with_net()
    }

    /// The session of a call; those of a shell are told apart by pauses.
    fn session(&mut self, call: &Call) -> String {
        call.session.clone().unwrap_or_else(|| {
            let (last, number) = self.shells.entry(call.project.clone()).or_default();
            if call.time.saturating_sub(*last) > PAUSE {
                *number += 1;
            }
            *last = call.time;
            format!("{} {number}", call.project)
        })
    }
}

impl LeftOut {
    /// Tokens among the lines asked for that were left out before; a gap that is asked for in part counts in part. Then what the call leaves
    /// out takes their place.
    fn asked_again(&mut self, call: &Call) -> f64 {
        if self.version != call.version {
            *self = Self { version: call.version, gaps: Vec::new() };
        }
        let (from, to) = call.lines;
        let (mut again, mut rest) = (0.0, Vec::new());
        for (first, last, tokens) in self.gaps.drain(..) {
            let share = |first: usize, last: usize, of: usize| tokens * (last + 1).saturating_sub(first) as f64 / of as f64;
            let lines = last + 1 - first;
            let (shared_from, shared_to) = (first.max(from), last.min(to));
            if shared_from > shared_to {
                rest.push((first, last, tokens));
                continue;
            }
            again += share(shared_from, shared_to, lines);
            let before = (first, shared_from.saturating_sub(1));
            let after = (shared_to + 1, last);
            rest.extend([before, after].into_iter().filter(|(a, b)| a <= b).map(|(a, b)| (a, b, share(a, b, lines))));
        }
        rest.extend(call.left_out.iter().filter(|(first, last, _)| first <= last).map(|(a, b, tokens)| (*a, *b, *tokens as f64)));
        self.gaps = rest;
        again
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn call(lines: (usize, usize), returned: usize, whole: usize, left_out: Vec<(usize, usize, usize)>) -> Call {
        Call {
            time: 1_000,
            session: Some("a".to_owned()),
            project: "/p".to_owned(),
            tool: "read_file".to_owned(),
            of: Some("a.rs".to_owned()),
            version: 1,
            lines,
            returned,
            whole,
            left_out,
            observed: false,
            question: None,
        }
    }

    fn net(calls: &[Call]) -> isize {
        stats(&calls.iter().cloned().map(Entry::Call).collect::<Vec<_>>()).total.net
    }

    #[test]
    fn what_is_read_back_is_subtracted_once() {
        let view = call((1, 100), 20, 100, vec![(11, 60, 50), (71, 100, 30)]);
        let back = call((11, 60), 50, 50, vec![]);
        assert_eq!(net(std::slice::from_ref(&view)), 80);
        assert_eq!(net(&[view.clone(), back.clone()]), 30);
        assert_eq!(net(&[view.clone(), back.clone(), back.clone()]), 30, "the second time is no other than without questions");
        assert_eq!(net(&[view.clone(), call((36, 65), 30, 30, vec![])]), 55, "half of a gap");
        assert_eq!(net(&[view.clone(), view.clone()]), 80, "a second view leaves out what was never paid for");
        assert_eq!(net(&[view.clone(), Call { version: 2, ..view.clone() }]), 160, "another text");
        assert_eq!(net(&[view.clone(), Call { session: Some("b".to_owned()), ..back.clone() }]), 80, "another reader");
        let shell = |time, call: &Call| Call { session: None, time, ..call.clone() };
        assert_eq!(net(&[shell(5_000, &view), shell(5_100, &back)]), 30);
        assert_eq!(net(&[shell(5_000, &view), shell(9_000, &back)]), 80);
    }

    proptest! {
        /// However often a text is asked about, what is saved is what the last view leaves out: less than the text.
        #[test]
        fn a_text_is_never_saved_twice(views in prop::collection::vec(prop::collection::vec(any::<bool>(), 50), 1..6)) {
            let left_out = |kept: &[bool]| kept.iter().filter(|kept| !**kept).count();
            let calls: Vec<Call> = views.iter().map(|kept| {
                let gaps = crate::prune::gaps(kept).into_iter().map(|gap| (gap.start + 1, gap.end, 10 * gap.len())).collect();
                call((1, 50), 500 - 10 * left_out(kept), 500, gaps)
            }).collect();
            prop_assert_eq!(net(&calls), 10 * left_out(views.last().expect("a view")) as isize);
        }
    }
}
