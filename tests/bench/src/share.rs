//! The gateway's own share of the time, as the histogram that our proxy keeps of it tells.

/// How many calls took the gateway itself at most how long, by the bounds of its histogram.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Share(Vec<Bucket>);

/// Calls within a bound, those within smaller ones included.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Bucket {
    micros: f64,
    calls: u64,
}

const BUCKET: &str = "utg_gateway_seconds_bucket{le=\"";

impl Share {
    /// Reads it from metrics in Prometheus' text format; `None` when they do not hold it.
    pub(crate) fn parse(metrics: &str) -> Option<Self> {
        let lines = metrics.lines().filter_map(|line| line.strip_prefix(BUCKET));
        let buckets: Vec<Bucket> = lines.map(Bucket::parse).collect::<Option<_>>()?;
        buckets.last().is_some_and(|last| last.micros.is_infinite()).then_some(Self(buckets))
    }

    /// The calls that came after another look at the same histogram.
    pub(crate) fn since(&self, before: &Self) -> Self {
        let buckets = self.0.iter().zip(&before.0);
        let more = |(now, before): (&Bucket, &Bucket)| Bucket {
            calls: now.calls.saturating_sub(before.calls),
            ..*now
        };
        Self(buckets.map(more).collect())
    }

    /// The smallest bound in microseconds that so many of a hundred calls kept; infinite when that is none, or when
    /// there were no calls.
    pub(crate) fn within_which(&self, percent: u64) -> f64 {
        let all = self.calls();
        let kept = self.0.iter().find(|bucket| all > 0 && bucket.calls * 100 >= all * percent);
        kept.map_or(f64::INFINITY, |bucket| bucket.micros)
    }

    /// How many of a hundred calls are known to have kept a bound in microseconds; 0 when there were no calls.
    pub(crate) fn percent_within(&self, micros: f64) -> f64 {
        let kept = self.0.iter().rev().find(|bucket| bucket.micros <= micros);
        kept.map_or(0.0, |bucket| bucket.calls as f64 * 100.0 / self.calls().max(1) as f64)
    }

    fn calls(&self) -> u64 {
        self.0.last().map_or(0, |last| last.calls)
    }
}

impl Bucket {
    /// What follows [`BUCKET`]: a bound in seconds and a count.
    fn parse(text: &str) -> Option<Self> {
        let (seconds, calls) = text.split_once("\"} ")?;
        let seconds: f64 = seconds.parse().ok()?;
        // Bounds are whole microseconds, which seconds as binary fractions only come near to.
        Some(Self { micros: (seconds * 1e6).round(), calls: calls.parse().ok()? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As the proxy writes it, with so many calls in each bucket.
    fn metrics(calls: [u64; 4]) -> String {
        let mut sum = 0;
        let buckets = ["0.000025", "0.0002", "0.1", "+Inf"].iter().zip(calls).map(|(bound, calls)| {
            sum += calls;
            format!("utg_gateway_seconds_bucket{{le=\"{bound}\"}} {sum}\n")
        });
        let buckets: String = buckets.collect();
        format!(
            "# TYPE utg_gateway_seconds histogram\n{buckets}utg_gateway_seconds_sum 0.5\nutg_gateway_seconds_count {sum}\n\
             utg_upstream_seconds_bucket{{tool=\"qr\",le=\"0.001\"}} 7\n"
        )
    }

    fn share(calls: [u64; 4]) -> Share {
        Share::parse(&metrics(calls)).unwrap()
    }

    #[test]
    fn a_part_of_the_calls_is_within_the_bound_of_the_bucket_that_its_last_one_fell_into() {
        let share = share([50, 49, 1, 0]);
        assert_eq!(
            [1, 50, 51, 99, 100].map(|p| share.within_which(p)),
            [25.0, 25.0, 200.0, 200.0, 100_000.0]
        );
        assert_eq!([10.0, 25.0, 200.0, 300.0].map(|m| share.percent_within(m)), [0.0, 50.0, 99.0, 99.0]);
    }

    #[test]
    fn only_what_came_between_two_looks_counts() {
        let (before, after) = (share([1_000, 0, 7, 3]), share([1_000, 9, 7, 4]));
        let between = after.since(&before);
        assert_eq!(between, share([0, 9, 0, 1]));
        assert_eq!((between.within_which(90), between.within_which(91)), (200.0, f64::INFINITY));
        let none = after.since(&after);
        assert_eq!((none.within_which(50), none.percent_within(200.0)), (f64::INFINITY, 0.0));
    }

    #[test]
    fn metrics_without_the_histogram_or_with_a_part_of_it_are_not_read() {
        let whole = metrics([1, 1, 1, 1]);
        let cut = whole.split_once("utg_gateway_seconds_bucket{le=\"+Inf").unwrap().0;
        for text in ["", "utg_ready 1\n", cut, &whole.replace("le=\"0.1\"} 3", "le=\"0.1\"} many")] {
            assert_eq!(Share::parse(text), None, "{text}");
        }
    }
}
