//! The schedule of a run: how many calls it has and when each is due.

use std::time::Duration;

use thiserror::Error;

/// An open-loop schedule: due times do not depend on earlier responses.
///
/// A slow server therefore receives the same load as a fast one, and the latencies show the full
/// delay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Schedule {
    rate: u32,
    seconds: u32,
    bursts: bool,
}

/// The limits of a schedule.
#[derive(Clone, Copy, Debug)]
pub struct RunLimits {
    /// The maximum duration in seconds.
    pub seconds: u32,
    /// The maximum number of calls.
    pub calls: u64,
}

/// The reason why a schedule is invalid. The text names the option to change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum ScheduleError {
    /// There are no calls.
    #[error("--rate {rate} for --seconds {seconds} makes no calls: both must be at least 1")]
    Empty {
        /// The requested calls per second.
        rate: u32,
        /// The requested duration in seconds.
        seconds: u32,
    },
    /// The duration exceeds its limit.
    #[error("--seconds {seconds} exceeds the limit: expected at most --max-seconds {limit}")]
    TooLong {
        /// The requested duration in seconds.
        seconds: u32,
        /// The limit in seconds.
        limit: u32,
    },
    /// The number of calls exceeds its limit.
    #[error(
        "--rate {rate} for --seconds {seconds} makes {calls} calls: expected at most --max-calls {limit}"
    )]
    TooManyCalls {
        /// The requested calls per second.
        rate: u32,
        /// The requested duration in seconds.
        seconds: u32,
        /// The requested number of calls.
        calls: u64,
        /// The limit.
        limit: u64,
    },
}

impl Schedule {
    /// Returns a schedule of `rate` calls per second for `seconds`.
    ///
    /// The calls are evenly spaced or, with `bursts`, all due at the beginning of each second.
    ///
    /// # Errors
    /// Returns an error if there are no calls or a limit is exceeded.
    pub fn new(rate: u32, seconds: u32, bursts: bool, limits: RunLimits) -> Result<Self, ScheduleError> {
        let calls = u64::from(rate) * u64::from(seconds);
        if calls == 0 {
            return Err(ScheduleError::Empty { rate, seconds });
        }
        if seconds > limits.seconds {
            return Err(ScheduleError::TooLong { seconds, limit: limits.seconds });
        }
        if calls > limits.calls {
            return Err(ScheduleError::TooManyCalls { rate, seconds, calls, limit: limits.calls });
        }
        Ok(Self { rate, seconds, bursts })
    }

    /// Returns the number of calls.
    #[must_use]
    pub fn calls(&self) -> u64 {
        u64::from(self.rate) * u64::from(self.seconds)
    }

    /// Returns the number of calls per second.
    #[must_use]
    pub const fn rate(&self) -> u32 {
        self.rate
    }

    /// Returns the time during which calls become due.
    #[must_use]
    pub const fn duration(&self) -> Duration {
        Duration::from_secs(self.seconds as u64)
    }

    /// Returns the due time of call number `nth`, counted from the start.
    #[must_use]
    pub fn due(&self, nth: u64) -> Duration {
        let rate = u64::from(self.rate);
        let within = if self.bursts { 0 } else { nth % rate * 1_000_000_000 / rate };
        Duration::from_secs(nth / rate) + Duration::from_nanos(within)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: RunLimits = RunLimits { seconds: 60, calls: 1000 };

    #[test]
    fn steady_schedule_is_evenly_spaced() {
        let schedule = Schedule::new(4, 10, false, LIMITS).unwrap();
        let due: Vec<u128> = (0..6).map(|nth| schedule.due(nth).as_millis()).collect();
        assert_eq!(due, [0, 250, 500, 750, 1000, 1250]);
        assert!(schedule.due(schedule.calls() - 1) < schedule.duration());
        assert_eq!(schedule.due(schedule.calls()), schedule.duration());
    }

    #[test]
    fn burst_schedule_is_due_at_beginning_of_each_second() {
        let schedule = Schedule::new(3, 2, true, LIMITS).unwrap();
        let due: Vec<u128> = (0..schedule.calls()).map(|nth| schedule.due(nth).as_millis()).collect();
        assert_eq!(due, [0, 0, 0, 1000, 1000, 1000]);
    }

    #[test]
    fn schedule_over_limit_is_error_that_names_the_option() {
        let error = |rate, seconds| Schedule::new(rate, seconds, false, LIMITS).unwrap_err();
        assert_eq!(error(1, 61), ScheduleError::TooLong { seconds: 61, limit: 60 });
        assert!(error(1, 61).to_string().contains("--max-seconds 60"));
        let too_many = ScheduleError::TooManyCalls { rate: 101, seconds: 10, calls: 1010, limit: 1000 };
        assert_eq!(error(101, 10), too_many);
        assert!(too_many.to_string().contains("--max-calls 1000"));
        assert!(matches!(error(u32::MAX, 60), ScheduleError::TooManyCalls { .. }));
        assert_eq!(error(0, 10), ScheduleError::Empty { rate: 0, seconds: 10 });
        assert!(Schedule::new(100, 10, false, LIMITS).is_ok());
    }
}
