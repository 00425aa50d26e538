//! Constants that lines use: without their values such lines say little. Of the definitions of those that a wanted line uses, people want 71 %,
//! of those that a picked line uses and that are not picked themselves, 41 % (`training/LOG.md`).

use std::collections::HashMap;

use super::is_name_part;

/// No constant is defined on longer lines, in bytes.
const LONGEST_DEFINITION: usize = 1000;
/// A constant defined on more lines is something else.
const MOST_DEFINITIONS: usize = 2;

/// The lines that define the constants used on those for which `picked` is set.
pub fn used(lines: &[&str], picked: &[bool]) -> Vec<usize> {
    let mut definitions: HashMap<&str, Vec<usize>> = HashMap::new();
    let on_picked = lines.iter().zip(picked).filter(|(_, picked)| **picked);
    on_picked.flat_map(|(line, _)| constants(line)).for_each(|(_, name)| {
        definitions.entry(name).or_default();
    });
    for (i, line) in lines.iter().enumerate().filter(|(_, line)| line.len() <= LONGEST_DEFINITION) {
        for (at, name) in constants(line) {
            if let Some(found) = definitions.get_mut(name).filter(|_| defines(line, at, name)) {
                found.push(i);
            }
        }
    }
    let mut found: Vec<usize> = definitions.into_values().filter(|lines| lines.len() <= MOST_DEFINITIONS).flatten().collect();
    found.sort_unstable();
    found
}

/// The words of a line that are written like constants, `MAX_SIZE`, `_MAX_SIZE` or `kMaxSize`, and where they begin.
fn constants(line: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut at = 0;
    line.split(|c| !is_name_part(c)).filter_map(move |word| {
        let start = at + line[at..].find(word)?;
        at = start + word.len();
        let bytes = word.trim_start_matches('_').as_bytes();
        let upper = bytes.len() >= 3 && bytes[0].is_ascii_uppercase() && bytes.iter().all(|byte| !byte.is_ascii_lowercase());
        let camel = bytes.len() >= 3 && bytes[0] == b'k' && bytes[1].is_ascii_uppercase();
        (upper || camel).then_some((start, word))
    })
}

/// Whether a line gives the constant that begins there its value: `#define A 1`, `pub const A: usize = 1;`, `A = 1`.
fn defines(line: &str, at: usize, name: &str) -> bool {
    let (before, after) = (line[..at].trim_start(), &line[at + name.len()..]);
    if let Some(directive) = before.strip_prefix('#') {
        return directive.trim() == "define" && !after.trim().is_empty();
    }
    let Some((kind, value)) = after.split_once('=') else { return false };
    let declares = !before.starts_with("case ") && !before.contains(['(', '=', '.', '"', '\'', '/', '*', '{', '[', '!']);
    let plain = !kind.contains(['(', ',', ';', '{', '"', '.', ')'])
        && !kind.trim_start().starts_with(['*', '&'])
        && !kind.ends_with(['!', '<', '>', '+', '-', '*', '/', '%', '&', '|', '^']);
    declares && plain && !value.starts_with(['=', '>'])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_values_of_constants_come_along() {
        let lines = [
            "#define MAX_SIZE 20",
            "pub const LIMIT: usize = 3;",
            "    private static final int MAX_REDIRECTS = 20;",
            "RETRIES = 5",
            "static const int kDepth = 1;",
            "TWICE = 1",
            "TWICE = 2",
            "THRICE = 1",
            "THRICE = 2",
            "THRICE = 3",
            "if (n > MAX_SIZE && LIMIT == 3 || hops >= MAX_REDIRECTS) { n = RETRIES + kDepth + TWICE + THRICE }",
            "assert OTHER >= 3",
            "if (OTHER == 1) call(OTHER, x = 1)",
            "FILE *in = open(); case OTHER: x = 1;",
            "    case OTHER: x = 1;",
            "FILE *out = open();",
            "_PRIVATE = 5",
            "wait(_PRIVATE)",
        ];
        let with = |line: usize| used(&lines, &(0..lines.len()).map(|i| i == line).collect::<Vec<_>>());
        assert_eq!(with(10), [0, 1, 2, 3, 4, 5, 6]);
        assert!(with(11).is_empty() && with(13).is_empty());
        assert_eq!(with(17), [16]);
        assert_eq!(with(0), [0]);
    }
}
