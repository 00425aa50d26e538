//! Everything a user or an agent sees, through the built binary and over real MCP.

mod bad_input;
mod command_line;
mod common;
mod components;
mod connections;
mod definitions;
mod eval;
mod fuzz;
mod golden;
mod hook;
mod layers;
mod ledger;
mod listing;
mod notebooks;
#[cfg(target_os = "linux")]
mod progress;
mod protocol;
mod repo_map;
mod reports;
mod rules;
mod safety;
mod search;
mod serving;
mod setup;
mod snapshots;
mod stats_page;
mod stdio;
mod structure;
mod swe_pruner;
mod trust;
mod wall;
