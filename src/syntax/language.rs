//! The languages that there is a grammar for.

use std::path::Path;

use serde::{Deserialize, Serialize};

/// A language with a grammar.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the names say it")]
pub enum Language {
    Astro,
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
    Svelte,
    Swift,
    Tsx,
    TypeScript,
    Vue,
}

use Language::*;

impl Language {
    /// By file name.
    pub fn of(path: &str) -> Option<Self> {
        Some(match Path::new(path).extension()?.to_str()? {
            "astro" => Astro,
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
            "svelte" => Svelte,
            "swift" => Swift,
            "tsx" => Tsx,
            "ts" | "mts" | "cts" => TypeScript,
            "vue" => Vue,
            _ => return None,
        })
    }

    /// Whether only what is script in a text is read.
    pub fn is_component(self) -> bool {
        matches!(self, Astro | Svelte | Vue)
    }

    /// Whether `#if` and its kin stand between lines.
    pub fn has_preprocessor(self) -> bool {
        matches!(self, C | Cpp | CSharp | Swift)
    }
}
