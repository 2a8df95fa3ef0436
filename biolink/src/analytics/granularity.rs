//! The buckets of a time series.

use shared::time::UnixMillis;
use strum::{IntoStaticStr, VariantArray};

use super::{period::Span, zone::Zone};

/// The most buckets of a series.
pub(super) const MAX_BUCKETS: usize = 1_000;

/// The length of a bucket.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "snake_case")]
pub(super) enum Granularity {
    Hour,
    Day,
    /// From Monday.
    Week,
    Month,
}

shared::named!(Granularity);

impl Granularity {
    /// Every granularity once, the shortest first.
    pub(super) const ALL: [Self; 4] = *Self::VARIANTS.as_array().unwrap();

    /// Returns what suits a span: hours up to two days, days up to 100, then weeks, and months from
    /// two years on.
    pub(super) const fn suiting(span: Span) -> Self {
        match span.end.since(span.start).div_ceil(86_400_000) {
            0..=2 => Self::Hour,
            3..=100 => Self::Day,
            101..=730 => Self::Week,
            _ => Self::Month,
        }
    }

    /// Returns the starts of the buckets of a span, ascending. The first is the start of the span,
    /// whose bucket can be shorter than others, as can the last. `None` if there are more than
    /// [`MAX_BUCKETS`].
    pub(super) fn buckets(self, span: Span, zone: &Zone) -> Option<Vec<UnixMillis>> {
        let mut starts = Vec::new();
        let mut start = span.start;
        while start < span.end {
            // In the loop: hours of ten years would be a list of megabytes before it is refused.
            if starts.len() == MAX_BUCKETS {
                return None;
            }
            starts.push(start);
            start = self.next(start, zone);
        }
        Some(starts)
    }

    /// Returns the start of the next bucket, which is later.
    fn next(self, at: UnixMillis, zone: &Zone) -> UnixMillis {
        let date = zone.date(at);
        let mut day = match self {
            Self::Hour => return zone.next_hour(at),
            Self::Day => date.plus(1),
            Self::Week => date.monday().plus(7),
            // No month has more than 31 days.
            Self::Month => date.month().plus(31).month(),
        };
        loop {
            let start = zone.start_of(day);
            if start > at {
                return start;
            }
            // A zone can return to a day that it had left, or skip one.
            day = day.plus(1);
        }
    }
}
