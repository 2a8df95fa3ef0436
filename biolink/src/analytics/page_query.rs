//! The question to the store of one page.

use serde::{Deserialize, Serialize};
use shared::time::{UnixMillis, UtcDay};

use super::{filter::Filter, group::GroupBy};
use crate::events::Dimension;

/// A query for one page. It names moments only, so that the store of the page needs no time zone.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PageQuery {
    /// The first moment.
    pub(super) start: UnixMillis,
    /// The moment after the last.
    pub(super) end: UnixMillis,
    /// The starts of the buckets of the series, ascending. All but the first are whole minutes.
    pub(super) buckets: Vec<UnixMillis>,
    /// Whether distinct visitors of each bucket are counted.
    pub(super) bucket_visitors: bool,
    /// Whether distinct visitors of the whole are counted.
    pub(super) visitors: bool,
    pub(super) filters: Vec<Filter>,
    pub(super) groups: Vec<PageGroup>,
}

/// A group of a [`PageQuery`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct PageGroup {
    pub(super) by: GroupBy,
    /// Whether distinct visitors of each value are counted.
    pub(super) distinct: bool,
}

/// The columns that a [`PageQuery`] reads, beside the kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NeededColumns {
    /// Whether the visitor column is read.
    pub visitor: bool,
    /// The dimensions, each once.
    pub dimensions: Vec<Dimension>,
}

/// The most events of a page that are read with filters or for several groups.
pub const MAX_ROWS: u64 = 30_000_000;

impl PageQuery {
    /// Returns the first day with events of the query, and the last.
    pub const fn days(&self) -> (UtcDay, UtcDay) {
        // The end is not part of the query. At midnight its day would be read for nothing.
        (self.start.day(), self.end.minus(1).day())
    }

    /// Returns the columns that are read. The time is not among them: see
    /// [`PageQuery::needs_time`].
    pub fn columns(&self) -> NeededColumns {
        // Always: what was ignored is counted by its reason, and programs apart from the rest.
        let mut dimensions = vec![Dimension::Ignored];
        let filters = self.filters.iter().map(|filter| filter.by);
        for by in filters.chain(self.groups.iter().map(|group| group.by)) {
            let dimension = by.dimension().filter(|dimension| !dimensions.contains(dimension));
            dimensions.extend(dimension);
        }
        let distinct = self.groups.iter().any(|group| group.distinct);
        NeededColumns { visitor: self.visitors || self.bucket_visitors || distinct, dimensions }
    }

    /// Returns true if the times of a day's events matter: not the whole day belongs to the query, or
    /// it belongs to several buckets of the series.
    pub fn needs_time(&self, day: UtcDay) -> bool {
        day.start() < self.start || self.end < day.end() || {
            let inner = |bucket: &&UnixMillis| day.start() < **bucket && **bucket < day.end();
            self.buckets.iter().any(|bucket| inner(&bucket))
        }
    }

    /// Returns the days, from the first to before the second, that form the longest run of days whose
    /// times do not matter. A store reads their rows without the time column.
    pub fn days_without_time(&self) -> (UtcDay, UtcDay) {
        let (first, last) = self.days();
        let mut longest = (first, first);
        let mut from = first;
        for day in first.0..=last.0 {
            if self.needs_time(UtcDay(day)) {
                from = UtcDay(day + 1);
            } else if day + 1 - from.0 > longest.1.0 - longest.0.0 {
                longest = (from, UtcDay(day + 1));
            }
        }
        longest
    }

    /// Checks that not too many events are read, given the number of events of each day, ascending.
    /// Totals and one group without filters have no limit.
    ///
    /// # Errors
    /// Returns the earliest start that would be answered, for
    /// [`AnalyticsQuery::too_wide`](super::AnalyticsQuery::too_wide).
    pub fn check_width(&self, rows: &[(UtcDay, u64)]) -> Result<(), UnixMillis> {
        if self.filters.is_empty() && self.groups.len() <= 1 {
            return Ok(());
        }
        let (first, last) = self.days();
        let mut sum = 0u64;
        for (day, rows) in rows.iter().rev().filter(|(day, _)| (first..=last).contains(day)) {
            sum = sum.saturating_add(*rows);
            if sum > MAX_ROWS {
                // From the end backwards, so that the period that would be answered is the latest
                // one.
                return Err(day.end().min(self.end));
            }
        }
        Ok(())
    }
}
