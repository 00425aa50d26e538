//! What was saved, from the ledger.
//!
//! The measure is a session that asks no questions and so has a text once it has asked for it. A view is worth the lines of its text that the session
//! has not come across before, shown or left out, less what the view costs; reading back what a view left out costs what it returns:
//!
//! ```text
//! net = whole - known before - returned - list of tools
//! ```
//!
//! A call that takes the place of no other, a map, counts as a cost. What an agent reads with tools of its own is not known here.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::PathBuf;

use chrono::{Days, Local, NaiveDate, TimeZone};
use serde::Serialize;

use super::{Call, Entry};

/// Commands of a shell that are further apart belong to two sessions, in milliseconds.
const PAUSE: u64 = 30 * 60 * 1000;
/// Days without a call that are listed too, at most: clocks that were wrong once are years off.
const MOST_DAYS: u64 = 366;
/// Who calls where there is no session of an agent.
const SHELL: &str = "shell";
/// An agent that has told no name, or whose session was noted in a ledger that is gone.
const UNKNOWN: &str = "unknown";

/// Tokens (o200k) and counts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Figures {
    /// Sessions of agents that were told of the tools.
    pub sessions: usize,
    /// Calls of tools.
    pub calls: usize,
    /// What the calls return without their questions.
    pub whole: usize,
    /// What of that the session knew before, or had been spared and asked for after all.
    pub again: usize,
    /// What the calls returned.
    pub returned: usize,
    /// The list of tools, once a session.
    pub schema: usize,
    /// What remains.
    pub net: isize,
    /// Calls that returned the whole all the same, to observe.
    pub observed: usize,
    /// What their views would have saved; not in the net.
    pub would_save: isize,
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
    /// By agent, as it calls itself.
    pub clients: BTreeMap<String, Figures>,
    /// By day, in the local time zone: 2026-11-22.
    pub days: BTreeMap<String, Figures>,
}

impl Figures {
    fn add(&mut self, other: &Self) {
        self.sessions += other.sessions;
        self.calls += other.calls;
        self.whole += other.whole;
        self.again += other.again;
        self.returned += other.returned;
        self.schema += other.schema;
        self.net += other.net;
        self.observed += other.observed;
        self.would_save += other.would_save;
    }

    fn with_net(self) -> Self {
        Self { net: self.whole as isize - (self.again + self.returned + self.schema) as isize, ..self }
    }
}

/// Adds up a ledger, in order of time; only the last `days`, today included, if there is such a number.
pub fn stats(entries: &[Entry], days: Option<u64>) -> Stats {
    let first = days.and_then(first_of).map_or_else(String::new, named);
    let (mut stats, mut sessions) = (Stats::default(), Sessions::default());
    let names = entries.iter().filter_map(|entry| match entry {
        Entry::Session(session) => Some((session.session.as_str(), session.client.as_str())),
        Entry::Call(_) => None,
    });
    let names: HashMap<&str, &str> = names.collect();
    for entry in entries {
        let (figures, tool, project, client) = match entry {
            Entry::Session(session) => {
                let figures = Figures { sessions: 1, schema: session.schema, ..Figures::default() }.with_net();
                (figures, None, &session.project, session.client.as_str())
            }
            Entry::Call(call) => {
                let named = call.client.as_deref().or_else(|| names.get(call.session.as_deref()?).copied());
                (
                    sessions.call(call),
                    Some(&call.tool),
                    &call.project,
                    named.unwrap_or(if call.session.is_none() { SHELL } else { UNKNOWN }),
                )
            }
        };
        let day = day(entry.time());
        if day < first {
            continue;
        }
        stats.total.add(&figures);
        if let Some(tool) = tool {
            stats.tools.entry(tool.clone()).or_default().add(&figures);
        }
        stats.projects.entry(project.display().to_string()).or_default().add(&figures);
        stats.clients.entry(if client.trim().is_empty() { UNKNOWN } else { client }.to_owned()).or_default().add(&figures);
        stats.days.entry(day).or_default().add(&figures);
    }
    stats
}

/// The first of the last days, today included.
fn first_of(days: u64) -> Option<NaiveDate> {
    Local::now().date_naive().checked_sub_days(Days::new(days.saturating_sub(1)))
}

fn named(day: NaiveDate) -> String {
    day.format("%F").to_string()
}

impl Stats {
    /// The days until today, also those without a call: the last `days`, or since the first that has one.
    pub fn all_days(&self, days: Option<u64>) -> BTreeMap<String, Figures> {
        let mut all = self.days.clone();
        let begin = days.and_then(first_of).or_else(|| self.days.keys().filter_map(|day| day.parse().ok()).min());
        if let (Some(begin), Some(earliest)) = (begin, first_of(MOST_DAYS)) {
            let today = Local::now().date_naive();
            for day in begin.max(earliest).iter_days().take_while(|day| *day <= today) {
                all.entry(named(day)).or_default();
            }
        }
        all
    }
}

fn day(time: u64) -> String {
    let moment = i64::try_from(time).ok().and_then(|time| Local.timestamp_millis_opt(time).single());
    moment.map_or_else(String::new, |moment| moment.format("%F").to_string())
}

/// What sessions know.
#[derive(Default)]
struct Sessions {
    /// By session and file: the lines that were shown or left out, with the tokens that were saved by leaving them out.
    known: HashMap<(String, PathBuf), HashMap<usize, f64>>,
    /// Those that get whole texts in place of views.
    observing: HashSet<String>,
    /// When a shell's last command was, and the number of its session.
    shell: (u64, usize),
}

impl Sessions {
    fn call(&mut self, call: &Call) -> Figures {
        let session = self.session(call);
        let leaves_out = call.parts.iter().any(|part| !part.left_out.is_empty());
        let (known, left_out) = self.met(&session, call);
        // Of a view, what was known before cannot be saved; of an exact text, what it shows of what had been left out.
        let again = (if leaves_out { call.whole as f64 * known } else { left_out }).round() as usize;
        if call.observed {
            self.observing.insert(session.clone());
        }
        let is_view = leaves_out && !call.observed;
        if is_view || !self.observing.contains(&session) {
            return Figures { calls: 1, whole: call.whole, again, returned: call.returned, ..Figures::default() }.with_net();
        }
        // Nothing was left out, and so nothing is saved or asked for again; what views would have done is counted apart.
        let (returned, view) = if call.observed { (call.whole, call.returned) } else { (call.returned, call.whole) };
        let would_save = call.whole as isize - (again + view) as isize;
        Figures { calls: 1, whole: call.whole, returned, observed: usize::from(call.observed), would_save, ..Figures::default() }.with_net()
    }

    /// The share of a call's lines that the session has met before, shown or left out, and the tokens of those lines that had been left out and are
    /// shown now. From then on what is shown is paid for, and what is left out for the first time is saved.
    fn met(&mut self, session: &str, call: &Call) -> (f64, f64) {
        let (mut lines, mut known_lines, mut left_out) = (0_usize, 0_usize, 0.0);
        for part in &call.parts {
            let known = self.known.entry((session.to_owned(), part.of.clone())).or_default();
            for line in part.shown.iter().flat_map(|(first, last)| *first..=*last) {
                lines += 1;
                if let Some(saved) = known.insert(line, 0.0) {
                    known_lines += 1;
                    left_out += saved;
                }
            }
            for (first, last, tokens) in part.left_out.iter().filter(|(first, last, _)| first <= last) {
                for line in *first..=*last {
                    lines += 1;
                    known_lines += usize::from(known.contains_key(&line));
                    known.entry(line).or_insert(*tokens as f64 / (last + 1 - first) as f64);
                }
            }
        }
        (known_lines as f64 / lines.max(1) as f64, left_out)
    }

    /// The session of a call; those of a shell are told apart by pauses.
    fn session(&mut self, call: &Call) -> String {
        call.session.clone().unwrap_or_else(|| {
            let (last, number) = &mut self.shell;
            if call.time.saturating_sub(*last) > PAUSE {
                *number += 1;
            }
            *last = call.time;
            format!("shell {number}")
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ledger::Lines;
    use crate::prune::{Piece, pieces};
    use proptest::prelude::*;

    /// A call on a text of ten tokens a line.
    fn call(first: usize, kept: &[bool]) -> Call {
        let mut part = Lines { of: "/p/a.rs".into(), shown: Vec::new(), left_out: Vec::new() };
        for piece in pieces(kept) {
            match piece {
                Piece::Lines(lines) => part.shown.push((first + lines.start, first + lines.end - 1)),
                Piece::Gap(gap) => part.left_out.push((first + gap.start, first + gap.end - 1, 10 * gap.len())),
            }
        }
        let returned = 10 * kept.iter().filter(|kept| **kept).count();
        Call {
            time: 1_000,
            session: Some("a".to_owned()),
            client: None,
            project: "/p".into(),
            tool: "read_file".to_owned(),
            returned,
            whole: 10 * kept.len(),
            parts: vec![part],
            observed: false,
            question: None,
        }
    }

    fn net(calls: &[&Call]) -> isize {
        stats(&calls.iter().map(|call| Entry::Call((*call).clone())).collect::<Vec<_>>(), None).total.net
    }

    #[test]
    fn only_what_was_not_known_is_saved_and_what_is_read_back_is_not() {
        let view = call(1, &[[false; 60].as_slice(), &[true; 10], &[false; 30]].concat());
        let back = call(11, &[true; 20]);
        let all = call(1, &[true; 100]);
        assert_eq!(net(&[&view]), 900);
        assert_eq!(net(&[&view, &back]), 700);
        assert_eq!(net(&[&view, &back, &back]), 700, "a second time is no other than without questions");
        assert_eq!(net(&[&view, &all]), 0);
        assert_eq!(net(&[&view, &view]), 800, "the second view tells nothing new");
        assert_eq!(net(&[&all, &view]), -100);
        assert_eq!(net(&[&view, &Call { session: Some("b".to_owned()), ..back.clone() }]), 900, "another reader");
        let shell = |time, call: &Call| Call { session: None, time, ..call.clone() };
        assert_eq!(net(&[&shell(5_000_000, &view), &shell(5_100_000, &back)]), 700);
        assert_eq!(net(&[&shell(5_000_000, &view), &shell(9_000_000, &back)]), 900);
        let observed = Call { observed: true, ..view.clone() };
        let observing = |calls: &[&Call]| {
            let total = stats(&calls.iter().map(|call| Entry::Call((*call).clone())).collect::<Vec<_>>(), None).total;
            (total.net, total.would_save)
        };
        assert_eq!(observing(&[&observed]), (0, 900));
        assert_eq!(observing(&[&observed, &all]), (0, 0), "what a view had left out would have been read after all");
        assert_eq!(observing(&[&observed, &back]), (0, 700));
        assert_eq!(observing(&[&all, &observed]), (0, -100));
    }

    proptest! {
        /// However often a text is asked about, no more is saved than it has, less all that was returned.
        #[test]
        fn a_text_is_never_saved_twice(views in prop::collection::vec(prop::collection::vec(any::<bool>(), 50), 1..6)) {
            let calls: Vec<Call> = views.iter().map(|kept| call(1, kept)).filter(|call| call.returned < call.whole).collect();
            let returned: usize = calls.iter().map(|call| call.returned).sum();
            let saved = if calls.is_empty() { 0 } else { 500 - returned as isize };
            prop_assert_eq!(net(&calls.iter().collect::<Vec<_>>()), saved);
        }
    }
}
