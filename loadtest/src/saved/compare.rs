//! The comparison of two runs.

use std::fmt;

use super::error::SavedError;
use crate::report::Report;

/// The differences that are noise: this share of the value before.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Noise(f64);

impl Noise {
    /// Parses `5%`.
    pub(super) fn parse(text: &str) -> Result<Self, SavedError> {
        let percent = text.strip_suffix('%').and_then(|percent| percent.trim().parse::<f64>().ok());
        let valid = percent.filter(|percent| (0.0..=1000.0).contains(percent));
        valid.map(|percent| Self(percent / 100.0)).ok_or_else(|| SavedError::Noise(text.to_owned()))
    }
}

/// The comparison of two runs.
#[derive(Debug)]
pub(super) struct Comparison {
    lines: Vec<Line>,
    noise: Noise,
}

#[derive(Debug)]
struct Line {
    name: &'static str,
    before: f64,
    after: f64,
    better: Direction,
    /// The difference that is noise whatever the share.
    floor: f64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Direction {
    Lower,
    Higher,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Change {
    Better,
    Noise,
    Worse,
}

/// A difference of latencies that is noise on any machine, in milliseconds.
const LATENCY_FLOOR_MS: f64 = 0.1;
/// A difference of shares that is noise: one call in a thousand.
const SHARE_FLOOR: f64 = 0.1;

impl Comparison {
    pub(super) fn new(before: &Report, after: &Report, noise: Noise) -> Self {
        let line = |name, better, floor, value: &dyn Fn(&Report) -> f64| Line {
            name,
            before: value(before),
            after: value(after),
            better,
            floor,
        };
        let latency =
            |name, value: &dyn Fn(&Report) -> f64| line(name, Direction::Lower, LATENCY_FLOOR_MS, value);
        let lines = vec![
            latency("p50 ms", &|report| report.latency_ms.p50),
            latency("p90 ms", &|report| report.latency_ms.p90),
            latency("p99 ms", &|report| report.latency_ms.p99),
            latency("p99.9 ms", &|report| report.latency_ms.p99_9),
            line("success %", Direction::Higher, SHARE_FLOOR, &|report| {
                report.calls.success as f64 * 100.0 / (report.calls.due as f64).max(1.0)
            }),
            line("calls/s", Direction::Higher, 0.5, &|report| report.achieved_rate),
        ];
        Self { lines, noise }
    }

    /// Returns true if a value is worse by more than noise.
    pub(super) fn is_worse(&self) -> bool {
        self.lines.iter().any(|line| line.change(self.noise) == Change::Worse)
    }
}

impl Line {
    fn change(&self, noise: Noise) -> Change {
        let difference = self.after - self.before;
        if difference.abs() <= (self.before.abs() * noise.0).max(self.floor) {
            return Change::Noise;
        }
        if (difference < 0.0) == (self.better == Direction::Lower) { Change::Better } else { Change::Worse }
    }
}

impl fmt::Display for Comparison {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{:>10} {:>12} {:>12} {:>9}", "", "before", "after", "change")?;
        for line in &self.lines {
            let percent = (line.after - line.before) / line.before.abs().max(1e-9) * 100.0;
            let verdict = match line.change(self.noise) {
                Change::Better => "better",
                Change::Noise => "",
                Change::Worse => "WORSE",
            };
            let text = format!(
                "{:>10} {:>12.3} {:>12.3} {percent:>+8.1}%  {verdict}",
                line.name, line.before, line.after
            );
            writeln!(f, "{}", text.trim_end())?;
        }
        let noise = self.noise.0 * 100.0;
        writeln!(f, "differences up to {noise} % or {LATENCY_FLOOR_MS} ms are noise")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::{RunInfo, RunOutcome};
    use crate::summary::tests::{call, status, summary};
    use crate::timeline::Timeline;
    use std::time::Duration;

    fn report(latency_ms: u64, failed: u64) -> Report {
        let good = (0..1000 - failed).map(|n| {
            let mut record = call(n, status(200));
            record.done = record.due + Duration::from_millis(latency_ms);
            record
        });
        let bad = (0..failed).map(|n| call(n, status(503)));
        Report::new(
            RunInfo { seconds: 2.0, ..RunInfo::default() },
            RunOutcome::default(),
            &summary(good.chain(bad), &Timeline::default()),
        )
    }

    fn is_worse(before: &Report, after: &Report, noise: &str) -> bool {
        Comparison::new(before, after, Noise::parse(noise).unwrap()).is_worse()
    }

    #[test]
    fn run_is_worse_beyond_noise_only() {
        let before = report(100, 0);
        assert!(!is_worse(&before, &before, "0%"));
        assert!(!is_worse(&before, &report(104, 0), "5%"));
        assert!(is_worse(&before, &report(106, 0), "5%"));
        assert!(!is_worse(&before, &report(106, 0), "10%"));
        assert!(!is_worse(&before, &report(50, 0), "5%"));
        assert!(is_worse(&before, &report(100, 60), "5%"));
        let text = Comparison::new(&before, &report(200, 0), Noise(0.05)).to_string();
        assert!(text.contains("+100.0%  WORSE"), "{text}");
        for text in ["5", "-1%", "a%"] {
            assert!(Noise::parse(text).is_err(), "{text}");
        }
    }
}
