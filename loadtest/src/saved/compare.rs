//! The comparison of two runs.

use std::fmt;

use super::error::SavedError;
use crate::report::Report;
use crate::summary::{Interval, Values, difference_intervals};

/// The differences that do not matter: this share of the value before.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Noise(f64);

impl Noise {
    /// Parses `5%`.
    pub(crate) fn parse(text: &str) -> Result<Self, SavedError> {
        let percent = text.strip_suffix('%').and_then(|percent| percent.trim().parse::<f64>().ok());
        let valid = percent.filter(|percent| (0.0..=1000.0).contains(percent));
        valid.map(|percent| Self(percent / 100.0)).ok_or_else(|| SavedError::Noise(text.to_owned()))
    }
}

/// The comparison of two runs.
#[derive(Debug)]
pub(crate) struct Comparison {
    lines: Vec<Line>,
    noise: Noise,
}

#[derive(Debug)]
struct Line {
    value: &'static ComparedValue,
    before: f64,
    after: f64,
    /// The confidence interval of the difference.
    interval: Option<Interval>,
    /// The calls of the run that has fewer.
    calls: u64,
}

/// A value that is compared.
#[derive(Debug)]
struct ComparedValue {
    name: &'static str,
    better: Direction,
    /// The difference that does not matter whatever the share.
    floor: f64,
    /// The fewest calls of a run that show it.
    min_calls: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Direction {
    Lower,
    Higher,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Change {
    Better,
    /// The difference is too small to matter.
    Noise,
    /// The calls do not show that there is a difference.
    Unclear,
    Worse,
}

/// A difference of latencies that does not matter on any machine, in milliseconds.
const LATENCY_FLOOR_MS: f64 = 0.1;

/// The values in the order of [`Values`]. A quantile has five calls beyond it in this many calls; with fewer, other
/// seconds of the same runs cannot say where it might have been.
const VALUES: [ComparedValue; 6] = [
    ComparedValue { name: "p50 ms", better: Direction::Lower, floor: LATENCY_FLOOR_MS, min_calls: 10 },
    ComparedValue { name: "p90 ms", better: Direction::Lower, floor: LATENCY_FLOOR_MS, min_calls: 50 },
    ComparedValue { name: "p99 ms", better: Direction::Lower, floor: LATENCY_FLOOR_MS, min_calls: 500 },
    ComparedValue { name: "p99.9 ms", better: Direction::Lower, floor: LATENCY_FLOOR_MS, min_calls: 5000 },
    // One call in a thousand.
    ComparedValue { name: "success %", better: Direction::Higher, floor: 0.1, min_calls: 1 },
    ComparedValue { name: "calls/s", better: Direction::Higher, floor: 0.5, min_calls: 1 },
];

impl Comparison {
    pub(crate) fn new(before: &Report, after: &Report, noise: Noise) -> Self {
        let blocks = before.blocks.as_ref().zip(after.blocks.as_ref());
        let intervals = blocks.map(|(before, after)| difference_intervals(before, after));
        let pairs = values(before).into_iter().zip(values(after));
        // The shorter run decides how much both can say.
        let calls = before.calls.due.min(after.calls.due);
        let lines = VALUES.iter().zip(pairs).enumerate().map(|(at, (value, (before, after)))| {
            let interval = intervals.and_then(|intervals| intervals.get(at).copied());
            Line { value, before, after, interval, calls }
        });
        Self { lines: lines.collect(), noise }
    }

    /// Returns true if a value is surely worse, and by more than noise.
    pub(crate) fn is_worse(&self) -> bool {
        self.lines.iter().any(|line| line.change(self.noise) == Change::Worse)
    }
}

fn values(report: &Report) -> Values {
    let latency = &report.latency_ms;
    let success = report.calls.success as f64 * 100.0 / (report.calls.due as f64).max(1.0);
    [latency.p50, latency.p90, latency.p99, latency.p99_9, success, report.completed_rate]
}

impl Line {
    fn change(&self, noise: Noise) -> Change {
        let difference = self.after - self.before;
        // Before the interval: with enough calls, even a difference that nobody feels is certain.
        if difference.abs() <= (self.before.abs() * noise.0).max(self.value.floor) {
            return Change::Noise;
        }
        // A percentile of a few calls is one call, and intervals of it are too narrow.
        if self.calls < self.value.min_calls || self.interval.is_none_or(Interval::has_zero) {
            return Change::Unclear;
        }
        let is_lower = difference < 0.0;
        if is_lower == (self.value.better == Direction::Lower) { Change::Better } else { Change::Worse }
    }
}

impl fmt::Display for Comparison {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{:>10} {:>12} {:>12} {:>9}   95 % interval of it", "", "before", "after", "change")?;
        for line in &self.lines {
            let percent = (line.after - line.before) / line.before.abs().max(1e-9) * 100.0;
            let interval = line.interval.map_or_else(
                || format!("{:>23}", "–"),
                |Interval { low, high }| format!("{low:>+9.3} to {high:>+10.3}"),
            );
            let verdict = match line.change(self.noise) {
                Change::Better => "better",
                Change::Noise => "",
                Change::Unclear => "unclear",
                Change::Worse => "WORSE",
            };
            let text = format!(
                "{:>10} {:>12.3} {:>12.3} {percent:>+8.1}% {interval}  {verdict}",
                line.value.name, line.before, line.after
            );
            writeln!(f, "{}", text.trim_end())?;
        }
        let noise = self.noise.0 * 100.0;
        writeln!(f, "differences up to {noise} % or {LATENCY_FLOOR_MS} ms do not matter")?;
        if self.lines.iter().all(|line| line.interval.is_none()) {
            writeln!(
                f,
                "there are no intervals, because a report is of another version of loadtest: nothing is clear"
            )?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::{RunInfo, RunOutcome};
    use crate::summary::tests::{call, status};
    use crate::timeline::Timeline;
    use std::time::Duration;

    fn report(latency_ms: u64, failed: u64) -> Report {
        let good = (0..1000 - failed).map(|n| {
            let mut record = call(n, status(200));
            record.done = record.due + Duration::from_millis(latency_ms);
            record
        });
        let bad = (0..failed).map(|n| call(n * 1000 / failed, status(503)));
        Report::new(
            RunInfo { seconds: 2.0, ..RunInfo::default() },
            RunOutcome::default(),
            &summary_of(good.chain(bad)),
        )
    }

    /// Calls of a second, with the blocks that intervals come from.
    fn summary_of(records: impl Iterator<Item = crate::record::CallRecord>) -> crate::summary::Summary {
        let second = Duration::from_secs(1);
        let mut builder = crate::summary::SummaryBuilder::new(second, second);
        records.for_each(|record| builder.record(&record, &Timeline::default()));
        builder.finish()
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
        assert!(text.contains("+100.0%") && text.contains("WORSE"), "{text}");
        for text in ["5", "-1%", "a%"] {
            assert!(Noise::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn difference_without_evidence_is_unclear() {
        let few = |interval, calls| Line { value: &VALUES[2], before: 10.0, after: 12.0, interval, calls };
        let line = |interval| few(interval, 500);
        let change = |low, high| line(Some(Interval { low, high })).change(Noise(0.05));
        assert_eq!(change(1.0, 3.0), Change::Worse);
        assert_eq!(change(-0.5, 4.0), Change::Unclear);
        // The 99th percentile of fewer calls is one of the worst five.
        let clear = Some(Interval { low: 1.0, high: 3.0 });
        assert_eq!(few(clear, 499).change(Noise(0.05)), Change::Unclear);
        // Without evidence nothing is clear.
        assert_eq!(line(None).change(Noise(0.05)), Change::Unclear);
        assert_eq!(line(Some(Interval { low: 1.0, high: 3.0 })).change(Noise(0.25)), Change::Noise);
    }
}
