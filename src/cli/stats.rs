//! `codeskim stats`: what the ledger says was saved.

use std::path::{Path, absolute};

use codeskim::error::{Error, Result, one_line, quote};
use codeskim::ledger::{self, page, report};
use codeskim::regular;
use codeskim::tools::Output;

/// What was saved, as text, as JSON, or as a page that is written into a file.
pub fn show(days: Option<u64>, json: bool, html: Option<&Path>) -> Result<Output> {
    let place = ledger::place().ok_or_else(|| Error::bad_argument("The ledger is turned off by CODESKIM_LEDGER, or HOME is not set."))?;
    let shown = place.display().to_string();
    let entries = ledger::read(&place).map_err(|source| Error::Unreadable { path: quote(&shown), source })?;
    let stats = ledger::stats::stats(&entries, days);
    let nothing = match (entries.is_empty(), stats.days.is_empty()) {
        (true, _) => Some(format!("Nothing is in the ledger yet; it will be {shown}.")),
        (false, true) => Some(format!("Nothing in {shown} is of these days.")),
        (false, false) => None,
    };
    if let Some(path) = html {
        let page = nothing.map_or_else(|| page::render(&stats, days, &shown), |nothing| page::empty(&nothing));
        return write(path, &page);
    }
    Ok(Output::new(match (json, nothing) {
        (true, _) => serde_json::to_string_pretty(&stats).expect("figures are JSON") + "\n",
        (false, Some(nothing)) => nothing + "\n",
        (false, None) => report::render(&stats),
    }))
}

fn write(path: &Path, page: &str) -> Result<Output> {
    let failed =
        |error| Error::failed(format!("{} could not be written ({error}); name another file.", quote(&path.display().to_string())));
    regular::write(path, page).map_err(failed)?;
    let path = absolute(path).unwrap_or_else(|_| path.to_owned());
    Ok(Output::new(format!("The page is in {}.\n", one_line(&path.display().to_string()))))
}
