//! The figures of the ledger as a picture for the terminal.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::stats::{Figures, Stats};
use crate::error::{counted, one_line};

/// Columns of the longest bar.
const BAR: usize = 24;
/// Columns of a name; longer ones lose their beginning.
const NAME: usize = 32;
/// What ends a bar, by the eighths of a column that are left.
const EIGHTHS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];

/// The figures as text.
pub fn render(stats: &Stats) -> String {
    let total = &stats.total;
    let mut out = String::new();
    for (what, tokens, meaning) in sum(total) {
        let _ = writeln!(out, "{what:<16} {:>12}  {meaning}", grouped(tokens));
    }
    if let Some(percent) = percent(total) {
        let _ = writeln!(out, "{:<16} {percent:>11}%  of what the calls return without questions", "");
    }
    if let Some(observed) = observed(total) {
        let _ = writeln!(out, "\n{observed}");
    }
    for (title, rows) in [("tool", &stats.tools), ("project", &stats.projects), ("client", &stats.clients), ("day", &stats.days)] {
        table(&mut out, title, rows);
    }
    out
}

/// "1,234 calls".
pub(super) fn many(n: usize, what: &str) -> String {
    counted(n, what).replacen(&n.to_string(), &grouped(n as isize), 1)
}

/// How the net comes about: what is added up, its tokens, and what they are.
pub(super) fn sum(total: &Figures) -> [(String, isize, &'static str); 5] {
    [
        (many(total.calls, "call"), total.whole as isize, "what they return without questions"),
        ("read again".to_owned(), -(total.again as isize), "what of that the session knew already, or asked for after it was left out"),
        ("returned".to_owned(), -(total.returned as isize), "what they returned"),
        (many(total.sessions, "session"), -(total.schema as isize), "the list of tools and the instructions, once a session"),
        ("net".to_owned(), total.net, "o200k tokens"),
    ]
}

/// The net in percent of what the calls return without questions, if they return anything.
pub(super) fn percent(total: &Figures) -> Option<isize> {
    (total.whole > 0).then(|| (100.0 * total.net as f64 / total.whole as f64).round() as isize)
}

/// What calls would have saved that returned the whole to observe, if there were any.
pub(super) fn observed(total: &Figures) -> Option<String> {
    let (calls, tokens) = (many(total.observed, "observed call"), grouped(total.would_save));
    (total.observed > 0).then(|| format!("{calls} returned the whole; views would have saved {tokens}, which is not in the net."))
}

fn table(out: &mut String, title: &str, rows: &BTreeMap<String, Figures>) {
    let _ = writeln!(out, "\n{title:<NAME$} {:>6} {:>12} {:>12} {:>12}", "calls", "whole", "returned", "net");
    let most = rows.values().map(|figures| figures.net.unsigned_abs()).max().unwrap_or(0);
    for (name, figures) in rows {
        let numbers = [figures.whole as isize, figures.returned as isize, figures.net].map(grouped);
        let [whole, returned, net] = numbers;
        let line = format!(
            "{:<NAME$} {:>6} {whole:>12} {returned:>12} {net:>12} {}",
            last(&one_line(name)),
            figures.calls,
            bar(figures.net, most)
        );
        let _ = writeln!(out, "{}", line.trim_end());
    }
}

/// The end of a name.
fn last(name: &str) -> String {
    match name.char_indices().rev().nth(NAME - 1) {
        Some((at, first)) if at > 0 => format!("…{}", &name[at + first.len_utf8()..]),
        _ => name.to_owned(),
    }
}

/// A bar for what was saved; what was lost has none.
fn bar(net: isize, most: usize) -> String {
    if net <= 0 || most == 0 {
        return String::new();
    }
    let eighths = (net as usize * BAR * 8).div_ceil(most);
    "█".repeat(eighths / 8) + EIGHTHS[eighths % 8]
}

/// `-12,345`.
pub(super) fn grouped(number: isize) -> String {
    let digits = number.unsigned_abs().to_string();
    let parts: Vec<&str> = digits.as_bytes().rchunks(3).rev().map(|part| std::str::from_utf8(part).unwrap_or_default()).collect();
    format!("{}{}", if number < 0 { "-" } else { "" }, parts.join(","))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_bars() {
        assert_eq!([0, 999, 1_000, -1_234_567].map(grouped), ["0", "999", "1,000", "-1,234,567"]);
        assert_eq!((bar(0, 10), bar(-3, 10), bar(10, 10), bar(1, 1_000)), (String::new(), String::new(), "█".repeat(BAR), "▏".to_owned()));
        assert_eq!(last(&format!("/{}", "a".repeat(40))).chars().count(), NAME);
    }
}
