//! The report as text.

use std::fmt;

use super::{Report, RunEnd};
use crate::summary::Quantiles;

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { run, calls, .. } = self;
        let interrupted = if self.end == RunEnd::Interrupted { ", interrupted" } else { "" };
        writeln!(f, "{}: {} over {}{interrupted}", run.scenario, run.target, run.protocol)?;
        if let RunEnd::Aborted(check) = &self.end {
            writeln!(f, "aborted   a check can no longer pass: {check}")?;
        }
        if let RunEnd::Broken(error) = &self.end {
            writeln!(f, "broken    the run ended early: {error}")?;
        }
        for note in &self.notes {
            writeln!(f, "note      {note}")?;
        }
        writeln!(f, "load      {} over {} connections", run.stages.join(", "), run.connections)?;
        let counts = format!(
            "{} due: {} completed, {} failed, {} not sent",
            calls.due, calls.completed, calls.failed, calls.not_sent
        );
        let wrong = match calls.check_failed {
            0 => String::new(),
            wrong => format!(", {wrong} with a response that fails its check"),
        };
        writeln!(f, "calls     {counts}{wrong}")?;
        let (sent, completed) = (self.achieved_rate, self.completed_rate);
        let bytes = self.bytes_received;
        writeln!(f, "achieved  {sent:.1}/s sent, {completed:.1}/s completed, {bytes} bytes received")?;
        let times = |lag: &Quantiles| format!("{:.3} ms p99, {:.3} ms max", lag.p99, lag.max);
        writeln!(f, "send lag  {} (included in every latency)", times(&self.send_lag_ms))?;
        writeln!(f, "          the driver woke up late: {}", times(&self.wake_lag_ms))?;
        writeln!(f, "          no connection was free: {}\n", times(&self.connection_wait_ms))?;
        self.write_rows(f)?;
        self.write_streams(f)?;
        self.write_samples(f)?;
        self.write_events(f)?;
        self.write_limits(f)?;
        self.write_books(f)?;
        self.write_costs(f)?;
        self.write_checks(f)
    }
}

impl Report {
    fn write_rows(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let labels: Vec<String> = self.rows.iter().map(super::Row::label).collect();
        let width = labels.iter().map(|label| label.chars().count()).max().unwrap_or(0);
        let names = ["p50 ms", "p90 ms", "p95 ms", "p99 ms", "p99.9 ms", "max ms"];
        let head: String = names.iter().map(|name| format!(" {name:>9}")).collect();
        writeln!(f, "{:width$} {:>8}{head}", "", "calls")?;
        for (row, label) in self.rows.iter().zip(labels) {
            let Quantiles { p50, p90, p95, p99, p99_9, max, .. } = row.latency_ms;
            let times: String =
                [p50, p90, p95, p99, p99_9, max].iter().map(|ms| format!(" {ms:>9.2}")).collect();
            writeln!(f, "{label:width$} {:>8}{times}", row.calls)?;
        }
        if self.quantile_error > 0.0 {
            writeln!(f, "latencies are those of histograms, at most {} % off", self.quantile_error * 100.0)?;
        }
        Ok(())
    }

    fn write_streams(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for row in &self.rows {
            let Some(events) = &row.events else { continue };
            let times = |times: &Quantiles| format!("{:.2} ms p50, {:.2} ms p99", times.p50, times.p99);
            let (first, gap) = (times(&events.first_ms), times(&events.gap_ms));
            writeln!(f, "\nstreams   {}: {} events each", row.label(), events.count())?;
            writeln!(f, "          first event after {first}; longest gap {gap}")?;
        }
        Ok(())
    }

    fn write_samples(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for sample in &self.samples {
            write!(f, "\nwrong     {}: the first response that fails `{}`", sample.request, sample.check)?;
            writeln!(f, "\n          {}", sample.found)?;
        }
        Ok(())
    }

    fn write_events(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let time = |seconds: Option<f64>| {
            seconds.map_or_else(|| "never".to_owned(), |seconds| format!("after {seconds:.2} s"))
        };
        for event in &self.events {
            writeln!(f, "\nevent     {} at {:.2} s", event.phase, event.at_s)?;
            for recovery in &event.recoveries {
                writeln!(
                    f,
                    "          {}: first failure {}, last failure {}, first good response {}",
                    recovery.request,
                    time(recovery.first_failure_s),
                    time(recovery.last_failure_s),
                    time(recovery.first_good_s)
                )?;
            }
        }
        Ok(())
    }

    fn write_limits(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let limits = &self.limits;
        let Some(fullest) = &limits.fullest else { return Ok(()) };
        let exact = if limits.violations == 0 { "exact" } else { "EXCEEDED" };
        write!(
            f,
            "\nlimits    {exact}: {} keys, {} of them limited, {} over",
            limits.keys, limits.limited_keys, limits.violations
        )?;
        if let Some(usable) = limits.usable {
            write!(f, "; {:.1} % usable", usable * 100.0)?;
        }
        writeln!(f, "\n          fullest window: {fullest}")
    }

    fn write_books(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(books) = &self.books else { return Ok(()) };
        let count = |count: Option<u64>| count.map_or_else(|| "–".to_owned(), |count| count.to_string());
        let columns = |name: &str, counts: [String; 4]| {
            let counts: String = counts.iter().map(|count| format!(" {count:>10}")).collect();
            format!("{name:>24}{counts}")
        };
        let head = ["driver", "edge", "gateway", "tools"].map(str::to_owned);
        writeln!(f, "\nbooks     {}", columns("", head))?;
        for line in &books.lines {
            let counts = [line.driver, line.edge, line.gateway, line.tools].map(count);
            writeln!(f, "          {}", columns(&line.name, counts))?;
        }
        if let Some(edge) = &books.edge {
            writeln!(f, "          {edge}")?;
        }
        for difference in &books.differences {
            writeln!(f, "          difference: {difference}")?;
        }
        Ok(())
    }

    fn write_costs(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(costs) = &self.costs else { return Ok(()) };
        writeln!(f, "\ncosts     {:>24} {:>10} {:>10} {:>14}", "", "count", "per call", "$ per million")?;
        for kind in &costs.operations {
            let (count, each, dollars) = (kind.count, kind.per_call, kind.dollars_per_million_calls);
            writeln!(f, "          {:>24} {count:>10} {each:>10.4} {dollars:>14.4}", kind.name)?;
        }
        writeln!(f, "          {:>24} {:>36.4}", "without CPU time and logs", costs.dollars_per_million_calls)
    }

    fn write_checks(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f)?;
        for step in &self.steps {
            writeln!(f, "step      {step}")?;
        }
        for check in &self.checks {
            let result = match check.result() {
                "passed" => "PASS",
                "warning" => "WARN",
                _ => "FAIL",
            };
            writeln!(f, "{result}  {}: {}", check.check, check.found)?;
        }
        Ok(())
    }
}
