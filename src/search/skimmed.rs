//! What the skimmer says of the likeliest units: it reads them among the lines around them.

use std::collections::HashMap;
use std::ops::Range;

use rayon::prelude::*;
use tokio_util::sync::CancellationToken;

use super::ranking::second;
use super::units::Source;
use crate::prune::FocusQuestion;
use crate::skim::{LineScores, SkimError, Skimmer, skim_safely};

/// Lines that are skimmed at once, at most.
const WINDOW: usize = 160;
/// Lines that are skimmed in all, at most, with the embedded skimmer; with others as much less as they take.
const LINES: usize = 4000;
/// Characters of results that the embedded skimmer takes: see [`Skimmer::room`].
const ROOM: usize = 2_000_000;
/// Windows, at most.
const MOST: usize = 32;

/// Scores of lines of a file.
#[derive(Debug, Clone, Default)]
pub struct Scores {
    /// Of each line that was skimmed.
    pub keep: HashMap<usize, f32>,
}

/// Skims the likeliest units, and notes of each what the skimmer says, and what is to be said of it: a skimmer
/// that fails, and so says nothing, or what it says of itself.
pub fn skim(
    sources: &mut [Source],
    question: &FocusQuestion,
    skimmer: &dyn Skimmer,
    cancel: &CancellationToken,
) -> (Vec<Scores>, Option<String>) {
    let windows = windows(sources, LINES * skimmer.room().min(ROOM) / ROOM);
    let read = |(source, range): &(usize, Range<usize>)| {
        let lines = sources[*source].text.lines(range.clone());
        skim_safely(skimmer, &lines, question.as_str(), cancel)
    };
    let answers: Vec<Result<LineScores, SkimError>> = windows.par_iter().with_max_len(1).map(read).collect();
    let mut scores = vec![Scores::default(); sources.len()];
    let mut remark = None;
    let mut of_windows: Vec<Vec<(Range<usize>, f32)>> = vec![Vec::new(); sources.len()];
    for ((source, range), answer) in windows.into_iter().zip(answers) {
        let answer = match answer {
            Ok(answer) => answer,
            Err(error) => {
                remark = Some(format!("the skimmer failed ({error}), so words alone decide"));
                continue;
            }
        };
        remark = remark.or(answer.note);
        scores[source].keep.extend(range.clone().zip(answer.keep.iter().copied()));
        of_windows[source].push((range, answer.answer));
    }
    for (at, source) in sources.iter_mut().enumerate() {
        for unit in &mut source.units {
            let mut own: Vec<f32> = unit.lines.clone().filter_map(|line| scores[at].keep.get(&line).copied()).collect();
            let inside = |window: &&(Range<usize>, f32)| window.0.contains(&unit.lines.start);
            let Some((_, answer)) = of_windows[at].iter().find(inside).filter(|_| !own.is_empty()) else { continue };
            let mean = own.iter().sum::<f32>() / own.len() as f32;
            own.sort_by(|a, b| b.total_cmp(a));
            let top = &own[..own.len().min(3)];
            let answer = answer.clamp(1e-4, 1.0 - 1e-4);
            let evidence = &mut unit.evidence;
            (evidence.best, evidence.top, evidence.mean) = (own[0], top.iter().sum::<f32>() / top.len() as f32, mean);
            (evidence.answers, evidence.skimmed) = ((answer / (1.0 - answer)).ln(), 1.0);
        }
    }
    (scores, remark)
}

/// The lines to skim: around the likeliest units, so many in all.
fn windows(sources: &[Source], lines: usize) -> Vec<(usize, Range<usize>)> {
    let mut order: Vec<(f32, usize, usize)> = Vec::new();
    for (at, source) in sources.iter().enumerate() {
        order.extend(source.units.iter().enumerate().map(|(unit, it)| (second(&source.candidate.evidence, &it.evidence), at, unit)));
    }
    order.sort_by(|a, b| b.0.total_cmp(&a.0).then((a.1, a.2).cmp(&(b.1, b.2))));
    let (mut windows, mut left): (Vec<(usize, Range<usize>)>, usize) = (Vec::new(), lines);
    for (_, at, unit) in order {
        let (source, unit) = (&sources[at], &sources[at].units[unit]);
        if windows.iter().any(|(other, range)| *other == at && range.contains(&unit.lines.start)) {
            continue;
        }
        let window = around(&unit.lines, source.text.len());
        // What is skimmed already is not skimmed again.
        let mut window = window;
        for (_, range) in windows.iter().filter(|(other, _)| *other == at) {
            if range.contains(&window.start) {
                window.start = range.end;
            }
            if window.start < range.start && range.start < window.end {
                window.end = range.start;
            }
        }
        if window.len() > left || windows.len() == MOST {
            break;
        }
        left -= window.len();
        windows.push((at, window));
    }
    windows
}

/// The lines around a unit: the whole file where it is short.
fn around(unit: &Range<usize>, total: usize) -> Range<usize> {
    if total <= WINDOW {
        return 0..total;
    }
    let length = unit.len().min(WINDOW);
    let start = unit.start.saturating_sub((WINDOW - length) / 2).min(total - WINDOW);
    start..start + WINDOW
}
