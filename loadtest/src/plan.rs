//! What is to be done: how many calls, when each is due, over how many connections. Bounded before it begins.

use std::time::Duration;

/// When calls are due, whatever becomes of the ones before: an open loop, so that a slow server meets the same
/// load as a quick one and its slowness is seen in full.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pace {
    rate: u32,
    seconds: u32,
    bursts: bool,
}

/// The most that a plan may ask for.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    /// Seconds a run may take.
    pub seconds: u32,
    /// Calls a run may make.
    pub calls: u64,
}

impl Pace {
    /// `rate` calls a second for `seconds`: evenly spread, or, in bursts, all at the beginning of each second.
    ///
    /// # Errors
    /// When that is nothing or is over a bound, in words that name the flag.
    pub fn new(rate: u32, seconds: u32, bursts: bool, bounds: Bounds) -> Result<Self, String> {
        let calls = u64::from(rate) * u64::from(seconds);
        if calls == 0 {
            return Err("--rate and --seconds are at least 1".to_owned());
        }
        if seconds > bounds.seconds {
            return Err(format!("{seconds} s are over --max-seconds {}", bounds.seconds));
        }
        if calls > bounds.calls {
            return Err(format!(
                "{rate}/s for {seconds} s are {calls} calls, over --max-calls {}",
                bounds.calls
            ));
        }
        Ok(Self { rate, seconds, bursts })
    }

    /// How many calls there are.
    #[must_use]
    pub fn calls(&self) -> u64 {
        u64::from(self.rate) * u64::from(self.seconds)
    }

    /// Calls a second.
    #[must_use]
    pub const fn rate(&self) -> u32 {
        self.rate
    }

    /// How long calls are made for.
    #[must_use]
    pub const fn length(&self) -> Duration {
        Duration::from_secs(self.seconds as u64)
    }

    /// When call number `nth` is due, counted from the beginning.
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

    const BOUNDS: Bounds = Bounds { seconds: 60, calls: 1000 };

    #[test]
    fn a_steady_pace_is_even_and_ends_with_the_last_second() {
        let pace = Pace::new(4, 10, false, BOUNDS).unwrap();
        let due: Vec<u128> = (0..6).map(|nth| pace.due(nth).as_millis()).collect();
        assert_eq!(due, [0, 250, 500, 750, 1000, 1250]);
        assert!(pace.due(pace.calls() - 1) < pace.length());
        assert_eq!(pace.due(pace.calls()), pace.length());
    }

    #[test]
    fn a_burst_is_due_all_at_once_every_second() {
        let pace = Pace::new(3, 2, true, BOUNDS).unwrap();
        let due: Vec<u128> = (0..pace.calls()).map(|nth| pace.due(nth).as_millis()).collect();
        assert_eq!(due, [0, 0, 0, 1000, 1000, 1000]);
    }

    #[test]
    fn a_plan_over_a_bound_is_refused_and_the_flag_is_named() {
        assert!(Pace::new(1, 61, false, BOUNDS).unwrap_err().contains("--max-seconds 60"));
        assert!(Pace::new(101, 10, false, BOUNDS).unwrap_err().contains("--max-calls 1000"));
        assert!(Pace::new(u32::MAX, 60, false, BOUNDS).is_err());
        assert!(Pace::new(0, 10, false, BOUNDS).is_err());
        assert!(Pace::new(100, 10, false, BOUNDS).is_ok());
    }
}
