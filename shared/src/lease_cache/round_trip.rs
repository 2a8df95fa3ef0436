//! The round trip to the key's meter, from which follows how long a response is waited for.
//!
//! Why: docs/decisions/limits.md, "The time to wait for a meter follows its measured round trip".

/// Time of silence after which a request is sent again while the round trip is unknown, in
/// milliseconds. The object may have to be created first, which takes up to a few hundred.
const FIRST_HEDGE_MS: u64 = 1_000;
/// Limits of that time once the round trip is known, in milliseconds.
const MIN_HEDGE_MS: u64 = 150;
const MAX_HEDGE_MS: u64 = 1_500;
/// The least that is added to the mean round trip for its variation, in milliseconds.
const MIN_VARIATION_MS: u64 = 100;
/// Maximum of a sample, in milliseconds: a later response says more about a failure than about the
/// distance.
const MAX_SAMPLE_MS: u64 = 3_000;

/// The smoothed round-trip time and its mean deviation (RFC 6298). Samples are taken from responses
/// to first copies only (Karn's algorithm).
#[derive(Debug, Default)]
pub(super) struct RoundTrip {
    /// `None` until the first sample.
    smoothed_ms: Option<u64>,
    deviation_ms: u64,
    /// True if there is one sample only.
    is_first: bool,
}

impl RoundTrip {
    pub(super) fn record(&mut self, sample_ms: u64) {
        let sample = sample_ms.min(MAX_SAMPLE_MS);
        let first = std::mem::replace(&mut self.is_first, self.smoothed_ms.is_none());
        let smoothed = match self.smoothed_ms {
            // The first sample may include the creation of the object.
            Some(smoothed) if !first || smoothed <= sample => smoothed,
            Some(_) | None => {
                (self.smoothed_ms, self.deviation_ms) = (Some(sample), sample / 2);
                return;
            }
        };
        let deviation = self.deviation_ms.saturating_mul(3).saturating_add(smoothed.abs_diff(sample));
        self.deviation_ms = deviation / 4;
        self.smoothed_ms = Some(smoothed.saturating_mul(7).saturating_add(sample) / 8);
    }

    pub(super) const fn is_known(&self) -> bool {
        self.smoothed_ms.is_some()
    }

    /// Returns true if a key of `rate` calls in 1,000 seconds makes less than one in twenty round
    /// trips.
    pub(super) fn takes_few_calls(&self, rate: u32) -> bool {
        let calls = |ms: u64| u64::from(rate).saturating_mul(ms).saturating_mul(20);
        self.smoothed_ms.is_some_and(|ms| calls(ms) < 1_000_000)
    }

    /// Returns the milliseconds of silence after which a request is sent again.
    pub(super) fn hedge_ms(&self) -> u64 {
        let Some(smoothed) = self.smoothed_ms else { return FIRST_HEDGE_MS };
        let variation = self.deviation_ms.saturating_mul(4).max(MIN_VARIATION_MS);
        smoothed.saturating_add(variation).clamp(MIN_HEDGE_MS, MAX_HEDGE_MS)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(samples: &[u64]) -> u64 {
        let mut round_trip = RoundTrip::default();
        for &sample in samples {
            round_trip.record(sample);
        }
        round_trip.hedge_ms()
    }

    #[test]
    fn hedge_waits_longer_than_any_distance() {
        assert_eq!(after(&[]), 1_000);
        assert_eq!(after(&[5; 10]), 150);
        assert_eq!(after(&[200]), 600, "one sample says nothing of how they vary");
        assert_eq!(after(&[200, 300]), 212 + 400);
        let far = after(&[400; 20]);
        assert!((500..=520).contains(&far), "{far}");
        let jittering = after(&[[400, 480]; 10].concat());
        assert!((500..=640).contains(&jittering), "{jittering}");
    }

    #[test]
    fn second_sample_replaces_the_first_one_if_it_is_shorter() {
        for (samples, smoothed_ms) in
            [(&[800, 400][..], 400), (&[400, 800], 450), (&[800, 400, 240], 380), (&[400, 400, 240], 380)]
        {
            let mut round_trip = RoundTrip::default();
            samples.iter().for_each(|sample| round_trip.record(*sample));
            assert_eq!(round_trip.smoothed_ms, Some(smoothed_ms), "{samples:?}");
        }
    }

    #[test]
    fn few_calls_are_less_than_one_in_twenty_round_trips() {
        let mut round_trip = RoundTrip::default();
        assert!(!round_trip.takes_few_calls(0), "the distance is unknown");
        round_trip.record(100);
        assert_eq!([499, 500, 501].map(|rate| round_trip.takes_few_calls(rate)), [true, false, false]);
    }

    #[test]
    fn creation_of_the_object_is_forgotten() {
        let soon = after(&[[900].as_slice(), &[400; 10]].concat());
        assert!(soon < 600, "{soon}");
    }
}
