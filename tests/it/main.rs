//! Everything a user or an agent sees, through the built binary and over real MCP.

#[cfg(unix)]
mod bad_input;
mod command_line;
mod common;
mod components;
#[cfg(unix)]
mod connections;
mod definitions;
mod eval;
mod fuzz;
mod golden;
#[cfg(unix)]
mod hook;
mod layers;
#[cfg(unix)]
mod ledger;
#[cfg(unix)]
mod listing;
mod notebooks;
#[cfg(target_os = "linux")]
mod progress;
mod protocol;
mod repo_map;
mod reports;
#[cfg(unix)]
mod rules;
#[cfg(unix)]
mod safety;
mod search;
mod serving;
#[cfg(unix)]
mod setup;
mod snapshots;
mod stats_page;
mod stdio;
mod structure;
mod swe_pruner;
mod trust;
#[cfg(unix)]
mod wall;
