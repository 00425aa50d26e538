//! Texts too long for a skimmer: BM25, which takes a fraction of the time, picks the lines that it scores.

use tokio_util::sync::CancellationToken;

use super::bm25::Bm25;
use super::{LineScores, SkimError, Skimmer};

/// Lines that are skimmed, at most: more would take longer than clients wait.
const LONGEST: usize = 50_000;

/// Scores `lines`: all of them, or those near words of the question if there are too many, the rest being 0.
///
/// # Errors
/// As the skimmer's.
pub fn skim(skimmer: &dyn Skimmer, lines: &[&str], question: &str, cancel: &CancellationToken) -> Result<LineScores, SkimError> {
    if lines.len() <= LONGEST {
        return skimmer.skim(lines, question, cancel);
    }
    let ranks = Bm25::WIDE.skim(lines, question, cancel)?;
    if cancel.is_cancelled() {
        return Err(SkimError::Cancelled);
    }
    // Headings of search results say which file lines are in. Of equals the later one comes first: texts this long are mostly logs.
    let rank = |line: usize| if lines[line].starts_with("== ") { f32::INFINITY } else { ranks.keep[line] };
    let mut likely: Vec<usize> = (0..lines.len()).collect();
    likely.sort_by(|a, b| rank(*b).total_cmp(&rank(*a)).then(b.cmp(a)));
    likely.truncate(LONGEST);
    likely.sort_unstable();
    let some: Vec<&str> = likely.iter().map(|line| lines[*line]).collect();
    let scores = skimmer.skim(&some, question, cancel)?;
    if scores.keep.len() != some.len() {
        return Err(SkimError::Unusable);
    }
    let mut keep = vec![0.0; lines.len()];
    likely.into_iter().zip(&scores.keep).for_each(|(line, score)| keep[line] = *score);
    let said = format!("Of {} lines the {LONGEST} nearest to the question's words were skimmed.", lines.len());
    let note = scores.note.map_or_else(|| said.clone(), |note| format!("{said} {note}"));
    Ok(LineScores { keep, note: Some(note), ..scores })
}
