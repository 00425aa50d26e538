//! The interface files that a problem statement names.

/// What problem statements of the study's benchmark call the repository.
pub const PREFIX: &str = "/testbed/";

/// The paths in lines such as `Path: '/testbed/pkg/module.py'`, each once, in order: absolute ones below `prefix` and relative ones, without it.
pub fn paths(task: &str, prefix: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for line in task.lines() {
        let Some((_, rest)) = line.split_once("Path:") else { continue };
        let rest = rest.trim_start();
        let path = match rest.chars().next() {
            Some(quote @ ('\'' | '"' | '`')) => rest[1..].split(quote).next().unwrap_or_default(),
            _ => rest.split([' ', '\t', ',', ')']).next().unwrap_or_default(),
        };
        let path = path.strip_prefix(prefix).unwrap_or(path);
        let path = path.strip_prefix("./").unwrap_or(path);
        if !path.is_empty() && !found.iter().any(|other| other == path) {
            found.push(path.to_owned());
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
    }
}
