//! The tables of a report.

use maud::{Markup, html};

use super::{millis, whole};
use crate::report::Report;

pub(super) fn checks(report: &Report) -> Markup {
    html! {
        section {
            h2 { "Checks" }
            ul.checks {
                @for check in &report.checks {
                    @let result = if check.passed { "passed" } else { "failed" };
                    li class=(result) { span.mark { (result) } span { strong { (check.check) } br; (check.found) } }
                }
            }
        }
    }
}

pub(super) fn steps(report: &Report) -> Markup {
    html! {
        @if !report.steps.is_empty() {
            section {
                h2 { "Steps of the search" }
                div.scroll tabindex="0" role="region" aria-label="Steps" {
                    table {
                        thead { tr { th.number { "calls a second" } th { "result" } th.number { "p99" } th { "failed check" } } }
                        tbody {
                            @for step in &report.steps {
                                tr {
                                    td.number { (step.rate) }
                                    td { (step.result()) }
                                    td.number { (millis(step.p99_ms)) }
                                    td { (step.failed_check.as_deref().unwrap_or_default()) }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

pub(super) fn rows(report: &Report) -> Markup {
    let names = ["calls", "mean", "p50", "p90", "p95", "p99", "p99.9", "p99.99", "max"];
    html! {
        section {
            h2 { "Calls by request, phase and outcome" }
            div.scroll tabindex="0" role="region" aria-label="Calls" {
                table {
                    thead { tr { th { "request" } th { "phase" } th { "outcome" } @for name in names { th.number { (name) } } } }
                    tbody {
                        @for row in &report.rows {
                            @let latency = &row.latency_ms;
                            tr {
                                td { (row.request) }
                                td { (row.phase) }
                                td { (row.outcome()) }
                                td.number { (whole(row.calls)) }
                                @for ms in [latency.mean, latency.p50, latency.p90, latency.p95, latency.p99, latency.p99_9, latency.p99_99, latency.max] {
                                    td.number { (millis(ms)) }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

pub(super) fn events(report: &Report) -> Markup {
    let time =
        |seconds: Option<f64>| seconds.map_or_else(|| "–".to_owned(), |seconds| format!("{seconds:.2} s"));
    html! {
        @if !report.events.is_empty() {
            section {
                h2 { "Events" }
                div.scroll tabindex="0" role="region" aria-label="Events" {
                    table {
                        thead { tr { th { "event" } th.number { "at" } th { "request" } th.number { "first failure" } th.number { "last failure" } th.number { "first good response" } } }
                        tbody {
                            @for event in &report.events {
                                @for recovery in &event.recoveries {
                                    tr {
                                        td { (event.phase) }
                                        td.number { (format!("{:.2} s", event.at_s)) }
                                        td { (recovery.request) }
                                        td.number { (time(recovery.first_failure_s)) }
                                        td.number { (time(recovery.last_failure_s)) }
                                        td.number { (time(recovery.first_good_s)) }
                                    }
                                }
                            }
                        }
                    }
                }
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
    let count = |count: Option<u64>| count.map_or_else(|| "–".to_owned(), whole);
    html! {
        @if let Some(books) = &report.books {
            section {
                h2 { "Books" }
                div.scroll tabindex="0" role="region" aria-label="Books" {
                    table {
                        thead { tr { th { "responses" } th.number { "driver got" } th.number { "edge counted" } th.number { "gateway counted" } th.number { "tools sent" } } }
                        tbody {
                            @for line in &books.lines {
                                tr { td { (line.name) } td.number { (count(line.driver)) } td.number { (count(line.edge)) } td.number { (count(line.gateway)) } td.number { (count(line.tools)) } }
                            }
                        }
                    }
                }
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
}

pub(super) fn costs(report: &Report) -> Markup {
    html! {
        @if let Some(costs) = &report.costs {
            section {
                h2 { "Costs" }
                div.scroll tabindex="0" role="region" aria-label="Costs" {
                    table {
                        thead { tr { th { "operation" } th.number { "count" } th.number { "per call" } th.number { "$ per million calls" } } }
                        tbody {
                            @for kind in &costs.operations {
                                tr {
                                    td { (kind.name) }
                                    td.number { (whole(kind.count)) }
                                    td.number { (format!("{:.4}", kind.per_call)) }
                                    td.number { (format!("{:.4}", kind.dollars_per_million_calls)) }
                                }
                            }
                            tr { th { "all" } td.number {} td.number {} td.number { strong { (format!("{:.4}", costs.dollars_per_million_calls)) } } }
                        }
                    }
                }
                p.note { "Operations of the platform, at list prices of " (costs.prices_of) ", without CPU time and logs." }
            }
        }
    }
}
