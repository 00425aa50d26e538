//! The languages that there is a grammar for.

use std::path::Path;

use serde::{Deserialize, Serialize};

/// A language with a grammar.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the names say it")]
pub enum Language {
    Bash,
    C,
    CSharp,
    Cpp,
    Go,
    Java,
    JavaScript,
    Kotlin,
    Php,
    Python,
    Ruby,
    Rust,
    Swift,
    Tsx,
    TypeScript,
}

use Language::*;

impl Language {
    /// By file name.
    pub fn of(path: &str) -> Option<Self> {
        Some(match Path::new(path).extension()?.to_str()? {
            "c" | "h" => C,
            "cs" => CSharp,
            "cc" | "cpp" | "cxx" | "hpp" | "hh" | "hxx" | "cu" => Cpp,
            "go" => Go,
            "java" => Java,
            "js" | "jsx" | "mjs" | "cjs" => JavaScript,
            "kt" | "kts" => Kotlin,
            "php" => Php,
            "py" | "pyi" => Python,
            "rb" | "rake" => Ruby,
            "rs" => Rust,
            "sh" | "bash" => Bash,
            "swift" => Swift,
            "tsx" => Tsx,
            "ts" | "mts" | "cts" => TypeScript,
            _ => return None,
        })
    }

    /// Whether `#if` and its kin stand between lines.
    pub fn has_preprocessor(self) -> bool {
        matches!(self, C | Cpp | CSharp | Swift)
    }
}
