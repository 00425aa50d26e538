//! Figures as text for a terminal.

use std::collections::BTreeMap;
use std::fmt::Write;

use serde::Serialize;

use super::figures::{Bin, Figures, KEEP_RATES, calibration};
use super::intervals::{Interval, Intervals};
use super::{Outcome, Record, SHORT_DEFINITION};

/// Width of a bar of the calibration picture, in characters.
const BAR: usize = 40;

/// One skimmer's figures: over all questions, by language and by kind.
#[derive(Debug, Serialize)]
pub struct Report {
    /// Its name.
    pub skimmer: String,
    /// Over all questions.
    pub all: Figures,
    /// Between which figures these may as well have been.
    pub intervals: Intervals,
    /// By language; search results count as one.
    pub languages: BTreeMap<String, Figures>,
    /// By kind of question.
    pub kinds: BTreeMap<String, Figures>,
    /// Scores against what people marked.
    pub calibration: Vec<Bin>,
}

impl Report {
    /// Of outcomes, one for each record.
    pub fn new(skimmer: &str, records: &[Record], outcomes: &[Outcome]) -> Self {
        let group = |key: &dyn Fn(&Record, &Outcome) -> String| {
            let mut groups: BTreeMap<String, Vec<&Outcome>> = BTreeMap::new();
            for (record, outcome) in records.iter().zip(outcomes) {
                groups.entry(key(record, outcome)).or_default().push(outcome);
            }
            groups.into_iter().filter(|(key, _)| !key.is_empty()).map(|(key, group)| (key, Figures::of(&group))).collect()
        };
        let all: Vec<&Outcome> = outcomes.iter().collect();
        let language = |record: &Record, outcome: &Outcome| if outcome.search { "search".to_owned() } else { record.lang.clone() };
        Self {
            skimmer: skimmer.to_owned(),
            all: Figures::of(&all),
            intervals: Intervals::of(records.iter().map(about).zip(outcomes)),
            languages: group(&language),
            kinds: group(&|record, _| record.kind.clone()),
            calibration: calibration(&all),
        }
    }

    /// Its tables and its calibration picture.
    pub fn render(&self) -> String {
        let all = &self.all;
        let mut out = format!("{}: {} questions with an answer, {} without\n", self.skimmer, all.answerable, all.absent);
        let optional = |value: Option<f64>| value.map_or_else(|| "-".to_owned(), |value| format!("{value:.3}"));
        let _ = writeln!(
            out,
            "  line F1 {:.3} (precision {:.3}, recall {:.3}, keep rate {:.3}); as shown, completed: F1 {:.3} (keep rate {:.3})",
            all.scored.f1, all.scored.precision, all.scored.recall, all.scored.keep_rate, all.shown.f1, all.shown.keep_rate
        );
        let recalls: Vec<String> =
            KEEP_RATES.iter().zip(all.recall_at).map(|(rate, recall)| format!("{recall:.3} at {:.0} %", rate * 100.0)).collect();
        let _ = writeln!(out, "  recall {}", recalls.join(", "));
        let interval = |interval: Interval| interval.map_or_else(|| "-".to_owned(), |[from, to]| format!("{from:.3} to {to:.3}"));
        let _ = writeln!(
            out,
            "  had other packages been drawn, of {} here, in 95 %: line F1 {}, recall {} at 20 %, absent AUC {}",
            self.intervals.packages,
            interval(self.intervals.f1),
            interval(self.intervals.recall_at[1]),
            interval(self.intervals.absent_auc)
        );
        let _ = writeln!(
            out,
            "  absent AUC {}; says that nothing answers: to {} of the questions with an answer, {} of those without; that or that it is in doubt: {} and {}",
            optional(all.absent_auc),
            optional(all.unanswered[0]),
            optional(all.unanswered[1]),
            optional(all.doubted[0]),
            optional(all.doubted[1])
        );
        let _ = writeln!(
            out,
            "  tokens saved {:.1} %; views that parse {}; latency p50 {:.1} ms, p95 {:.1} ms",
            100.0 * all.tokens_saved,
            optional(all.parse_valid),
            all.latency[0],
            all.latency[1]
        );
        let _ = writeln!(
            out,
            "  as shown: recall {:.3}; of definitions of up to {SHORT_DEFINITION} lines that hold a line that answers {} whole, {} in pieces; gaps of one or \
             two lines {}\n",
            all.shown.recall,
            optional(all.definitions[0]),
            optional(all.definitions[1]),
            optional(all.thin_gaps)
        );
        let _ = writeln!(
            out,
            "  {:<14}{:>9}{:>8}{:>8}{:>8}{:>8}{:>10}{:>8}{:>9}{:>9}",
            "", "questions", "F1", "shown", "recall", "whole", "recall@20", "AUC", "saved %", "parse"
        );
        for (name, figures) in self.languages.iter().chain(&self.kinds) {
            let _ = writeln!(
                out,
                "  {name:<14}{:>9}{:>8}{:>8}{:>8}{:>8}{:>10}{:>8}{:>9.1}{:>9}",
                figures.answerable + figures.absent,
                optional((figures.answerable > 0).then_some(figures.scored.f1)),
                optional((figures.answerable > 0).then_some(figures.shown.f1)),
                optional((figures.answerable > 0).then_some(figures.shown.recall)),
                optional(figures.definitions[0]),
                optional((figures.answerable > 0).then_some(figures.recall_at[1])),
                optional(figures.absent_auc),
                100.0 * figures.tokens_saved,
                optional(figures.parse_valid)
            );
        }
        let _ = writeln!(out, "\n  score   lines   share that answers (| marks the mean score)");
        for bin in self.calibration.iter().filter(|bin| bin.lines > 0) {
            let at = |share: f64| ((share * BAR as f64).round() as usize).min(BAR);
            let mut bar: Vec<char> = (0..=BAR).map(|i| if i < at(bin.answers) { '█' } else { ' ' }).collect();
            bar[at(bin.score)] = '|';
            let _ = writeln!(out, "  {:.2}  {:>7}   {}  {:.2}", bin.score, bin.lines, bar.into_iter().collect::<String>(), bin.answers);
        }
        out
    }
}

/// What a question is about: its package, or else its text.
fn about(record: &Record) -> (&str, &[String]) {
    (&record.package, if record.package.is_empty() { &record.lines } else { &[] })
}

/// The answerable questions on which a skimmer's views are furthest above and below another one's, with what each shows and misses.
pub fn examples(records: &[Record], outcomes: &[Outcome], baseline: &[Outcome], count: usize) -> String {
    let gain = |i: &usize| outcomes[*i].f1() - baseline[*i].f1();
    let mut order: Vec<usize> = (0..records.len()).filter(|i| outcomes[*i].is_answerable()).collect();
    order.sort_by(|a, b| gain(b).total_cmp(&gain(a)).then(a.cmp(b)));
    let wins = order.iter().filter(|i| gain(i) > 0.0).take(count).map(|i| ("win", *i));
    let losses = order.iter().rev().filter(|i| gain(i) < 0.0).take(count).map(|i| ("loss", *i));
    let mut out = "= shown and marked, + shown only, - marked only\n\n".to_owned();
    for (title, i) in wins.chain(losses) {
        let (record, outcome) = (&records[i], &outcomes[i]);
        let _ = writeln!(
            out,
            "--- {title}: F1 {:.2}, the baseline {:.2} ({} {})\n{}\n",
            outcome.f1(),
            baseline[i].f1(),
            record.lang,
            record.kind,
            record.question
        );
        let mut gap: Option<usize> = None;
        let write_gap = |out: &mut String, gap: Option<usize>, end: usize| {
            if let Some(start) = gap {
                let _ = writeln!(out, "      ⋮ {}", crate::prune::render::numbers(0, &(start..end)));
            }
        };
        for (line, text) in record.lines.iter().enumerate() {
            let answers = record.keep.contains(&line);
            if !outcome.shown[line] && !answers {
                gap.get_or_insert(line);
                continue;
            }
            write_gap(&mut out, gap.take(), line);
            let sign = match (outcome.shown[line], answers) {
                (true, true) => '=',
                (true, false) => '+',
                _ => '-',
            };
            let _ = writeln!(out, "{sign} {:>4}  {text}", line + 1);
        }
        write_gap(&mut out, gap, record.lines.len());
        out.push('\n');
    }
    out
}
