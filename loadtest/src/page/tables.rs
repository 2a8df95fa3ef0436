//! The tables of a report.

use maud::{Markup, html};

use Column::{Number, Text};

use super::{millis, whole};
use crate::report::Report;
use crate::summary::Quantiles;

pub(super) fn checks(report: &Report) -> Markup {
    html! {
        section {
            h2 { "Checks" }
            ul.checks {
                @for check in &report.checks {
                    @let result = check.result();
                    li class=(result) { span.mark { (result) } span { strong { (check.check) } br; (check.found) } }
                }
            }
        }
    }
}

pub(super) fn steps(report: &Report) -> Markup {
    let columns = [Number("calls a second"), Text("result"), Number("p99"), Text("failed check")];
    let rows = report.steps.iter().map(|step| {
        let check = step.failed_check.clone().unwrap_or_default();
        vec![step.rate.to_string(), step.result(), millis(step.p99_ms), check]
    });
    html! {
        @if !report.steps.is_empty() {
            section { h2 { "Steps of the search" } (table("Steps", &columns, rows)) }
        }
    }
}

pub(super) fn rows(report: &Report) -> Markup {
    let names = ["calls", "mean", "p50", "p90", "p95", "p99", "p99.9", "p99.99", "max"].map(Number);
    let columns: Vec<Column> = ["request", "phase", "outcome"].map(Text).into_iter().chain(names).collect();
    let rows = report.rows.iter().map(|row| {
        let Quantiles { mean, p50, p90, p95, p99, p99_9, p99_99, max } = row.latency_ms;
        let texts = [row.request.clone(), row.phase.clone(), row.outcome(), whole(row.calls)];
        texts.into_iter().chain([mean, p50, p90, p95, p99, p99_9, p99_99, max].map(millis)).collect()
    });
    html! {
        section { h2 { "Calls by request, phase and outcome" } (table("Calls", &columns, rows)) }
    }
}

/// Returns the times of server-sent events.
pub(super) fn streams(report: &Report) -> Markup {
    let texts = [Text("request"), Text("phase"), Text("outcome"), Text("events each")];
    let names = ["first p50", "first p99", "first max", "gap p50", "gap p99", "gap max"].map(Number);
    let columns: Vec<Column> = texts.into_iter().chain(names).collect();
    let rows: Vec<Vec<String>> = report
        .rows
        .iter()
        .filter_map(|row| {
            let events = row.events.as_ref()?;
            let (first, gap) = (&events.first_ms, &events.gap_ms);
            let texts = [row.request.clone(), row.phase.clone(), row.outcome(), events.count()];
            let times = [first.p50, first.p99, first.max, gap.p50, gap.p99, gap.max].map(millis);
            Some(texts.into_iter().chain(times).collect())
        })
        .collect();
    html! {
        @if !rows.is_empty() {
            section {
                h2 { "Server-sent events" }
                (table("Server-sent events", &columns, rows.into_iter()))
                p.note { "From the due time to the first event, and the longest time between two events of a stream." }
            }
        }
    }
}

/// Returns the first response that failed each check.
pub(super) fn samples(report: &Report) -> Markup {
    let columns = ["request", "check", "first response that fails it"].map(Text);
    let rows = report
        .samples
        .iter()
        .map(|sample| vec![sample.request.clone(), sample.check.clone(), sample.found.clone()]);
    html! {
        @if !report.samples.is_empty() {
            section { h2 { "Failed checks of responses" } (table("Failed checks", &columns, rows)) }
        }
    }
}

pub(super) fn events(report: &Report) -> Markup {
    let time =
        |seconds: Option<f64>| seconds.map_or_else(|| "–".to_owned(), |seconds| format!("{seconds:.2} s"));
    let columns = [
        Text("event"),
        Number("at"),
        Text("request"),
        Number("first failure"),
        Number("last failure"),
        Number("first good response"),
    ];
    let recoveries =
        report.events.iter().flat_map(|event| event.recoveries.iter().map(move |one| (event, one)));
    let rows = recoveries.map(|(event, recovery)| {
        let times = [recovery.first_failure_s, recovery.last_failure_s, recovery.first_good_s].map(time);
        let texts = [event.phase.clone(), time(Some(event.at_s)), recovery.request.clone()];
        texts.into_iter().chain(times).collect()
    });
    html! {
        @if !report.events.is_empty() {
            section {
                h2 { "Events" }
                (table("Events", &columns, rows))
                p.note { "Times from the event to the failure and to the first good response after it." }
            }
        }
    }
}

pub(super) fn limits(report: &Report) -> Markup {
    let limits = &report.limits;
    html! {
        @if let Some(fullest) = &limits.fullest {
            section {
                h2 { "Limit certificate" }
                p {
                    @if limits.violations == 0 {
                        "No 60 seconds held more admitted calls than the limit of their key: "
                    } @else {
                        strong { (limits.violations) " keys were admitted more often than their limit: " }
                    }
                    (limits.keys) " keys, " (limits.limited_keys) " of them at their limit. "
                    "The fullest window: " (fullest) "."
                    @if let Some(usable) = limits.usable { " A key at its limit could use at least " (format!("{:.1}", usable * 100.0)) " % of it." }
                }
            }
        }
    }
}

pub(super) fn books(report: &Report) -> Markup {
    let Some(books) = &report.books else { return html! {} };
    let count = |count: Option<u64>| count.map_or_else(|| "–".to_owned(), whole);
    let columns = ["driver got", "edge counted", "gateway counted", "tools sent"].map(Number);
    let columns: Vec<Column> = [Text("responses")].into_iter().chain(columns).collect();
    let rows = books.lines.iter().map(|line| {
        let counts = [line.driver, line.edge, line.gateway, line.tools].map(count);
        [line.name.clone()].into_iter().chain(counts).collect()
    });
    html! {
        section {
            h2 { "Books" }
            (table("Books", &columns, rows))
            @if let Some(edge) = &books.edge { p { "Completed calls: " (edge) "." } }
            @if books.differences.is_empty() {
                p { "All parties counted the same." }
            } @else {
                ul { @for difference in &books.differences { li { strong { (difference) } } } }
            }
            @if books.in_doubt > 0 { p.note { (books.in_doubt) " calls without a complete response are in doubt." } }
        }
    }
}

pub(super) fn costs(report: &Report) -> Markup {
    let Some(costs) = &report.costs else { return html! {} };
    let columns = [Text("operation"), Number("count"), Number("per call"), Number("$ per million calls")];
    let digits = |number: f64| format!("{number:.4}");
    let rows = costs.operations.iter().map(|kind| {
        let dollars = digits(kind.dollars_per_million_calls);
        vec![kind.name.clone(), whole(kind.count), digits(kind.per_call), dollars]
    });
    let all = ["all".to_owned(), String::new(), String::new(), digits(costs.dollars_per_million_calls)];
    html! {
        section {
            h2 { "Costs" }
            (table("Costs", &columns, rows.chain([all.to_vec()])))
            p.note { "Operations of the platform, at list prices of " (costs.prices_of) ", without CPU time and logs." }
        }
    }
}

/// A column of a table, with its name.
#[derive(Clone, Copy)]
enum Column {
    Text(&'static str),
    Number(&'static str),
}

fn table(label: &str, columns: &[Column], rows: impl Iterator<Item = Vec<String>>) -> Markup {
    let columns = columns.iter().map(|column| match column {
        Text(name) => (*name, None),
        Number(name) => (*name, Some("number")),
    });
    html! {
        div.scroll tabindex="0" role="region" aria-label=(label) {
            table {
                thead { tr { @for (name, class) in columns.clone() { th class=[class] { (name) } } } }
                tbody {
                    @for row in rows {
                        tr { @for ((_, class), cell) in columns.clone().zip(row) { td class=[class] { (cell) } } }
                    }
                }
            }
        }
    }
}
