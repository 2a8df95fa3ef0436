//! The gateway's own overhead per call, from the histogram in the proxy's metrics.

/// A cumulative histogram of the gateway's overhead per call.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct OverheadHistogram(Vec<Bucket>);

/// A histogram bucket: the number of calls up to a bound, including all smaller buckets.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Bucket {
    micros: f64,
    calls: u64,
}

const BUCKET: &str = "utg_proxy_overhead_seconds_bucket{le=\"";

impl OverheadHistogram {
    /// Parses metrics in the Prometheus text format. Returns `None` if the histogram is missing or
    /// incomplete.
    pub(crate) fn parse(metrics: &str) -> Option<Self> {
        let lines = metrics.lines().filter_map(|line| line.strip_prefix(BUCKET));
        let buckets: Vec<Bucket> = lines.map(Bucket::parse).collect::<Option<_>>()?;
        buckets.last().is_some_and(|last| last.micros.is_infinite()).then_some(Self(buckets))
    }

    /// Returns the calls recorded since an earlier reading of the same histogram.
    pub(crate) fn since(&self, before: &Self) -> Self {
        let buckets = self.0.iter().zip(&before.0);
        let difference = |(now, before): (&Bucket, &Bucket)| Bucket {
            calls: now.calls.saturating_sub(before.calls),
            ..*now
        };
        Self(buckets.map(difference).collect())
    }

    /// Returns the upper bound, in microseconds, of the bucket that contains a percentile. It is
    /// infinite if there are no calls or the percentile lies above the last bound.
    pub(crate) fn percentile_bound(&self, percent: u64) -> f64 {
        let all = self.calls();
        let found = self.0.iter().find(|bucket| all > 0 && bucket.calls * 100 >= all * percent);
        found.map_or(f64::INFINITY, |bucket| bucket.micros)
    }

    /// Returns the percentage of calls known to be within a bound in microseconds, or 0 if there
    /// were no calls.
    pub(crate) fn percent_within(&self, micros: f64) -> f64 {
        let found = self.0.iter().rev().find(|bucket| bucket.micros <= micros);
        found.map_or(0.0, |bucket| bucket.calls as f64 * 100.0 / self.calls().max(1) as f64)
    }

    fn calls(&self) -> u64 {
        self.0.last().map_or(0, |last| last.calls)
    }
}

impl Bucket {
    /// Parses the rest of a line after [`BUCKET`]: a bound in seconds and a count.
    fn parse(text: &str) -> Option<Self> {
        let (seconds, calls) = text.split_once("\"} ")?;
        let seconds: f64 = seconds.parse().ok()?;
        // Bounds are whole microseconds, but binary fractions of seconds only approximate them.
        Some(Self { micros: (seconds * 1e6).round(), calls: calls.parse().ok()? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns metrics as the proxy writes them, with the given number of calls in each bucket.
    fn metrics(calls: [u64; 4]) -> String {
        let mut sum = 0;
        let buckets = ["0.000025", "0.0002", "0.1", "+Inf"].iter().zip(calls).map(|(bound, calls)| {
            sum += calls;
            format!("utg_proxy_overhead_seconds_bucket{{le=\"{bound}\"}} {sum}\n")
        });
        let buckets: String = buckets.collect();
        format!(
            "# TYPE utg_proxy_overhead_seconds histogram\n{buckets}utg_proxy_overhead_seconds_sum 0.5\nutg_proxy_overhead_seconds_count {sum}\n\
             utg_upstream_response_seconds_bucket{{tool=\"qr\",le=\"0.001\"}} 7\n"
        )
    }

    fn histogram(calls: [u64; 4]) -> OverheadHistogram {
        OverheadHistogram::parse(&metrics(calls)).unwrap()
    }

    #[test]
    fn percentile_is_bound_of_its_bucket() {
        let histogram = histogram([50, 49, 1, 0]);
        assert_eq!(
            [1, 50, 51, 99, 100].map(|p| histogram.percentile_bound(p)),
            [25.0, 25.0, 200.0, 200.0, 100_000.0]
        );
        assert_eq!([10.0, 25.0, 200.0, 300.0].map(|m| histogram.percent_within(m)), [0.0, 50.0, 99.0, 99.0]);
    }

    #[test]
    fn since_returns_calls_between_two_readings() {
        let (before, after) = (histogram([1_000, 0, 7, 3]), histogram([1_000, 9, 7, 4]));
        let between = after.since(&before);
        assert_eq!(between, histogram([0, 9, 0, 1]));
        assert_eq!((between.percentile_bound(90), between.percentile_bound(91)), (200.0, f64::INFINITY));
        let none = after.since(&after);
        assert_eq!((none.percentile_bound(50), none.percent_within(200.0)), (f64::INFINITY, 0.0));
    }

    #[test]
    fn incomplete_histogram_is_not_parsed() {
        let whole = metrics([1, 1, 1, 1]);
        let cut = whole.split_once("utg_proxy_overhead_seconds_bucket{le=\"+Inf").unwrap().0;
        for text in ["", "utg_ready 1\n", cut, &whole.replace("le=\"0.1\"} 3", "le=\"0.1\"} many")] {
            assert_eq!(OverheadHistogram::parse(text), None, "{text}");
        }
    }
}
