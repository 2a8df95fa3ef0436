//! The report as text for people.

use std::fmt;

use super::{Quantiles, Report, Row};

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { asked, calls, .. } = self;
        writeln!(f, "{}: {}", self.scenario, self.call)?;
        writeln!(
            f,
            "asked     {}/s for {} s over {} connections{}",
            asked.rate,
            asked.seconds,
            asked.connections,
            if self.interrupted { "; interrupted" } else { "" }
        )?;
        writeln!(
            f,
            "calls     {} due: {} answered, {} failed, {} not sent",
            calls.due, calls.answered, calls.failed, calls.not_sent
        )?;
        writeln!(f, "achieved  {:.1}/s, {} bytes received", self.achieved_rate, self.bytes_received)?;
        let Quantiles { p99, max, .. } = self.send_lag_ms;
        writeln!(f, "send lag  {p99:.2} ms p99, {max:.2} ms max (part of every latency below)\n")?;
        self.rows(f)?;
        self.verdicts(f)
    }
}

impl Report {
    fn rows(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
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

    fn verdicts(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f)?;
        for verdict in &self.verdicts {
            let word = if verdict.held { "holds " } else { "FAILS " };
            writeln!(f, "{word} {}: {}", verdict.expects, verdict.found)?;
        }
        Ok(())
    }
}

impl Row {
    fn label(&self) -> String {
        let status = self.status.map(|status| status.to_string());
        let parts: Vec<&str> = status.as_deref().into_iter().chain(self.code).collect();
        format!("{}: {}", self.line, parts.join(" "))
    }
}
