//! The charts of a report.

use maud::{Markup, html};

use super::chart::{Chart, Paint, Series};
use crate::report::Report;
use crate::summary::Second;

pub(super) const WIDE: (u32, u32) = (1000, 260);
pub(super) const NARROW: (u32, u32) = (340, 220);
/// The most points of a line. Longer runs show the worst second of each group.
const MAX_POINTS: usize = 600;

/// Returns all charts.
pub(super) fn graphs(report: &Report) -> Markup {
    let marks: Vec<f64> = report.events.iter().map(|event| event.at_s).collect();
    let mut charts = charts(&report.series, &marks, "");
    for request in &report.request_series {
        charts.extend(self::charts(&request.series, &marks, &format!(" of {}", request.request)));
    }
    html! {
        @for chart in &charts {
            section.chart {
                h2 { (chart.title) }
                p.legend {
                    @for series in &chart.series {
                        span { i style={ "background:" (series.color.variable()) } {} (series.name) }
                    }
                }
                div.wide { (chart.svg(WIDE)) }
                div.narrow { (chart.svg(NARROW)) }
            }
        }
        @if !report.events.is_empty() {
            p.note { "Vertical lines are events: "
                @for (at, event) in report.events.iter().enumerate() {
                    @if at > 0 { ", " } (event.phase) " at " (format!("{:.1}", event.at_s)) " s"
                }
                "." }
        }
    }
}

/// Returns the charts of all calls, or of those `of` a request.
fn charts(seconds: &[Second], marks: &[f64], of: &str) -> Vec<Chart> {
    vec![
        Chart {
            title: format!("Calls a second{of} by outcome, and completions a second"),
            series: outcomes(seconds),
            marks: marks.to_vec(),
            logarithmic: false,
        },
        Chart {
            title: format!("Latency{of} in milliseconds"),
            series: latencies(seconds),
            marks: marks.to_vec(),
            logarithmic: true,
        },
    ]
}

/// A count of a second.
type Count = fn(&Second) -> u32;

/// Returns areas that lie on each other, by the second in which calls were due: the last one covers
/// the lowest part. The line above them is that of responses, by the second in which they were complete.
fn outcomes(all: &[Second]) -> Vec<Series> {
    let counts: [(&'static str, Paint, Count); 6] = [
        ("2xx, 3xx", Paint::Good, |second| second.success),
        ("429", Paint::Limited, |second| second.limited),
        ("other 4xx", Paint::Warning, |second| second.client_errors),
        ("5xx", Paint::Bad, |second| second.server_errors),
        ("failed check", Paint::Wrong, |second| second.check_failed),
        ("no response", Paint::Failed, |second| second.failed),
    ];
    let used =
        counts.iter().enumerate().filter(|(_, (_, _, count))| all.iter().any(|second| count(second) > 0));
    let mut areas: Vec<Series> = used
        .map(|(upto, &(name, color, _))| {
            let below = move |second: &Second| {
                counts.iter().take(upto + 1).map(|(_, _, count)| f64::from(count(second))).sum()
            };
            Series { name, color, points: points(all, &below, &|_| true), filled: true }
        })
        .collect();
    areas.reverse();
    let completed = |second: &Second| f64::from(second.completed);
    areas.push(Series {
        name: "completed",
        color: Paint::Ink,
        points: points(all, &completed, &|_| true),
        filled: false,
    });
    areas
}

fn latencies(all: &[Second]) -> Vec<Series> {
    let line = |name, color, value: fn(&Second) -> f64| Series {
        name,
        color,
        points: points(all, &value, &|second| second.due > 0),
        filled: false,
    };
    vec![
        line("maximum", Paint::Bad, |second| second.max_ms),
        line("p99", Paint::Limited, |second| second.p99_ms),
        line("p50", Paint::Good, |second| second.p50_ms),
        line("send lag p99", Paint::Failed, |second| second.lag_p99_ms),
        line("of it without a free connection", Paint::Warning, |second| second.wait_p99_ms),
    ]
}

/// Returns the highest value of each group of those seconds that `select` accepts.
fn points(
    all: &[Second],
    value: &dyn Fn(&Second) -> f64,
    select: &dyn Fn(&Second) -> bool,
) -> Vec<(f64, f64)> {
    let seconds: Vec<Second> = all.iter().filter(|second| select(second)).copied().collect();
    let group = seconds.len().div_ceil(MAX_POINTS).max(1);
    let highest = |seconds: &[Second]| {
        let at = seconds.first().map_or(0.0, |second| second.second as f64);
        (at, seconds.iter().map(value).fold(0.0, f64::max))
    };
    seconds.chunks(group).map(highest).collect()
}
