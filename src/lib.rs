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
#![warn(missing_docs)]
#![forbid(unsafe_code)]
#![deny(clippy::print_stdout, clippy::print_stderr)] // stdout belongs to the protocol

pub mod error;
pub mod eval;
pub mod hook;
pub mod hub;
pub mod ledger;
pub mod lookup;
pub mod progress;
pub mod prune;
pub mod prune_protocol;
pub mod regular;
pub mod repomap;
pub mod search;
pub mod server;
pub mod setup;
pub mod skim;
pub mod syntax;
pub mod tokens;
pub mod tools;
pub mod workspace;
