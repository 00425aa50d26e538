//! What was returned and saved on each day, as bars.
//!
//! Places along the days are percentages and heights are pixels, so that the chart is as wide as the page and its words keep their size.

use std::collections::BTreeMap;

use chrono::NaiveDate;
use maud::{Markup, html};

use crate::ledger::report::{grouped, many};
use crate::ledger::stats::Figures;

/// Pixels from the highest line to the lowest.
const HEIGHT: f64 = 220.0;
/// Pixels above them, for half a line of text.
const ABOVE: f64 = 10.0;
/// Pixels below them, for the names of days.
const BELOW: f64 = 26.0;
/// Pixels of a day, at least; where they do not fit, the chart is moved sideways.
const DAY: usize = 10;
/// Pixels of the numbers beside the chart.
const AXIS: usize = 48;
/// Percent of the chart that a bar takes, at most.
const BAR: f64 = 6.0;
/// Steps between lines, at most.
const STEPS: f64 = 5.0;
/// Days that are named, at most, where all of them fit.
const NAMED: usize = 5;
/// Days between two that are named, at most.
const APART: usize = 7;

/// The chart of some days, in their order.
pub(super) fn render(days: &BTreeMap<String, Figures>) -> Markup {
    let scale = Scale::of(days);
    let slot = 100.0 / days.len().max(1) as f64;
    let width = (0.36 * slot).min(BAR);
    let size = ABOVE + HEIGHT + BELOW;
    let apart = days.len().div_ceil(NAMED).clamp(1, APART);
    html! {
        p.legend {
            span.returned { "returned" }
            span.saved { "saved, all costs subtracted" }
            @if scale.below > 0.0 { span.lost { "cost more than it saved" } }
        }
        div.chart {
            svg width=(AXIS) height=(size) aria-hidden="true" {
                @for line in scale.lines() { text.end x=(AXIS - 6) y=(rounded(scale.y(line) + 4.0)) { (short(line)) } }
            }
            div.days {
                svg height=(size) style=(format!("min-width:{}px", days.len() * DAY)) role="img" aria-label="tokens returned and saved on each day" {
                    @for line in scale.lines() {
                        line class=[(line == 0.0).then_some("zero")] x1="0" x2="100%" y1=(rounded(scale.y(line))) y2=(rounded(scale.y(line))) {}
                    }
                    @for (i, (day, figures)) in days.iter().enumerate() {
                        @let left = slot * i as f64;
                        g.day {
                            title { (tip(day, figures)) }
                            rect.whole x=(percent(left)) width=(percent(slot)) y=(ABOVE) height=(HEIGHT) {}
                            (bar("returned", left + slot / 2.0 - width, 0.94 * width, figures.returned as f64, &scale))
                            (bar("saved", left + slot / 2.0, width, figures.net as f64, &scale))
                        }
                        @if (days.len() - 1 - i).is_multiple_of(apart) {
                            text.(anchor(i, days.len())) x=(percent(left + slot * place(i, days.len()))) y=(size - 6.0) { (label(day)) }
                        }
                    }
                }
            }
        }
    }
}

/// A bar from zero up, or down; one pixel at least, unless there is nothing.
fn bar(class: &str, left: f64, width: f64, tokens: f64, scale: &Scale) -> Markup {
    let (top, bottom) = (scale.y(tokens.max(0.0)), scale.y(tokens.min(0.0)));
    html! {
        @if tokens != 0.0 {
            rect.(class).lost[tokens < 0.0] x=(percent(left)) width=(percent(width)) y=(rounded(top)) height=(rounded((bottom - top).max(1.0))) {}
        }
    }
}

/// What a day says when it is pointed at.
fn tip(day: &str, figures: &Figures) -> String {
    let name = day.parse::<NaiveDate>().map_or_else(|_| day.to_owned(), |day| day.format("%A, %-d %B %Y").to_string());
    if figures.calls + figures.sessions == 0 {
        return format!("{name}: no calls");
    }
    let [returned, saved] = [figures.returned as isize, figures.net].map(grouped);
    format!("{name}: {}, {returned} returned, {saved} saved", many(figures.calls, "call"))
}

/// The name of a day under its bars.
fn label(day: &str) -> String {
    day.parse::<NaiveDate>().map_or_else(|_| day.to_owned(), |day| day.format("%-d %b").to_string())
}

/// How the name of a day lies: at the ends of many narrow days it would go beyond the chart.
fn anchor(day: usize, days: usize) -> &'static str {
    match days {
        ..=APART => "middle",
        _ if day < 3 => "start",
        _ if day + 3 >= days => "end",
        _ => "middle",
    }
}

/// Where in its day that name is held.
fn place(day: usize, days: usize) -> f64 {
    match anchor(day, days) {
        "start" => 0.0,
        "end" => 1.0,
        _ => 0.5,
    }
}

fn percent(share: f64) -> String {
    format!("{share:.3}%")
}

fn rounded(pixels: f64) -> String {
    format!("{pixels:.1}")
}

/// `1.5M`.
fn short(tokens: f64) -> String {
    match tokens.abs() {
        1e6.. => format!("{}M", tokens / 1e6),
        1e3.. => format!("{}k", tokens / 1e3),
        _ => tokens.to_string(),
    }
}

/// What heights stand for.
struct Scale {
    /// Tokens between two lines.
    step: f64,
    /// Steps below zero.
    below: f64,
    /// Steps above it.
    above: f64,
}

impl Scale {
    /// The fewest round steps that hold all days.
    fn of(days: &BTreeMap<String, Figures>) -> Self {
        let most = days.values().map(|figures| (figures.returned as f64).max(figures.net as f64)).fold(0.0, f64::max);
        let least = days.values().map(|figures| figures.net as f64).fold(0.0, f64::min);
        let ten = 10_f64.powf(((most - least).max(1.0) / STEPS).log10().floor().max(0.0));
        let steps = |step: f64| Self { step, below: (-least / step).ceil(), above: (most / step).ceil() };
        let fits = |scale: &Self| scale.below + scale.above <= STEPS;
        let scale = [1.0, 2.0, 5.0, 10.0].map(|times| steps(ten * times)).into_iter().find(fits).unwrap_or_else(|| steps(ten * 20.0));
        Self { above: scale.above.max(1.0), ..scale }
    }

    fn lines(&self) -> impl Iterator<Item = f64> {
        (-self.below as i32..=self.above as i32).map(|line| f64::from(line) * self.step)
    }

    fn y(&self, tokens: f64) -> f64 {
        ABOVE + HEIGHT * (self.above - tokens / self.step) / (self.above + self.below)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scale(days: &[(usize, isize)]) -> (Vec<f64>, f64, f64) {
        let figures = |(returned, net): &(usize, isize)| Figures { returned: *returned, net: *net, ..Figures::default() };
        let days = days.iter().enumerate().map(|(i, day)| (i.to_string(), figures(day))).collect();
        let scale = Scale::of(&days);
        (scale.lines().collect(), scale.y(scale.lines().last().expect("a line")), scale.y(scale.lines().next().expect("a line")))
    }

    #[test]
    fn lines_are_round_and_hold_all_days() {
        let whole = |lines: &[f64]| (lines.to_vec(), ABOVE, ABOVE + HEIGHT);
        assert_eq!(scale(&[(0, 0)]), whole(&[0.0, 1.0]));
        assert_eq!(scale(&[(900, 4_100)]), whole(&[0.0, 1e3, 2e3, 3e3, 4e3, 5e3]));
        assert_eq!(scale(&[(900, 6_100), (10, -400)]), whole(&[-2e3, 0.0, 2e3, 4e3, 6e3, 8e3]));
        assert_eq!(scale(&[(99, -101)]), whole(&[-150.0, -100.0, -50.0, 0.0, 50.0, 100.0]));
        assert_eq!(["-1.5M", "20k", "0", "500"], [-1.5e6, 2e4, 0.0, 500.0].map(short)[..]);
    }
}
