//! Markdown: which lines are one block, and which headings they stand under.

use std::ops::Range;

use pulldown_cmark::{CodeBlockKind, Event, Options, Parser, Tag};

use super::Wanted;

/// A paragraph, table or block of code of so many lines is kept whole when any of its lines is.
const SHORT: usize = 8;

/// The blocks of a text.
pub struct Markdown {
    blocks: Vec<Block>,
    headings: Vec<Heading>,
}

/// Lines that belong together.
struct Block {
    lines: Range<usize>,
    /// How many of its first lines come with any other: a fence, the head of a table, the first line of a list item.
    head: usize,
    /// How many of its last lines do.
    foot: usize,
    /// Whether it is kept whole where it is short.
    one_piece: bool,
}

/// A heading of a section.
pub struct Heading {
    /// Its lines: two where it is underlined.
    pub lines: Range<usize>,
    /// Where its section ends, with the sections in it.
    pub end: usize,
    /// Where the first section in it begins, or its own ends.
    pub own_end: usize,
    level: usize,
}

impl Markdown {
    /// Reads a text.
    pub fn new(text: &str) -> Self {
        let starts: Vec<usize> =
            std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1)).filter(|at| *at < text.len()).collect();
        let line = |byte: usize| starts.partition_point(|start| *start <= byte).saturating_sub(1);
        let lines_of = |bytes: Range<usize>| {
            let last = bytes.start + text[bytes.clone()].trim_end().len().max(1) - 1;
            line(bytes.start)..line(last) + 1
        };
        let (mut blocks, mut headings): (Vec<Block>, Vec<Heading>) = (Vec::new(), Vec::new());
        let settings = front_matter(text);
        if settings > 0 {
            blocks.push(Block { lines: lines_of(0..settings), head: 1, foot: 1, one_piece: true });
        }
        for (event, bytes) in Parser::new_ext(&text[settings..], Options::ENABLE_TABLES).into_offset_iter() {
            let Event::Start(tag) = event else { continue };
            let lines = lines_of(bytes.start + settings..bytes.end + settings);
            let (head, foot, one_piece) = match tag {
                Tag::Heading { level, .. } => {
                    headings.push(Heading { lines: lines.clone(), end: starts.len(), own_end: starts.len(), level: level as usize });
                    (lines.len(), 0, true)
                }
                Tag::Paragraph | Tag::HtmlBlock | Tag::CodeBlock(CodeBlockKind::Indented) => (0, 0, true),
                Tag::CodeBlock(CodeBlockKind::Fenced(_)) => (1, 1, true),
                Tag::Table(_) => (2, 0, true),
                Tag::Item => (1, 0, false),
                _ => continue,
            };
            blocks.push(Block { lines, head, foot, one_piece });
        }
        let mut open: Vec<usize> = Vec::new();
        for i in 0..headings.len() {
            let (start, level) = (headings[i].lines.start, headings[i].level);
            while let Some(outer) = open.pop_if(|outer| headings[*outer].level >= level) {
                headings[outer].end = start;
            }
            if let Some(before) = i.checked_sub(1) {
                headings[before].own_end = start;
            }
            open.push(i);
        }
        Self { blocks, headings }
    }

    /// All headings, in order.
    pub fn headings(&self) -> &[Heading] {
        &self.headings
    }

    /// Extends `kept` to whole paragraphs, what frames the rest, and the headings above.
    pub fn complete(&self, kept: &mut [bool]) {
        let wanted = Wanted::new(kept);
        for Block { lines, head, foot, one_piece } in self.blocks.iter().filter(|block| wanted.any(&block.lines)) {
            if *one_piece && lines.len() <= SHORT {
                kept[lines.clone()].fill(true);
            }
            kept[lines.start..(lines.start + head).min(lines.end)].fill(true);
            kept[lines.end.saturating_sub(*foot).max(lines.start)..lines.end].fill(true);
        }
        let wanted = Wanted::new(kept);
        for Heading { lines, .. } in self.headings.iter().filter(|heading| wanted.any(&(heading.lines.start..heading.end))) {
            kept[lines.clone()].fill(true);
        }
    }
}

/// Bytes of the settings between two lines of dashes that a text may begin with.
fn front_matter(text: &str) -> usize {
    let mut lines = text.split_inclusive('\n').scan(0, |end, line| {
        *end += line.len();
        Some((line.trim_end(), *end))
    });
    let begins = lines.next().is_some_and(|(line, _)| line == "---");
    lines.find(|(line, _)| *line == "---").filter(|_| begins).map_or(0, |(_, end)| end)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "\
Title
=====

One paragraph
of two lines.

## Use

- first
  and more
  - inner
- second

| a | b |
|---|---|
| 1 | 2 |

### Deep
```sh
# no heading
make
```
## End
";

    fn completed(text: &str, picked: &[usize]) -> Vec<usize> {
        let mut kept: Vec<bool> = (0..text.lines().count()).map(|line| picked.contains(&line)).collect();
        Markdown::new(text).complete(&mut kept);
        (0..kept.len()).filter(|line| kept[*line]).collect()
    }

    #[test]
    fn a_line_brings_its_block_and_its_headings() {
        assert_eq!(completed(TEXT, &[4]), [0, 1, 3, 4]);
        assert_eq!(completed(TEXT, &[10]), [0, 1, 6, 8, 10]);
        assert_eq!(completed(TEXT, &[20]), [0, 1, 6, 17, 18, 19, 20, 21]);
        assert_eq!(completed(TEXT, &[15]), [0, 1, 6, 13, 14, 15]);
        assert_eq!(completed(TEXT, &[22]), [0, 1, 22]);
    }

    #[test]
    fn of_a_long_block_what_frames_it_is_kept() {
        let text = format!("```\n{}```\n", "a\n".repeat(20));
        assert_eq!(completed(&text, &[9]), [0, 9, 21]);
        let paragraph = "a\n".repeat(20);
        assert_eq!(completed(&paragraph, &[9]), [9]);
    }

    #[test]
    fn a_heading_in_a_list_item_brings_the_item_and_what_that_is_under() {
        assert_eq!(completed("# X\n\n- intro\n\n  # Inner\n  text\n", &[5]), [0, 2, 4, 5]);
    }

    #[test]
    fn settings_are_only_at_the_start() {
        let text = "---\na: 1\n---\n# A\n\n---\n## B\nb\n\n---\n## C\nc\n";
        assert_eq!(completed(text, &[1]), [0, 1, 2]);
        assert_eq!(completed(text, &[7]), [3, 6, 7]);
        assert_eq!(completed(text, &[11]), [3, 10, 11]);
    }

    #[test]
    fn sections_end_where_the_next_of_their_level_begins() {
        let sections: Vec<_> = Markdown::new(TEXT).headings().iter().map(|it| (it.lines.start, it.own_end, it.end)).collect();
        assert_eq!(sections, [(0, 6, 23), (6, 17, 22), (17, 22, 22), (22, 23, 23)]);
    }
}
