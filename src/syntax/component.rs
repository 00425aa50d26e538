//! Components of Vue, Svelte and Astro: which of their text is script. The rest is blanked for a grammar of scripts, so that every place stays
//! where it is.

use std::ops::Range;

use super::preprocessor::blank;
use super::{Language, Place};

/// What stands between Astro's frontmatter and the rest.
const FENCE: &str = "---";
/// Types of scripts that are code, beside none; others are data and templates.
const CODE: [&str; 8] = [
    "module",
    "text/javascript",
    "application/javascript",
    "text/ecmascript",
    "text/typescript",
    "text/babel",
    "text/jsx",
    "text/partytown",
];
/// Languages of scripts that the grammars for TypeScript read.
const SCRIPTS: [&str; 6] = ["ts", "js", "tsx", "jsx", "typescript", "javascript"];

/// A block of script, in bytes of the text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Block {
    /// The tag or the fence that opens it.
    pub opener: Range<usize>,
    /// What is in it.
    pub code: Range<usize>,
    /// What closes it; nothing at the end of the text where it is not closed.
    pub closer: Range<usize>,
    /// Where it says that its code is.
    pub source: Option<String>,
}

/// The scripts of a component, and what the rest of it is to a grammar.
pub struct Scripts {
    /// The text with spaces in place of what is no script.
    pub text: String,
    /// Runs of lines without script.
    pub unread: Vec<Range<usize>>,
    /// Of lines that are script in part, which bytes are.
    pub partly: Vec<Place>,
    /// The files that scripts are said to be in.
    pub sources: Vec<String>,
}

/// Takes these blocks of script from the text of a component.
pub fn scripts(text: &str, blocks: &[Block]) -> Scripts {
    let mut found = Scripts { text: String::with_capacity(text.len()), unread: Vec::new(), partly: Vec::new(), sources: Vec::new() };
    let mut done = 0;
    for block in blocks {
        found.text.push_str(&blank(&text[done..block.code.start]));
        found.text.push_str(&text[block.code.clone()]);
        done = block.code.end;
    }
    found.text.push_str(&blank(&text[done..]));
    let (mut start, mut next) = (0, 0);
    for (number, line) in text.split_inclusive('\n').enumerate() {
        let own = start..start + line.trim_end_matches(['\r', '\n']).len();
        start += line.len();
        while blocks.get(next).is_some_and(|block| block.code.end <= own.start) {
            next += 1;
        }
        let on_line = blocks[next..].iter().map(|block| &block.code).take_while(|code| code.start <= own.end);
        let read: Vec<Range<usize>> = on_line.map(|code| code.start.max(own.start)..code.end.min(own.end)).collect();
        if read.first() == Some(&own) {
            continue;
        }
        let read: Vec<Range<usize>> = read.into_iter().filter(|read| !text[read.clone()].trim().is_empty()).collect();
        match found.unread.last_mut() {
            _ if !read.is_empty() => {
                found.partly.extend(read.into_iter().map(|read| (number, read.start - own.start..read.end - own.start)))
            }
            Some(run) if run.end == number => run.end += 1,
            _ => found.unread.push(number..number + 1),
        }
    }
    found.sources = blocks.iter().filter_map(|block| block.source.clone()).collect();
    found
}

/// The blocks of script, in order. HTML ends one at the first `</script`, wherever that stands, and one without it at the end of the text.
pub fn blocks(language: Language, text: &str) -> Vec<Block> {
    let mut found: Vec<Block> = frontmatter(text).filter(|_| language == Language::Astro).into_iter().collect();
    let mut at = found.last().map_or(0, |block| block.closer.end);
    let mut skips = language == Language::Vue; // what other blocks have is none of the component's
    while let Some(start) = text[at..].find('<').map(|found| at + found) {
        if text[start..].starts_with("<!--") {
            let Some(end) = text[start..].find("-->") else { break };
            at = start + end;
            continue;
        }
        let tag = match Tag::at(text, start, language) {
            Ok(tag) => tag,
            Err(next) => {
                at = next;
                continue;
            }
        };
        at = tag.end;
        if tag.closes_itself {
            found.extend(Some(tag.block(at..at, at..at)).filter(|block| tag.is("script") && block.source.is_some()));
        } else if tag.is("script") {
            let closer = closing(text, at, "script").unwrap_or(text.len()..text.len());
            let block = tag.block(at..closer.start, closer);
            at = block.closer.end;
            found.extend(Some(block).filter(|_| tag.is_code()));
        } else if skips || tag.is("style") {
            match tag.content_end(text, language) {
                Some(end) => at = end,
                None if tag.is("style") => break, // it ends with the text
                None => skips = false,
            }
        }
    }
    found
}

/// Astro's first block, between lines of dashes: it ends at the first that is in no text or comment, or at the first if all seem to be.
fn frontmatter(text: &str) -> Option<Block> {
    let start = text.find(|c: char| !c.is_whitespace() && c != '\u{feff}')?;
    let opener = start..start + text[start..].strip_prefix(FENCE).map(|_| FENCE.len())?;
    let (mut at, mut first, mut within) = (opener.end, None, None);
    for line in text[opener.end..].split_inclusive('\n') {
        let indent = line.len() - line.trim_start().len();
        if at > opener.end && line[indent..].starts_with(FENCE) {
            let fence = (at, at + indent..at + indent + FENCE.len());
            if within.is_none() {
                first = Some(fence);
                break;
            }
            first.get_or_insert(fence);
        }
        within = Within::after(line, within);
        at += line.len();
    }
    let (end, closer) = first.unwrap_or((text.len(), text.len()..text.len()));
    Some(Block { code: opener.end..end, opener, closer, source: None })
}

/// What of a script can go on from line to line and is no code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Within {
    /// A text between backticks.
    Template,
    /// A comment with an end of its own.
    Comment,
}

impl Within {
    /// What is open behind a line, with what is before it.
    fn after(line: &str, mut within: Option<Self>) -> Option<Self> {
        let mut rest = line;
        while let Some(first) = rest.chars().next() {
            let next = match (within, first) {
                (Some(Self::Comment), _) => match rest.find("*/") {
                    Some(end) => {
                        within = None;
                        end + 2
                    }
                    None => break,
                },
                (_, '\\') => 1 + rest[1..].chars().next().map_or(0, char::len_utf8),
                (Some(Self::Template), '`') => {
                    within = None;
                    1
                }
                (None, '`') => {
                    within = Some(Self::Template);
                    1
                }
                (None, '/') if rest.starts_with("//") => break,
                (None, '/') if rest.starts_with("/*") => {
                    within = Some(Self::Comment);
                    2
                }
                (None, '"' | '\'') => 1 + rest[1..].find(first).map_or(0, |end| end + 1),
                _ => first.len_utf8(),
            };
            rest = &rest[next..];
        }
        within
    }
}

/// The first closing tag of this name.
fn closing(text: &str, from: usize, name: &str) -> Option<Range<usize>> {
    let is_one = |at: &usize| {
        let behind = &text.as_bytes()[at + 2..];
        let ends = behind.get(name.len()).is_none_or(|byte| byte.is_ascii_whitespace() || matches!(byte, b'>' | b'/'));
        ends && behind.get(..name.len()).is_some_and(|start| start.eq_ignore_ascii_case(name.as_bytes()))
    };
    let start = text[from..].match_indices("</").map(|(at, _)| from + at).find(is_one)?;
    Some(start..text[start..].find('>').map_or(text.len(), |end| start + end + 1))
}

/// The tag that opens an element.
struct Tag<'a> {
    start: usize,
    end: usize,
    name: &'a str,
    attributes: Vec<(&'a str, &'a str)>,
    closes_itself: bool,
}

impl<'a> Tag<'a> {
    /// The tag that begins at a `<`, or where to look on if none does.
    fn at(text: &'a str, start: usize, language: Language) -> Result<Self, usize> {
        let until = |from: usize, is_end: &dyn Fn(char) -> bool| text[from..].find(is_end).map_or(text.len(), |at| from + at);
        let first = start + 1;
        if !text[first..].starts_with(|c: char| c.is_ascii_alphabetic()) {
            return Err(first);
        }
        let mut at = until(first, &|c| c.is_whitespace() || matches!(c, '>' | '/' | '<'));
        let (name, mut attributes) = (&text[first..at], Vec::new());
        loop {
            at = until(at, &|c| !c.is_whitespace() && c != '/');
            match text.as_bytes().get(at) {
                Some(b'>') => {
                    let closes_itself = text[..at].ends_with('/');
                    return Ok(Self { start, end: at + 1, name, attributes, closes_itself });
                }
                Some(b'{') if language != Language::Vue => {
                    at = braced(text, at);
                    continue;
                }
                Some(b'<') | None => return Err(at),
                Some(_) => {}
            }
            let named = at;
            at = until(at + text[at..].chars().next().map_or(0, char::len_utf8), &|c| {
                c.is_whitespace() || matches!(c, '=' | '>' | '/' | '<')
            });
            let name = &text[named..at];
            let given = until(at, &|c| !c.is_whitespace());
            if !text[given..].starts_with('=') {
                attributes.push((name, ""));
                continue;
            }
            let from = until(given + 1, &|c| !c.is_whitespace());
            at = match text[from..].chars().next() {
                Some(quote @ ('"' | '\'')) => until(from + 1, &|c| c == quote) + 1,
                Some('`') if language == Language::Astro => until(from + 1, &|c| c == '`') + 1,
                Some('{') if language != Language::Vue => braced(text, from),
                _ => until(from, &|c| c.is_whitespace() || c == '>'),
            };
            at = at.min(text.len());
            attributes.push((name, text[from..at].trim_matches(['"', '\''])));
        }
    }

    fn is(&self, name: &str) -> bool {
        self.name.eq_ignore_ascii_case(name)
    }

    fn attribute(&self, name: &str) -> Option<&'a str> {
        self.attributes.iter().find(|(own, _)| own.eq_ignore_ascii_case(name)).map(|(_, value)| *value)
    }

    /// Whether a script is code that a grammar reads.
    fn is_code(&self) -> bool {
        let known = |name: &str, values: &[&str]| self.attribute(name).is_none_or(|value| value.is_empty() || values.contains(&value));
        known("lang", &SCRIPTS) && known("type", &[&CODE[..], &SCRIPTS].concat())
    }

    fn block(&self, code: Range<usize>, closer: Range<usize>) -> Block {
        let source = self.attribute("src").filter(|source| source.starts_with('.')).map(str::to_owned);
        Block { opener: self.start..self.end, code, closer, source }
    }

    /// Where the element ends that this begins; templates of HTML may be in each other.
    fn content_end(&self, text: &str, language: Language) -> Option<usize> {
        if !self.is("template") || self.attribute("lang").is_some_and(|lang| lang != "html") {
            return Some(closing(text, self.end, self.name)?.end);
        }
        let (mut at, mut open) = (self.end, 1);
        loop {
            at += text[at..].find('<')?;
            if text[at..].starts_with("<!--") {
                at += text[at..].find("-->")?;
            } else if text[at..].starts_with("</") {
                let name = &text[at + 2..];
                open -= usize::from(name.get(..self.name.len()).is_some_and(|start| self.is(start)) && !is_longer(name, self.name));
                at += 2;
                if open == 0 {
                    return Some(text[at..].find('>').map_or(text.len(), |end| at + end + 1));
                }
            } else {
                match Tag::at(text, at, language) {
                    Ok(tag) => {
                        open += usize::from(tag.is(self.name) && !tag.closes_itself);
                        at = tag.end;
                    }
                    Err(next) => at = next,
                }
            }
        }
    }
}

/// Whether a tag's name goes on behind this one.
fn is_longer(text: &str, name: &str) -> bool {
    text[name.len()..].starts_with(|c: char| !c.is_whitespace() && !matches!(c, '>' | '/'))
}

/// Where an expression in braces ends; what is quoted in it opens and closes none.
fn braced(text: &str, start: usize) -> usize {
    let (mut depth, mut quote) = (0, None);
    let mut bytes = text.bytes().enumerate().skip(start);
    while let Some((at, byte)) = bytes.next() {
        match (quote, byte) {
            (Some(_), b'\\') => drop(bytes.next()),
            (Some(open), _) if open == byte => quote = None,
            (Some(_), _) => {}
            (None, b'"' | b'\'' | b'`') => quote = Some(byte),
            (None, b'{') => depth += 1,
            (None, b'}') if depth == 1 => return at + 1,
            (None, b'}') => depth -= 1,
            _ => {}
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The code of each block.
    fn code(language: Language, text: &str) -> Vec<&str> {
        blocks(language, text).into_iter().map(|block| text[block.code].trim()).collect()
    }

    #[test]
    fn scripts_are_told_from_all_else() {
        let (vue, svelte, astro) = (Language::Vue, Language::Svelte, Language::Astro);
        let cases = [
            (vue, "<template>\n<p/></template>\n<script setup lang=\"ts\">\na\n</script>\n<script>\nb\n</script>", vec!["a", "b"]),
            (vue, "<script\n  setup\n  lang='ts'\n  generic=\"T extends Record<string, unknown>\"\n>a</script >", vec!["a"]),
            (vue, "<SCRIPT>a</Script>", vec!["a"]),
            (vue, "<template><template #x><b/></template><template #y /><script>no</script></template><script>a</script>", vec!["a"]),
            (vue, "<template lang=\"pug\">\np a<b\n</template>\n<script>a</script>", vec!["a"]),
            (vue, "<docs>\n<script>no</script>\n</docs>\n<script>a</script>", vec!["a"]),
            (vue, "<template>\n<div>\n<script>a</script>", vec!["a"]),
            (vue, "<template>{{ a<b }} <i :title=\"'</i>'\" /></template><script>a</script>", vec!["a"]),
            (vue, "<!-- <script>no</script> --><script>a", vec!["a"]),
            (vue, "<script></script>", vec![""]),
            (vue, "<script lang=\"ts\"", vec![]),
            (vue, "<script src=\"./a.ts\" /><script lang=\"coffee\">no</script>", vec![""]),
            (svelte, "<script>x = '</script>'</script>", vec!["x = '"]),
            (svelte, "<script context=\"module\">a</script>\n<style>b{}/*<script>*/</style>\n<script>b</script>", vec!["a", "b"]),
            (svelte, "<button on:click={() => a > b && \"}\"}>x</button>{#if a<b}\n<script>a</script>", vec!["a"]),
            (svelte, "<svelte:head>{@html `<script type=\"application/ld+json\">{}</script>`}</svelte:head>", vec![]),
            (astro, "---\na\n---\n<p>---</p>\n<script>b</script>", vec!["a", "b"]),
            (astro, "\u{feff}\r\n---\r\nimport x;\r\n---\r\n<p/>", vec!["import x;"]),
            (astro, "---\na", vec!["a"]),
            (
                astro,
                "---\na = `\n---x\n---\n`; // it's `\n/*\n---\n*/\n---\n<p>`</p>\n---\n",
                vec!["a = `\n---x\n---\n`; // it's `\n/*\n---\n*/"],
            ),
            (astro, "---\na = /[`]/;\n---\n<p/>", vec!["a = /[`]/;"]),
            (astro, "---\na = '`' + \"\\\"`\" + `\\``;\n---\n`", vec!["a = '`' + \"\\\"`\" + `\\``;"]),
            (astro, "<p>a</p>\n---\nno\n---\n<script define:vars={{ a: 1 > 0 }} is:inline>b</script>", vec!["b"]),
        ];
        for (language, text, wanted) in cases {
            assert_eq!(code(language, text), wanted, "{text}");
        }
    }

    #[test]
    fn every_byte_stays_in_its_place() {
        let text = "<p>ä</p>\r\n<script>a = 'ö';\r\nb\r\n  </script>\r\n<script>c</script><script>d</script>\n";
        let read = scripts(text, &blocks(Language::Svelte, text));
        assert_eq!(read.text, "         \r\n        a = 'ö';\r\nb\r\n           \r\n        c                 d         \n");
        assert_eq!((read.unread, read.partly), (vec![0..1, 3..4], vec![(1, 8..17), (4, 8..9), (4, 26..27)]));
    }

    #[test]
    fn what_never_ends_is_gone_through_once() {
        for (part, language) in [("<a", Language::Vue), ("<a ", Language::Svelte), ("<a>", Language::Vue), ("<template>", Language::Vue)] {
            assert!(blocks(language, &part.repeat(300_000)).is_empty());
        }
        assert!(blocks(Language::Svelte, &"<a b={'".repeat(100_000)).is_empty());
    }

    #[test]
    fn unclosed_elements_are_not_looked_for_again_and_again() {
        for language in [Language::Vue, Language::Svelte, Language::Astro] {
            for unclosed in ["<style>", "<style></", "<template>", "<a "] {
                assert_eq!(blocks(language, &unclosed.repeat(200_000)), [], "{unclosed}");
            }
        }
    }
}
