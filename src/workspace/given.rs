//! Paths as they are given: addresses of files, and on Windows as its other shells write them.

use std::borrow::Cow;
use std::path::{Component, Path, PathBuf};

use percent_encoding::percent_decode_str;

/// Where shells that know no drive letters have the drives.
const DRIVES: [&str; 3] = ["/", "/mnt/", "/cygdrive/"];

/// The path that a text means to the system: that of a `file://` address, and on Windows that of `/c/…`, `/mnt/c/…` and `/cygdrive/c/…`.
pub fn meant(text: &str) -> Cow<'_, str> {
    read(text, cfg!(windows))
}

fn read(text: &str, on_windows: bool) -> Cow<'_, str> {
    let Some(rest) = of_address(text) else { return if on_windows { with_letter(text) } else { text.into() } };
    let decoded = percent_decode_str(rest).decode_utf8_lossy();
    match decoded.chars().next() {
        Some('/') if on_windows => with_letter(&decoded).into_owned().into(),
        Some(_) if on_windows && !has_letter(&decoded) => format!("//{decoded}").into(), // a share of another machine
        _ => decoded,
    }
}

/// The path of an address of a file, still encoded: `file://` with or without this machine's name, and `file:/` as some programs write it.
fn of_address(text: &str) -> Option<&str> {
    const HERE: &str = "localhost";
    let rest = text.get(..5).filter(|scheme| scheme.eq_ignore_ascii_case("file:")).map(|_| &text[5..])?;
    let Some(named) = rest.strip_prefix("//") else { return rest.starts_with('/').then_some(rest) };
    let is_here = named.get(..HERE.len()).is_some_and(|host| host.eq_ignore_ascii_case(HERE)) && named[HERE.len()..].starts_with('/');
    Some(if is_here { &named[HERE.len()..] } else { named })
}

/// A path of a shell without drive letters, with one.
fn with_letter(path: &str) -> Cow<'_, str> {
    if let Some(path) = path.strip_prefix('/').filter(|path| has_letter(path)) {
        return path.into(); // as addresses have it
    }
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

/// A path without `..` if it is absolute, where the system itself takes that by the text: Windows does, and Unix does not.
pub fn plain(path: &Path) -> Cow<'_, Path> {
    let is_plain = !cfg!(windows) || !path.has_root() || path.as_os_str().as_encoded_bytes().starts_with(br"\\");
    let with_backslashes = || PathBuf::from(path.to_string_lossy().replace('/', r"\"));
    if is_plain { path.into() } else { std::path::absolute(with_backslashes()).map_or(path.into(), Cow::from) }
}

/// A path without `.` and `..`, by its text alone, beneath `directory` if it is not absolute.
pub fn lexical(path: &str, directory: &Path) -> PathBuf {
    let whole = directory.join(meant(path).as_ref());
    let mut out = PathBuf::new();
    for part in plain(&whole).components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir if out.file_name().is_some() || out.has_root() => drop(out.pop()),
            part => out.push(part),
        }
    }
    out
}

/// A path as one text, however it is written: [`lexical`], on Windows in one letter case.
pub fn one_name(path: &str) -> String {
    let path = lexical(path, Path::new(""));
    let shown = shown(&path);
    if cfg!(windows) { shown.to_lowercase() } else { shown }
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
            ("FILE://LOCALHOST/C:/a.rs", "/C:/a.rs", "C:/a.rs"),
            ("file:/C:/a.rs", "/C:/a.rs", "C:/a.rs"),
            ("file:a.rs", "file:a.rs", "file:a.rs"),
            ("/C:/a.rs", "/C:/a.rs", "C:/a.rs"),
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

    #[cfg(unix)]
    #[test]
    fn a_file_has_one_name_however_it_is_written() {
        for path in ["/a/b.rs", "/a/./b.rs", "/a/c/../b.rs", "//a/b.rs", "file:///a/b.rs", "/../a/b.rs"] {
            assert_eq!(one_name(path), "/a/b.rs");
        }
        assert_eq!(lexical("../b.rs", Path::new("/a/c")), Path::new("/a/b.rs"));
    }

    #[cfg(windows)]
    #[test]
    fn a_file_has_one_name_however_it_is_written() {
        for path in [r"C:\a\b.rs", "c:/a/B.rs", "/c/a/c/../b.rs", "file:///C:/a/b.rs", r"C:\a\.\b.rs"] {
            assert_eq!(one_name(path), "c:/a/b.rs");
        }
    }
}
