//! The figures of the ledger as a page for people: one file that asks for no other, without scripts.
//!
//! Names in the ledger come from clients and directories. `maud` escapes them all; only the style sheet goes in as it is.

mod chart;

use std::collections::BTreeMap;

use chrono::{Local, NaiveDate};
use maud::{DOCTYPE, Markup, PreEscaped, html};

use super::report::{grouped, many, observed, percent, sum};
use super::stats::{Figures, Stats};
use crate::error::one_line;

/// What the page looks like.
const STYLE: &str = include_str!("style.css");
/// What a browser may do for the page, should anything in it ever ask for more.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'";
/// The numbers of a row, after its name.
const COLUMNS: [&str; 5] = ["calls", "without questions", "read again", "returned", "saved"];
/// What part of the costs the rows have, of tools and of all others.
const WITHOUT_SCHEMA: &str = "Without the list of tools and the instructions, which belong to none of them.";
const WITH_SCHEMA: &str = "The list of tools and the instructions, once a session, are subtracted here too.";

/// The page of a period: the last `days`, or all. `ledger` is where the figures are from.
pub fn render(stats: &Stats, days: Option<u64>, ledger: &str) -> String {
    let all = stats.all_days(days);
    document(&html! {
        (headline(&stats.total, &period(&all)))
        section {
            h2 { "By day" }
            (chart::render(&all))
            details {
                summary { "Each day in numbers" }
                (table("day", all.iter().rev()))
                p.note { (WITH_SCHEMA) }
            }
        }
        section {
            h2 { "How it adds up" }
            (account(&stats.total))
        }
        @for (title, what, rows, note) in [
            ("By tool", "tool", &stats.tools, WITHOUT_SCHEMA),
            ("By project", "project", &stats.projects, WITH_SCHEMA),
            ("By client", "client", &stats.clients, WITH_SCHEMA),
        ] {
            section {
                h2 { (title) }
                (table(what, by_net(rows)))
                p.note { (note) }
            }
        }
        footer {
            p {
                "Saved is what the calls return without questions, less what was read again, what they returned, and the list of tools and the "
                "instructions. All are o200k tokens. What an agent reads with tools of its own is not known here."
            }
            p { "codeskim " (env!("CARGO_PKG_VERSION")) " made this page on " (in_words(Local::now().date_naive())) " from " (name(ledger)) "." }
        }
    })
}

/// The page where there are no figures, which says why.
pub fn empty(why: &str) -> String {
    document(&html! {
        header {
            h1 { "Nothing to show yet" }
            p.lead { bdi { (one_line(why)) } }
        }
    })
}

fn document(content: &Markup) -> String {
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta http-equiv="Content-Security-Policy" content=(POLICY);
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { "What codeskim saved" }
                style { (PreEscaped(STYLE)) }
            }
            body { main { (content) } }
        }
    };
    page.into_string() + "\n"
}

/// The one figure that matters, and what it means.
fn headline(total: &Figures, period: &str) -> Markup {
    let (calls, whole) = (many(total.calls, "call"), grouped(total.whole as isize));
    let (figure, verb) = if total.net < 0 { (-total.net, "more than without codeskim") } else { (total.net, "saved") };
    html! {
        header {
            p.period { "codeskim, " (period) }
            h1 class=[(total.net < 0).then_some("lost")] { strong #net { (grouped(figure)) } " tokens " (verb) }
            @match percent(total) {
                _ if total.net < 0 => p.lead { "In " (calls) ", codeskim itself cost more than its answers saved." },
                Some(percent) => p.lead {
                    "That is " b { (percent) "%" } " of the " (whole) " tokens that the same " (calls) " return without questions. "
                    "What was read again is subtracted, and so is what codeskim itself costs."
                },
                None => p.lead { "In " (calls) " there was nothing to save." },
            }
            p.lead { "codeskim gives coding agents the lines that answer their questions in place of whole files." }
            @if let Some(observed) = observed(total) { p.lead { (observed) } }
        }
    }
}

/// How the net comes about.
fn account(total: &Figures) -> Markup {
    html! {
        table.sum id="sum" {
            @for (what, tokens, meaning) in sum(total) {
                tr {
                    th scope="row" { (what) }
                    td.meaning { (meaning) }
                    td.number { (grouped(tokens)) }
                }
            }
        }
    }
}

/// Figures by what they are of, each with a bar of what was saved.
fn table<'a>(what: &str, rows: impl Iterator<Item = (&'a String, &'a Figures)> + Clone) -> Markup {
    let most = rows.clone().map(|(_, figures)| figures.net).max().unwrap_or(0);
    html! {
        table.figures id=(what) {
            thead {
                tr {
                    th scope="col" { (what) }
                    @for column in COLUMNS { th.number scope="col" { (column) } }
                }
            }
            tbody {
                @for (key, figures) in rows {
                    tr class=[(figures.calls + figures.sessions == 0).then_some("quiet")] {
                        th scope="row" {
                            (name(key))
                            @if figures.net > 0 && most > 0 {
                                svg.bar aria-hidden="true" {
                                    rect width=(format!("{:.2}%", 100.0 * figures.net as f64 / most as f64)) height="100%" {}
                                }
                            }
                        }
                        @let numbers = [figures.calls, figures.whole, figures.again, figures.returned].map(|number| grouped(number as isize));
                        @for (column, number) in COLUMNS.iter().zip(numbers.into_iter().chain([grouped(figures.net)])) {
                            td.number data-of=(column) { (number) }
                        }
                    }
                }
            }
        }
    }
}

/// Rows, those first that saved most.
fn by_net(rows: &BTreeMap<String, Figures>) -> std::vec::IntoIter<(&String, &Figures)> {
    let mut rows: Vec<_> = rows.iter().collect();
    rows.sort_by_key(|(_, figures)| std::cmp::Reverse(figures.net));
    rows.into_iter()
}

/// A name from the ledger, set apart from its surroundings, whatever direction it is written in; of a path, the last part stands out.
fn name(name: &str) -> Markup {
    let name = one_line(name);
    let (directory, last) = name.split_at(name.rfind(['/', '\\']).map_or(0, |at| at + 1));
    html! { bdi { span.directory { (directory) } (last) } }
}

/// The days of a page in words.
fn period(days: &BTreeMap<String, Figures>) -> String {
    let day = |day: &String| day.parse().map_or_else(|_| day.clone(), in_words);
    match (days.keys().next().map(day), days.keys().next_back().map(day)) {
        (Some(first), Some(last)) if first != last => format!("{first} to {last}"),
        (first, _) => first.unwrap_or_default(),
    }
}

fn in_words(day: NaiveDate) -> String {
    day.format("%-d %B %Y").to_string()
}
