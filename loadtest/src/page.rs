//! The report as one self-contained HTML page: no script, and nothing from elsewhere.

mod chart;
mod graphs;
mod histogram;
mod tables;

use maud::{DOCTYPE, Markup, PreEscaped, html};

use crate::clock;
use crate::report::{Report, RunEnd};

const STYLE: &str = include_str!("page/style.css");

/// Renders the page.
pub(crate) fn render(report: &Report) -> String {
    let run = &report.run;
    let verdict = report.verdict().to_string();
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { (run.scenario) " " (verdict) " – load test" }
                style { (PreEscaped(STYLE)) }
            }
            body {
                main {
                    header {
                        h1 { (run.scenario) " " span class={ "badge " (verdict) } { (verdict) } }
                        @match &report.end {
                            RunEnd::Planned => {}
                            RunEnd::Broken(error) => { p.warning { "The run ended early, because of an error: " (error) } }
                            RunEnd::Interrupted => { p.warning { "The run was stopped early, so its checks prove nothing." } }
                            RunEnd::Aborted(check) => { p.warning { "The run ended early, because a check could no longer pass: " (check) } }
                        }
                        @for note in &report.notes { p.warning { (note) } }
                        p { (run.about) }
                        @if report.passed && !run.proves.is_empty() { p.proves { "Proves: " (run.proves) } }
                    }
                    (figures(report))
                    (tables::checks(report))
                    (tables::steps(report))
                    (graphs::graphs(report))
                    (histogram::histogram(report))
                    (tables::rows(report))
                    (tables::samples(report))
                    (tables::streams(report))
                    (tables::events(report))
                    (tables::limits(report))
                    (tables::books(report))
                    (tables::costs(report))
                    (conditions(report))
                }
            }
        }
    };
    page.into_string()
}

/// Returns the figures that are looked at first.
fn figures(report: &Report) -> Markup {
    let calls = &report.calls;
    let success = calls.success as f64 * 100.0 / (calls.due as f64).max(1.0);
    let latency = &report.latency_ms;
    let figures = [
        ("calls", whole(calls.due)),
        ("2xx and 3xx", format!("{:.2} %", (success * 100.0).floor() / 100.0)),
        ("sent/s", format!("{:.1}", report.achieved_rate)),
        ("completed/s", format!("{:.1}", report.completed_rate)),
        ("p50", millis(latency.p50)),
        ("p99", millis(latency.p99)),
        ("p99.9", millis(latency.p99_9)),
        ("maximum", millis(latency.max)),
        ("woke late p99", millis(report.wake_lag_ms.p99)),
        ("waited p99", millis(report.connection_wait_ms.p99)),
    ];
    html! {
        dl.figures {
            @for (name, value) in &figures { div { dt { (name) } dd { (value) } } }
        }
    }
}

/// Returns how the run was made.
fn conditions(report: &Report) -> Markup {
    let run = &report.run;
    let memory = report.series.iter().map(|second| second.memory).max().unwrap_or(0);
    let exact = report.quantile_error <= 0.0;
    let quantiles = if exact {
        "exact, of all calls".to_owned()
    } else {
        format!("from HDR histograms, at most {} % off", report.quantile_error * 100.0)
    };
    let connections = if run.streams > 1 {
        format!("{}, {} streams each", run.connections, run.streams)
    } else {
        run.connections.to_string()
    };
    let facts = [
        ("Target", format!("{} over {}", run.target, run.protocol)),
        ("Load", run.stages.join(", ")),
        ("Connections", connections),
        ("Started", clock::rfc3339(run.started_unix_ms)),
        (
            "Send lag",
            "from the due time until a connection took the call: the driver woke up late, or the call waited because \
             no connection was free"
                .to_owned(),
        ),
        ("Latencies", format!("counted from the due time of each call; quantiles are {quantiles}")),
        ("Received", format!("{} bytes", whole(report.bytes_received))),
        ("Memory of the driver", format!("at most {:.1} MB", memory as f64 / 1e6)),
        ("Driver", format!("loadtest {}, part {}", run.version, run.shard)),
        ("Gateway", run.gateway_version.clone().unwrap_or_else(|| "unknown: --metrics names its version".to_owned())),
        ("Machine of the driver", run.machine.clone()),
        ("Command", run.command.clone()),
        ("Requests", run.paths.join(", ")),
    ];
    html! {
        section {
            h2 { "How it was measured" }
            dl.facts { @for (name, value) in &facts { dt { (name) } dd { (value) } } }
        }
    }
}

/// Returns a number with a thin space between thousands.
fn whole(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push('\u{202f}');
        }
        text.push(digit);
    }
    text
}

/// Returns milliseconds with three significant digits.
fn millis(ms: f64) -> String {
    match ms {
        1000.0.. => format!("{:.2} s", ms / 1000.0),
        100.0.. => format!("{ms:.0} ms"),
        10.0.. => format!("{ms:.1} ms"),
        _ => format!("{ms:.2} ms"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::{RunInfo, RunOutcome};
    use crate::summary::tests::{call, status, summary};
    use crate::timeline::Timeline;
    use crate::verdict::Check;

    fn page(scenario: &str, calls: u64) -> String {
        let records = (0..calls).map(|n| call(n * 10, status(if n % 5 == 0 { 429 } else { 200 })));
        let run = RunInfo {
            scenario: scenario.to_owned(),
            requests: vec!["main".to_owned()],
            ..RunInfo::default()
        };
        let check = Check::new("p99<=1ms", false, "2 ms");
        let outcome = RunOutcome { checks: vec![check], ..RunOutcome::default() };
        render(&Report::new(run, outcome, &summary(records, &Timeline::default())))
    }

    /// A run that failed proves nothing, and each of several requests has its charts.
    #[test]
    fn page_says_what_was_proven_only_if_it_was() {
        let records = (0..100).map(|n| {
            let mut record = call(n * 10, status(200));
            record.request = u16::from(n % 2 == 0);
            record
        });
        let run = RunInfo {
            proves: "It holds.".to_owned(),
            requests: vec!["one".to_owned(), "two".to_owned()],
            command: "loadtest run --rate 5".to_owned(),
            machine: "host".to_owned(),
            gateway_version: Some("9.8.7 (abc)".to_owned()),
            ..RunInfo::default()
        };
        let summary = summary(records, &Timeline::default());
        let page = |passed: bool| {
            let checks = vec![Check::new("errors=0", passed, "0")];
            render(&Report::new(run.clone(), RunOutcome { checks, ..RunOutcome::default() }, &summary))
        };
        assert!(page(true).contains("Proves: It holds.") && !page(false).contains("Proves"));
        for text in ["9.8.7 (abc)", "loadtest run --rate 5", "host", "of one", "of two"] {
            assert!(page(true).contains(text), "{text}");
        }
    }

    #[test]
    fn page_is_self_contained_and_escaped() {
        let page = page("<script>alert(1)</script>", 1000);
        assert!(page.contains("&lt;script&gt;alert(1)") && !page.contains("<script"));
        for foreign in ["http://", "https://", "src=", "@import", "url("] {
            let found = page.replace("http://www.w3.org/2000/svg", "");
            assert!(!found.contains(foreign), "{foreign}");
        }
        assert!(page.matches("<svg").count() >= 4, "two charts, wide and narrow");
        assert!(page.matches("<svg").count() >= 6 && page.contains("Latencies of all calls"));
        assert!(page.contains("p99&lt;=1ms") || page.contains("p99<=1ms"));
    }

    #[test]
    fn run_without_calls_has_a_page() {
        assert!(page("empty", 0).contains("0 calls") || page("empty", 0).contains("<dd>0</dd>"));
    }

    #[test]
    fn numbers_are_legible() {
        assert_eq!(
            [whole(7), whole(1234), whole(12_345_678)],
            ["7", "1\u{202f}234", "12\u{202f}345\u{202f}678"]
        );
        assert_eq!(
            [millis(0.1234), millis(12.34), millis(123.4), millis(12_345.0)],
            ["0.12 ms", "12.3 ms", "123 ms", "12.35 s"]
        );
    }
}
