//! The ratio of two peers over paired rounds, and how certain it is.
//!
//! Other load on the machine makes single rounds cost up to twice as much. So a ratio is the median of the
//! rounds' ratios, and its interval says where that median would lie if the same rounds came again by chance.

use std::fmt;

/// Draws of the bootstrap: the ends of an interval move by less than a hundredth of it from one seed to another.
const DRAWS: usize = 2_000;
/// One of so many draws is on each side of the interval, which thus covers 95 %.
const OUTSIDE: usize = 40;
/// Fewer rounds have no interval: all draws are nearly the same.
const LEAST_ROUNDS: usize = 3;

/// A median of ratios with its interval of 95 %.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Ratio {
    pub(crate) median: f64,
    /// `None` for less than three rounds.
    pub(crate) interval: Option<(f64, f64)>,
}

impl Ratio {
    /// Compares the rounds of one peer with the same rounds of another.
    pub(crate) fn of(values: &[f64], to: &[f64]) -> Self {
        let ratios: Vec<f64> = values.iter().zip(to).map(|(value, to)| value / to).collect();
        Self { median: median(ratios.clone()), interval: interval(&ratios) }
    }

    /// Returns how wide the interval is, as a share of the median.
    pub(crate) fn width(self) -> Option<f64> {
        self.interval.map(|(low, high)| (high - low) / self.median)
    }
}

impl fmt::Display for Ratio {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.2}", self.median)?;
        self.interval.map_or(Ok(()), |(low, high)| write!(f, " {low:.2}…{high:.2}"))
    }
}

/// Returns the median, the upper one of an even number of values, or 0 if there are none.
pub(crate) fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or_default()
}

/// Returns the percentile interval of the median, by a bootstrap (Efron, 1979) that is the same for the same rounds.
fn interval(ratios: &[f64]) -> Option<(f64, f64)> {
    if ratios.len() < LEAST_ROUNDS {
        return None;
    }
    let mut state = 0x9E37_79B9_7F4A_7C15_u64;
    let mut draw = || {
        // xorshift64: its upper half is even enough to choose a round.
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        usize::try_from(state >> 32).ok().and_then(|number| ratios.get(number % ratios.len())).copied()
    };
    let mut medians: Vec<f64> =
        (0..DRAWS).map(|_| median((0..ratios.len()).filter_map(|_| draw()).collect())).collect();
    medians.sort_by(f64::total_cmp);
    let outside = DRAWS / OUTSIDE;
    medians.get(outside).copied().zip(medians.get(DRAWS - 1 - outside).copied())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The bounds of 9 values lie between the order statistics 2 and 8, which cover 96 % by the binomial distribution.
    #[test]
    fn interval_of_nine_rounds_is_between_its_order_statistics() {
        let values = [0.80, 0.82, 0.84, 0.86, 0.88, 0.90, 0.92, 0.94, 0.96];
        let ratio = Ratio::of(&values, &[1.0; 9]);
        let (low, high) = ratio.interval.unwrap();
        assert_eq!(ratio.median, 0.88);
        assert!((0.82..=0.84).contains(&low) && (0.92..=0.94).contains(&high), "{ratio}");
    }

    #[test]
    fn one_disturbed_round_does_not_move_the_interval() {
        let quiet = Ratio::of(&[1.0, 1.01, 0.99, 1.0, 1.01, 0.99, 1.0, 1.0, 1.0], &[1.0; 9]);
        let disturbed = Ratio::of(&[1.0, 1.01, 0.99, 1.0, 1.01, 0.99, 1.0, 1.0, 2.0], &[1.0; 9]);
        assert!(quiet.width().unwrap() < 0.021 && disturbed.width().unwrap() < 0.021, "{quiet}, {disturbed}");
    }

    #[test]
    fn noise_of_the_machine_cancels_within_a_round() {
        let noise = [1.0, 2.0, 1.5, 0.9, 3.0];
        let ratio = Ratio::of(&noise.map(|micros| 0.8 * micros), &noise);
        assert_eq!(ratio.to_string(), "0.80 0.80…0.80");
    }

    #[test]
    fn two_rounds_have_no_interval() {
        assert_eq!(Ratio::of(&[1.0, 1.2], &[1.0, 1.0]), Ratio { median: 1.2, interval: None });
    }
}
