//! The interface files that a problem statement names.

use crate::syntax::Language;

/// What problem statements of the study's benchmark call the repository.
pub const PREFIX: &str = "/testbed/";

/// Paths taken from one task, at most.
const MOST: usize = 200;

/// Longer paths are none, in bytes.
const LONGEST: usize = 4096;

/// The paths of source files in lines such as `Path: '/testbed/pkg/module.py'`, each once, in order: those below `prefix` without it.
pub fn paths(task: &str, prefix: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for line in task.lines() {
        for (at, _) in line.match_indices("Path") {
            let rest = line[at + "Path".len()..].trim_start_matches(['*', '_', '`']);
            let Some(rest) = rest.strip_prefix(':') else { continue };
            let rest = rest.trim_start_matches(['*', '_', ' ', '\t']);
            let end = (0..=LONGEST.min(rest.len())).rev().find(|end| rest.is_char_boundary(*end));
            let rest = &rest[..end.unwrap_or(0)];
            let path = match rest.chars().next() {
                Some(quote @ ('\'' | '"' | '`')) => rest[1..].split(quote).next().unwrap_or_default(),
                _ => rest.split([' ', '\t', ',', ')']).next().unwrap_or_default().trim_end_matches(['.', ';', ':', '*']),
            };
            let path = path.strip_prefix(prefix).unwrap_or(path);
            let path = path.strip_prefix("./").unwrap_or(path);
            if Language::of(path).is_some() && !found.iter().any(|other| other == path) {
                found.push(path.to_owned());
            }
            if found.len() == MOST {
                return found;
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_come_in_every_form() {
        let task = "Implement it.\nPath: '/testbed/pkg/a.py'\n- **Path: \"pkg/b.py\"**\n  Path: `./c.py`,\nPath: /testbed/d.py (new)\nPath: 'pkg/b.py'\nThe Path\nPath:\n";
        assert_eq!(paths(task, PREFIX), ["pkg/a.py", "pkg/b.py", "c.py", "d.py"]);
        assert_eq!(paths("Path: '/repo/x.py'", "/repo/"), ["x.py"]);
        assert_eq!(
            paths("**Path:** 'a.py' and **Path**: b.py.\nPath: /api/v1/users\nPath: c.py; Path: d.py:", PREFIX),
            ["a.py", "b.py", "c.py", "d.py"]
        );
    }
}
