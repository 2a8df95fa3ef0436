//! The table of the tools: what each is now, and bars of 90 days.

use std::fmt::Write as _;

use maud::{Markup, html};
use shared::sorting::sort_by;
use shared::status::StatusReport;
use shared::status::history::{AvailabilityHistory, HISTORY_DAYS, SampledMinutes, date};
use shared::time::{UnixMillis, UtcDay};
use shared::tool::Tool;

/// Most days that are listed one by one. The newest ones come first.
const MAX_LISTED: usize = 200;
/// Width and height of a day in the drawing, and its gap to the next.
const WIDTH: usize = 4;
const HEIGHT: usize = 24;
const GAP: usize = 2;

/// The kinds of days, as the stylesheet colors them.
const KINDS: [&str; 4] = ["good", "warn", "bad", "soft"];

/// Returns what is wrong first, and quiet rows of the rest. What is not known is left out.
pub(super) fn tools(
    report: Option<&StatusReport>,
    history: Option<&AvailabilityHistory>,
    now: UnixMillis,
) -> Markup {
    let is_absent = |tool: &Tool| {
        report.is_some_and(|report| report.tools.iter().any(|of| of.tool == *tool && !of.available))
    };
    let (absent, others): (Vec<_>, Vec<_>) = Tool::ALL.into_iter().partition(is_absent);
    html! {
        @if !absent.is_empty() {
            h2 { "Not available now" }
            (table("tools wrong", &absent, report, history, now))
        }
        @if !others.is_empty() {
            h2 { @if report.is_some() { "Available" } @else { "Tools" } }
            (table("tools", &others, report, history, now))
        }
        p.soft.key { "A tool is available if a call finds a healthy server of it." }
        @if let Some(history) = history { (bad_days(history, now)) }
    }
}

fn table(
    class: &str,
    tools: &[Tool],
    report: Option<&StatusReport>,
    history: Option<&AvailabilityHistory>,
    now: UnixMillis,
) -> Markup {
    html! {
        table class=(class) {
            thead {
                tr {
                    th scope="col" { "Tool" }
                    th scope="col" { "Now" }
                    @if history.is_some() { th scope="col" { "Last 90 days" } th.figure scope="col" { "Available" } }
                }
            }
            tbody {
                @for &tool in tools {
                    tr {
                        th scope="row" { (tool) small { (tool.purpose()) } }
                        td { (state(tool, report)) }
                        @if let Some(history) = history {
                            td { (bars(tool, history, now)) }
                            td.figure { @match history.total(tool, now).basis_points() { Some(points) => (percent(points)), None => "not known" } }
                        }
                    }
                }
            }
        }
    }
}

fn state(tool: Tool, report: Option<&StatusReport>) -> Markup {
    let known = report.and_then(|report| report.tools.iter().find(|status| status.tool == tool));
    html! {
        @match known.map(|status| status.available) {
            Some(true) => span.good { "available" },
            Some(false) => span.bad { "not available" },
            None => span.bad { "not reachable" },
        }
    }
}

/// Returns a drawing with a bar for each day, whose label says the same in words.
fn bars(tool: Tool, history: &AvailabilityHistory, now: UnixMillis) -> Markup {
    let mut paths = KINDS.map(|_| String::new());
    for (at, (_, minutes)) in history.days(tool, now).enumerate() {
        if let Some(path) = paths.get_mut(kind(minutes)) {
            // Writing to a text cannot fail.
            let _written = write!(path, "M{} 0h{WIDTH}v{HEIGHT}h-{WIDTH}z", at * (WIDTH + GAP));
        }
    }
    let total = history.total(tool, now);
    let view = format!("0 0 {} {HEIGHT}", HISTORY_DAYS * (WIDTH + GAP) - GAP);
    html! {
        svg.bars viewBox=(view) preserveAspectRatio="none" role="img" aria-label=(label(tool, total)) {
            @for (kind, path) in KINDS.iter().zip(&paths) {
                @if !path.is_empty() { path class=(kind) d=(path) {} }
            }
        }
    }
}

fn label(tool: Tool, total: SampledMinutes) -> String {
    match total.basis_points() {
        Some(points) => format!("{tool} in 90 days: {} of {} known minutes", percent(points), total.known),
        None => format!("{tool} in 90 days: nothing is known"),
    }
}

/// Returns the place of a day's kind in [`KINDS`].
fn kind(minutes: SampledMinutes) -> usize {
    match minutes.basis_points() {
        Some(10_000) => 0,
        Some(9_900..) => 1,
        Some(_) => 2,
        None => 3,
    }
}

fn percent(points: u32) -> String {
    format!("{}.{:02} %", points / 100, points % 100)
}

/// Returns the days on which a tool was not always available, for who does not see the bars.
fn bad_days(history: &AvailabilityHistory, now: UnixMillis) -> Markup {
    let bad = |tool: Tool| {
        let points =
            move |(day, minutes): (UtcDay, SampledMinutes)| Some((day, tool, minutes.basis_points()?));
        history.days(tool, now).filter_map(points).filter(|(_, _, points)| *points < 10_000)
    };
    let mut days: Vec<_> = Tool::ALL.into_iter().flat_map(bad).collect();
    sort_by(&mut days, |(day, ..), (other, ..)| other.cmp(day));
    days.truncate(MAX_LISTED);
    html! {
        p.soft.key {
            @for (kind, meaning) in KINDS.iter().zip(["always available", "99 % or more", "less than 99 %", "not known"]) {
                span { b class=(kind) aria-hidden="true" { "■" } " " (meaning) }
            }
        }
        @if !days.is_empty() {
            details {
                summary { "Days on which a tool was not always available" }
                table {
                    thead { tr { th scope="col" { "Tool" } th scope="col" { "Day (UTC)" } th scope="col" { "Available" } } }
                    tbody {
                        @for (day, tool, points) in &days {
                            tr { th scope="row" { (tool) } td { (date(*day)) } td { (percent(*points)) } }
                        }
                    }
                }
            }
        }
    }
}
