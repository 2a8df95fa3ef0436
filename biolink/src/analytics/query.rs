//! The subject of a report, once the time zone is known.

use crate::codes;
use shared::{
    problem::Problem,
    time::{UnixMillis, UtcDay},
};

use super::{
    granularity::{Granularity, MAX_BUCKETS},
    group::GroupBy,
    metric::{Metric, Metrics},
    page_query::{PageGroup, PageQuery},
    period::{Period, Span},
    request::{AnalyticsRequest, Format, invalid},
    zone::Zone,
};
use crate::page::PageId;

/// A query: which events are counted, and how.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AnalyticsQuery {
    pub(super) request: AnalyticsRequest,
    pub(super) span: Span,
    /// The span that it is compared with, if it is, and beyond the window.
    pub(super) previous: Span,
    pub(super) granularity: Granularity,
    /// The starts of the buckets of the series; none without a series.
    pub(super) buckets: Vec<UnixMillis>,
    pub(super) window_days: u32,
    pub(super) earliest: UnixMillis,
    /// Whether the period was cut to the window.
    pub(super) is_clamped: bool,
}

impl AnalyticsRequest {
    /// Returns the query for a plan that shows the last `window_days` days.
    ///
    /// # Errors
    /// Returns `analytics-window-exceeded` if an explicit start is before the window, and
    /// `fields-invalid` if the period is empty or its series has too many buckets.
    pub fn resolve(self, zone: &Zone, now: UnixMillis, window_days: u32) -> Result<AnalyticsQuery, Problem> {
        AnalyticsQuery::new(self, zone, now, window_days)
    }
}

impl AnalyticsQuery {
    /// See [`AnalyticsRequest::resolve`].
    pub(super) fn new(
        request: AnalyticsRequest,
        zone: &Zone,
        now: UnixMillis,
        window_days: u32,
    ) -> Result<Self, Problem> {
        let earliest = UtcDay(now.day().0.saturating_sub(window_days.into())).start();
        let mut span = request.period.span(zone, now);
        let is_clamped = span.start < earliest;
        // An interval is cut instead of refused: its name promises what there is, not a date.
        if let Period::Explicit { .. } = request.period {
            if is_clamped {
                return Err(window_exceeded(earliest, window_days));
            }
            if span.start >= span.end {
                return Err(invalid("start", "must be before end and before now"));
            }
        }
        span.start = span.start.max(earliest);
        let previous = span.previous(zone);
        let granularity = request.granularity.unwrap_or_else(|| Granularity::suiting(span));
        let buckets = match request.groups.contains(&GroupBy::Timeseries) {
            true => {
                granularity.buckets(span, zone).ok_or_else(|| too_many_buckets(granularity, span, zone))?
            }
            false => Vec::new(),
        };
        Ok(Self { request, span, previous, granularity, buckets, window_days, earliest, is_clamped })
    }

    /// Returns the pages that are asked for; none if the report is about all.
    pub fn pages(&self) -> &[PageId] {
        &self.request.pages
    }

    /// Returns the form of the report.
    pub const fn format(&self) -> Format {
        self.request.format
    }

    /// Returns what each page is asked for.
    pub fn page_query(&self) -> PageQuery {
        let groups = self.page_groups();
        let groups = groups.map(|by| PageGroup { by, distinct: self.metrics(by).needs_visitors() });
        PageQuery {
            start: self.span.start,
            end: self.span.end,
            buckets: self.buckets.clone(),
            bucket_visitors: self.metrics(GroupBy::Timeseries).needs_visitors(),
            visitors: self.total_metrics().needs_visitors()
                || self.request.groups.contains(&GroupBy::Page)
                    && self.metrics(GroupBy::Page).needs_visitors(),
            filters: self.request.filters.clone(),
            groups: groups.collect(),
        }
    }

    /// Returns what each page is asked for about the previous period, as far as the window has it.
    /// `None` if no comparison is asked for, or nothing of the period is left.
    pub fn previous_query(&self) -> Option<PageQuery> {
        let Span { start, end } = self.previous;
        let start = start.max(self.earliest);
        (self.request.compares && start < end).then(|| PageQuery {
            start,
            end,
            buckets: Vec::new(),
            bucket_visitors: false,
            visitors: self.total_metrics().needs_visitors(),
            filters: self.request.filters.clone(),
            groups: Vec::new(),
        })
    }

    /// Returns the refusal of a period with too many events. `start` is the earliest one that would
    /// be answered.
    pub fn too_wide(&self, start: UnixMillis) -> Problem {
        const OTHER: &str = "for one group without filters";
        if start >= self.span.end {
            // The last day alone has too many.
            let detail = format!("too many events for filters or several groups; ask {OTHER}");
            return Problem::new(codes::ANALYTICS_TOO_WIDE, detail);
        }
        let (start, end) = (start.to_rfc3339(), self.span.end.to_rfc3339());
        let detail =
            format!("too many events for filters or several groups; ask for {start} to {end}, or {OTHER}");
        Problem::new(codes::ANALYTICS_TOO_WIDE, detail)
            .with_member("answered_start", start)
            .with_member("answered_end", end)
    }

    /// Returns the groups that pages count, in the order of their reports.
    pub(super) fn page_groups(&self) -> impl Iterator<Item = GroupBy> + '_ {
        self.request.groups.iter().copied().filter(|group| group.dimension().is_some())
    }

    /// Returns the metrics of the totals.
    pub(super) fn total_metrics(&self) -> Metrics {
        self.request.metrics.unwrap_or(Metrics::ALL).and(self.request.available())
    }

    /// Returns the metrics of a group.
    pub(super) fn metrics(&self, group: GroupBy) -> Metrics {
        match self.request.metrics {
            Some(metrics) => metrics.and(group.metrics()),
            None => group.default_metrics().and(self.request.available()),
        }
    }

    /// Returns true if ignored events can be counted: they pass no filter by a property of the visitor.
    pub(super) fn counts_ignored(&self) -> bool {
        !self.request.available().and(Metrics::of(&[Metric::Bots])).is_empty()
    }
}

fn window_exceeded(earliest: UnixMillis, window_days: u32) -> Problem {
    let earliest = earliest.to_rfc3339();
    let detail = format!("start is before {earliest}; the plan shows the last {window_days} days");
    Problem::new(codes::ANALYTICS_WINDOW_EXCEEDED, detail)
        .with_member("earliest_available", earliest)
        .with_member("window_days", window_days)
}

fn too_many_buckets(granularity: Granularity, span: Span, zone: &Zone) -> Problem {
    let fits = Granularity::ALL.into_iter().find(|other| other.buckets(span, zone).is_some());
    let fits = fits.map_or("a shorter period", Granularity::as_str);
    let name = granularity.as_str();
    let detail = format!(
        "{name} gives more than {MAX_BUCKETS} buckets for this period, which is the limit; {fits} fits"
    );
    invalid("granularity", &detail)
}

#[cfg(test)]
mod tests;
