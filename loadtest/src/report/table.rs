//! The report as text.

use std::fmt;

use super::{Quantiles, Report, Row};

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { load, calls, .. } = self;
        writeln!(f, "{}: {}", self.scenario, self.call)?;
        writeln!(
            f,
            "load      {}/s for {} s over {} connections{}",
            load.rate,
            load.seconds,
            load.connections,
            if self.interrupted { ", interrupted" } else { "" }
        )?;
        writeln!(
            f,
            "calls     {} due: {} completed, {} failed, {} not sent",
            calls.due, calls.completed, calls.failed, calls.not_sent
        )?;
        writeln!(f, "achieved  {:.1}/s, {} bytes received", self.achieved_rate, self.bytes_received)?;
        let Quantiles { p99, max, .. } = self.send_lag_ms;
        writeln!(f, "send lag  {p99:.2} ms p99, {max:.2} ms max (included in every latency)\n")?;
        self.write_rows(f)?;
        self.write_checks(f)
    }
}

impl Report {
    fn write_rows(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let labels: Vec<String> = self.rows.iter().map(Row::label).collect();
        let width = labels.iter().map(String::len).max().unwrap_or(0);
        let head = format!("{:>8} {:>9} {:>9} {:>9} {:>9}", "calls", "p50 ms", "p90 ms", "p99 ms", "max ms");
        writeln!(f, "{:width$} {head}", "")?;
        for (row, label) in self.rows.iter().zip(labels) {
            let Quantiles { p50, p90, p99, max } = row.latency_ms;
            writeln!(f, "{label:width$} {:>8} {p50:>9.2} {p90:>9.2} {p99:>9.2} {max:>9.2}", row.calls)?;
        }
        Ok(())
    }

    fn write_checks(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f)?;
        for check in &self.checks {
            let result = if check.passed { "PASS" } else { "FAIL" };
            writeln!(f, "{result}  {}: {}", check.check, check.found)?;
        }
        Ok(())
    }
}

impl Row {
    fn label(&self) -> String {
        let status = self.status.map(|status| status.to_string());
        let parts: Vec<&str> = status.as_deref().into_iter().chain(self.code.as_deref()).collect();
        format!("{}: {}", self.group, parts.join(" "))
    }
}
