//! What the machine did while it was measured on.

use std::fmt;
use std::fs;
use std::io;

/// The counters of all processors at one moment, in ticks of the kernel.
pub(crate) struct Machine {
    all: u64,
    idle: u64,
    steal: u64,
}

/// What happened between two moments.
pub(crate) struct Activity {
    idle: f64,
    steal: f64,
    waiting: String,
}

impl Machine {
    /// Reads the counters.
    ///
    /// # Errors
    /// Returns an error if `/proc/stat` cannot be read.
    pub(crate) fn read() -> io::Result<Self> {
        Ok(Self::parse(&fs::read_to_string("/proc/stat")?))
    }

    /// Parses the first line: user, nice, system, idle, iowait, irq, softirq and steal.
    fn parse(stat: &str) -> Self {
        let line = stat.lines().next().unwrap_or_default();
        let ticks: Vec<u64> =
            line.split_whitespace().skip(1).take(8).filter_map(|word| word.parse().ok()).collect();
        let of = |at: usize| ticks.get(at).copied().unwrap_or_default();
        Self { all: ticks.iter().sum(), idle: of(3) + of(4), steal: of(7) }
    }

    /// Returns what happened since `earlier`.
    ///
    /// # Errors
    /// Returns an error if `/proc/loadavg` cannot be read.
    pub(crate) fn since(&self, earlier: &Self) -> io::Result<Activity> {
        let waiting = fs::read_to_string("/proc/loadavg")?;
        let waiting = waiting.split_whitespace().take(3).collect::<Vec<_>>().join(", ");
        let all = self.all.saturating_sub(earlier.all).max(1) as f64;
        let share = |now: u64, before: u64| now.saturating_sub(before) as f64 / all * 100.0;
        Ok(Activity {
            idle: share(self.idle, earlier.idle),
            steal: share(self.steal, earlier.steal),
            waiting,
        })
    }
}

impl fmt::Display for Activity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { idle, steal, waiting } = self;
        write!(
            f,
            "machine: {idle:.0} % idle, {steal:.0} % taken by its host; load of 1, 5 and 15 minutes: {waiting}"
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_those_of_the_ticks_in_between() {
        let before = Machine::parse("cpu  100 0 100 700 100 0 0 0 0 0\ncpu0 1 2 3\n");
        let after = Machine::parse("cpu  150 0 120 710 110 0 0 10 0 0\n");
        let text = after.since(&before).unwrap().to_string();
        assert!(text.starts_with("machine: 20 % idle, 10 % taken by its host; load"), "{text}");
    }
}
