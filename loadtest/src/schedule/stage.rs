//! A stage of a schedule: a duration with a rate that is steady, rises or falls.

use std::fmt;
use std::time::Duration;

use super::ScheduleError;
use crate::duration;

/// A stage of a schedule.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Stage {
    pub(crate) duration: Duration,
    /// Calls per second at the beginning.
    pub(crate) from: f64,
    /// Calls per second at the end.
    pub(crate) to: f64,
    /// True if all calls of a second are due at its beginning.
    pub(crate) burst: bool,
}

impl Stage {
    /// Parses `10s:100`, `1m:100..2000` or `10s:100 burst`.
    pub(crate) fn parse(text: &str) -> Result<Self, ScheduleError> {
        let parsed = || {
            let (rest, burst) = match text.trim().strip_suffix("burst") {
                Some(rest) => (rest.trim_end(), true),
                None => (text.trim(), false),
            };
            let (length, rates) = rest.split_once(':')?;
            let (from, to) = rates.split_once("..").unwrap_or((rates, rates));
            Some(Self { duration: duration::parse(length)?, from: rate(from)?, to: rate(to)?, burst })
        };
        parsed().ok_or_else(|| ScheduleError::Stage(text.to_owned()))
    }

    /// Returns the number of calls.
    #[allow(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "positive, and far below 2^53"
    )]
    pub(crate) fn calls(&self) -> u64 {
        (self.duration.as_secs_f64() * f64::midpoint(self.from, self.to)).round() as u64
    }

    /// Returns the due time of call number `nth` of the stage, counted from its start.
    ///
    /// After `t` of `T` seconds `from t + (to - from) t² / 2T` calls are due, so the time is the
    /// positive root of that.
    pub(crate) fn due(&self, nth: u64) -> Duration {
        let nth = nth as f64;
        let growth = (self.to - self.from) / self.duration.as_secs_f64();
        // A steady rate would divide by zero below.
        let seconds = if growth.abs() < 1e-12 {
            nth / self.from
        } else {
            // Rounding the number of calls may take the last one past the end of a falling ramp.
            let under_root = (self.from * self.from + 2.0 * growth * nth).max(0.0);
            (under_root.sqrt() - self.from) / growth
        };
        // Floating point puts the call of second 3 at 2.9999999999, which belongs to the next
        // burst.
        let seconds = if self.burst { (seconds + 1e-9).floor() } else { seconds };
        Duration::from_secs_f64(seconds.clamp(0.0, self.duration.as_secs_f64()))
    }

    /// Returns the number of calls that are due in its first `seconds`.
    pub(crate) fn due_until(&self, seconds: f64) -> f64 {
        let length = self.duration.as_secs_f64();
        // In a burst, the calls of a second are all due at its beginning.
        let seconds = if self.burst { (seconds + 1.0).floor() } else { seconds };
        let seconds = seconds.clamp(0.0, length);
        self.from * seconds + (self.to - self.from) * seconds * seconds / (2.0 * length)
    }

    /// Returns the same stage with another length and rate.
    pub(crate) fn scaled(&self, duration: f64, rate: f64) -> Self {
        Self {
            duration: self.duration.mul_f64(duration),
            from: self.from * rate,
            to: self.to * rate,
            burst: self.burst,
        }
    }

    /// Returns the higher of both rates.
    pub(crate) const fn peak(&self) -> f64 {
        self.from.max(self.to)
    }
}

fn rate(text: &str) -> Option<f64> {
    let rate: f64 = text.trim().trim_end_matches("/s").parse().ok()?;
    (rate.is_finite() && (0.0..=10_000_000.0).contains(&rate)).then_some(rate)
}

impl fmt::Display for Stage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digits = |rate: f64| (rate * 100.0).round() / 100.0;
        write!(f, "{}:{}", duration::text(self.duration), digits(self.from))?;
        if (self.from - self.to).abs() > f64::EPSILON {
            write!(f, "..{}", digits(self.to))?;
        }
        f.write_str(if self.burst { " burst" } else { "" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ramp_rises_evenly() {
        let ramp = Stage::parse("10s:0..200").unwrap();
        assert_eq!(ramp.calls(), 1000);
        let within = |from: u64, to: u64| {
            let range = Duration::from_secs(from)..Duration::from_secs(to);
            (0..1000).filter(|&nth| range.contains(&ramp.due(nth))).count()
        };
        assert!((9..=11).contains(&within(0, 1)), "{}", within(0, 1));
        assert!((109..=111).contains(&within(5, 6)), "{}", within(5, 6));
        assert!((189..=191).contains(&within(9, 10)), "{}", within(9, 10));
        let fall = Stage::parse("10s:200..0").unwrap();
        assert!((1..1000).all(|nth| fall.due(nth) >= fall.due(nth - 1)));
        assert!(fall.due(999) <= fall.duration);
    }

    #[test]
    fn stage_text_is_parsed_and_printed() {
        for text in ["10s:100", "1m:100..2000", "2s:5 burst", "500ms:0.5", "1h:5000"] {
            assert_eq!(Stage::parse(text).unwrap().to_string(), text);
        }
        for text in ["10s", "10:5", "10s:-1", "10s:a", "s:1", "10s:1..", "10s:inf", ""] {
            assert_eq!(Stage::parse(text), Err(ScheduleError::Stage(text.to_owned())), "{text}");
        }
    }
}
