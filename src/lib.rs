//! File tools for coding agents that return only the lines that answer a question.
//!
//! One way through, each step knowing nothing of the one before it:
//!
//! ```text
//! client -> server (MCP) or command line -> tools -> workspace (paths, text) -> skim (scores) -> prune (select, complete, render)
//! ```
//!
//! The same call serves both faces of the program:
//!
//! ```
//! use codeskim::tools::{Session, read_file};
//!
//! let session = Session::new(&["."], Default::default())?;
//! let request = read_file::Request::new("Cargo.toml");
//! let output = read_file::run(&session, &request, &Default::default())?;
//! assert_eq!(output.text, std::fs::read_to_string("Cargo.toml")?);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! What is shown here keeps to semantic versioning. Modules that are not shown belong to the program and may change with any version.
#![warn(missing_docs)]
#![forbid(unsafe_code)]
#![deny(clippy::print_stdout, clippy::print_stderr)] // stdout belongs to the protocol

pub mod error;
pub mod prune;
pub mod skim;
pub mod tools;
pub mod workspace;

// For the program and its tests; they keep to no version.
#[doc(hidden)]
pub mod eval;
#[doc(hidden)]
pub mod hook;
#[doc(hidden)]
pub mod hub;
#[doc(hidden)]
pub mod ledger;
#[doc(hidden)]
pub mod lookup;
#[doc(hidden)]
pub mod mend;
#[doc(hidden)]
pub mod progress;
#[doc(hidden)]
pub mod prune_protocol;
#[doc(hidden)]
pub mod regular;
#[doc(hidden)]
pub mod repomap;
#[doc(hidden)]
pub mod search;
#[doc(hidden)]
pub mod server;
#[doc(hidden)]
pub mod setup;
#[doc(hidden)]
pub mod syntax;
#[doc(hidden)]
pub mod tokens;
