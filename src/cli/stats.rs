//! `codeskim stats`: what the ledger says was saved.

use codeskim::error::{Error, Result, quote};
use codeskim::ledger;
use codeskim::tools::Output;

/// What was saved, as text or JSON.
pub fn show(days: Option<u64>, json: bool) -> Result<Output> {
    let place = ledger::place().ok_or_else(|| Error::bad_argument("The ledger is turned off by CODESKIM_LEDGER, or HOME is not set."))?;
    let shown = place.display().to_string();
    let entries = ledger::read(&place).map_err(|source| Error::Unreadable { path: quote(&shown), source })?;
    let stats = ledger::stats::stats(&entries, days);
    Ok(Output::new(match (json, entries.is_empty(), stats.days.is_empty()) {
        (true, ..) => serde_json::to_string_pretty(&stats).expect("figures are JSON") + "\n",
        (false, true, _) => format!("Nothing is in the ledger yet; it will be {shown}.\n"),
        (false, false, true) => format!("Nothing in {shown} is of these days.\n"),
        (false, false, false) => ledger::report::render(&stats),
    }))
}
