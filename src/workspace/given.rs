//! Paths as they are given: addresses of files, and on Windows as its other shells write them.

use std::borrow::Cow;
use std::path::{Component, Path, Prefix};

use percent_encoding::percent_decode_str;

/// Where shells that know no drive letters have the drives.
const DRIVES: [&str; 3] = ["/", "/mnt/", "/cygdrive/"];

/// The path that a text means to the system: that of a `file://` address, and on Windows that of `/c/…`, `/mnt/c/…` and `/cygdrive/c/…`.
pub fn meant(text: &str) -> Cow<'_, str> {
    read(text, cfg!(windows))
}

fn read(text: &str, on_windows: bool) -> Cow<'_, str> {
    let Some(rest) = text.strip_prefix("file://") else { return if on_windows { with_letter(text) } else { text.into() } };
    let decoded = percent_decode_str(rest.strip_prefix("localhost/").map_or(rest, |_| &rest["localhost".len()..])).decode_utf8_lossy();
    if !on_windows {
        return decoded;
    }
    match decoded.strip_prefix('/') {
        Some(path) if has_letter(path) => path.to_owned().into(),
        Some(_) => with_letter(&decoded).into_owned().into(),
        None if decoded.is_empty() || has_letter(&decoded) => decoded,
        None => format!("//{decoded}").into(), // a share of another machine
    }
}

/// A path of a shell without drive letters, with one.
fn with_letter(path: &str) -> Cow<'_, str> {
    let of = |drives: &&str| -> Option<String> {
        let rest = path.strip_prefix(*drives)?;
        let letter = rest.chars().next().filter(char::is_ascii_alphabetic)?;
        let rest = &rest[1..];
        (rest.is_empty() || rest.starts_with('/')).then(|| format!("{letter}:{}", if rest.is_empty() { "/" } else { rest }))
    };
    DRIVES.iter().find_map(of).map_or(path.into(), Cow::from)
}

fn has_letter(path: &str) -> bool {
    matches!(path.as_bytes(), [letter, b':', ..] if letter.is_ascii_alphabetic())
}

/// Whether a path leads to another machine or a device, and none of `known` begins there too. To look there would open a connection, and on
/// Windows hand over the user's name and a proof of the password.
pub fn is_far<'a>(path: &Path, known: impl IntoIterator<Item = &'a Path>) -> bool {
    match path.components().next() {
        Some(Component::Prefix(start)) if !matches!(start.kind(), Prefix::Disk(_) | Prefix::VerbatimDisk(_)) => {
            known.into_iter().all(|known| known.components().next() != Some(Component::Prefix(start)))
        }
        _ => false,
    }
}

/// A path as it is shown: on Windows with slashes, which its programs understand too and which need no second one in JSON.
pub fn shown(path: &Path) -> String {
    let text = path.display().to_string();
    if cfg!(windows) && !text.starts_with(r"\\?\") { text.replace('\\', "/") } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_and_paths_of_other_shells_are_understood() {
        for (text, elsewhere, on_windows) in [
            ("a/b.rs", "a/b.rs", "a/b.rs"),
            ("file:///a%20b/c.rs", "/a b/c.rs", "/a b/c.rs"),
            ("file://localhost/a.rs", "/a.rs", "/a.rs"),
            ("file:///C:/a%20b/c.rs", "/C:/a b/c.rs", "C:/a b/c.rs"),
            ("file:///c/a.rs", "/c/a.rs", "c:/a.rs"),
            ("file://C:/a.rs", "C:/a.rs", "C:/a.rs"),
            ("file://server/share/a.rs", "server/share/a.rs", "//server/share/a.rs"),
            ("file://localhostile/a.rs", "localhostile/a.rs", "//localhostile/a.rs"),
            ("file://", "", ""),
            ("/c/Users/me/a.rs", "/c/Users/me/a.rs", "c:/Users/me/a.rs"),
            ("/mnt/d/a.rs", "/mnt/d/a.rs", "d:/a.rs"),
            ("/cygdrive/e", "/cygdrive/e", "e:/"),
            ("/code/a.rs", "/code/a.rs", "/code/a.rs"),
            ("/mnt/data/a.rs", "/mnt/data/a.rs", "/mnt/data/a.rs"),
            ("C:\\a.rs", "C:\\a.rs", "C:\\a.rs"),
        ] {
            assert_eq!((read(text, false).as_ref(), read(text, true).as_ref()), (elsewhere, on_windows), "{text}");
        }
    }

    #[cfg(windows)]
    #[test]
    fn other_machines_are_not_looked_at() {
        let here = [Path::new(r"C:\a"), Path::new(r"\\server\share\a")];
        for (path, far) in [
            (r"C:\b", false),
            (r"\\?\C:\b", false),
            (r"D:\b", false),
            (r"\\server\share\b", false),
            ("//server/share/b", false),
            (r"\\server\other\b", true),
            (r"\\evil\share\b", true),
            (r"\\?\UNC\evil\share\b", true),
            (r"\\.\pipe\b", true),
            (r"\\?\GLOBALROOT\Device\b", true),
        ] {
            assert_eq!(is_far(Path::new(path), here), far, "{path}");
        }
    }
}
