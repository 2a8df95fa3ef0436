//! A line through measurements.

/// The slope of a line by least squares, with half of its 95 % interval.
pub struct Slope {
    pub slope: f64,
    pub half: f64,
}

impl Slope {
    /// Fits a line to points of x and y. Returns `None` if there are fewer than four.
    pub fn through(points: &[(f64, f64)]) -> Option<Self> {
        let count = f64::from(u32::try_from(points.len()).ok().filter(|count| *count > 3)?);
        let mean = |of: &dyn Fn(&(f64, f64)) -> f64| points.iter().map(of).sum::<f64>() / count;
        let (x, y) = (mean(&|point| point.0), mean(&|point| point.1));
        let spread: f64 = points.iter().map(|point| (point.0 - x).powi(2)).sum();
        let slope = points.iter().map(|point| (point.0 - x) * (point.1 - y)).sum::<f64>() / spread;
        let residual = |point: &(f64, f64)| (point.1 - y - slope * (point.0 - x)).powi(2);
        let variance = points.iter().map(residual).sum::<f64>() / (count - 2.0);
        // Student's t for 95 %, to 0.02 from eight degrees of freedom on.
        let quantile = 1.96 + 2.7 / (count - 2.0);
        Some(Self { slope, half: quantile * (variance / spread).sqrt() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slope_has_the_interval_of_its_noise() {
        let line: Vec<_> = (0..100).map(|x| (f64::from(x), 3.0 * f64::from(x) + f64::from(x % 2))).collect();
        let fit = Slope::through(&line).unwrap();
        assert!((fit.slope - 3.0).abs() < fit.half && (0.001..0.01).contains(&fit.half), "{}", fit.half);
        assert!(Slope::through(&line[..3]).is_none());
    }
}
