//! Components of Vue, Svelte and Astro: scripts come with their tags, and what is around them goes together by indentation.

use std::ops::Range;

use super::plain::Form;
use crate::syntax::Language;
use crate::syntax::component::blocks;

/// Extends `kept` to the tags of scripts with kept lines, and outside of scripts to what kept lines are indented under.
pub fn complete(language: Language, lines: &[&str], kept: &mut [bool]) {
    let mut starts = vec![0];
    starts.extend(lines.iter().scan(0, |end, line| {
        *end += line.len();
        Some(*end)
    }));
    let rows = |bytes: &Range<usize>| {
        let row = |byte: usize| starts.partition_point(|start| *start <= byte).clamp(1, lines.len().max(1)) - 1;
        row(bytes.start)..(row(bytes.end.max(bytes.start + 1) - 1) + 1).min(lines.len())
    };
    let mut outside = lines.to_vec();
    for block in blocks(language, &lines.concat()) {
        let (opener, closer) = (rows(&block.opener), rows(&block.closer));
        if kept[opener.start..closer.end].contains(&true) {
            kept[opener.clone()].fill(true);
            if !block.closer.is_empty() {
                kept[closer.clone()].fill(true);
            }
        }
        let within = opener.end..if block.closer.is_empty() { lines.len() } else { closer.start.max(opener.end) };
        outside[within].fill("\n");
    }
    let mut own: Vec<bool> = kept.iter().zip(&outside).map(|(kept, line)| *kept && !line.trim().is_empty()).collect();
    Form::Indentation.complete(&outside, &mut own);
    kept.iter_mut().zip(own).for_each(|(kept, own)| *kept |= own);
}
