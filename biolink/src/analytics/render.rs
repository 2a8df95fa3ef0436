//! Writes a report.

mod csv;
mod json;
mod object;
mod table;

use serde::{Deserialize, Serialize};

pub(super) use object::Object;

use shared::{response::Response, time::UnixMillis};

use super::{query::AnalyticsQuery, report::Report, request::Format};
use crate::{
    events::{EventKind, Segment},
    page::PageId,
};

/// The content of a report beside its counts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReportContext {
    /// The names of links, products and pages.
    pub labels: Labels,
    /// The completeness of the counts.
    pub delivery: Completeness,
    /// The counts of all times, if they are known.
    pub lifetime: Option<EventCounts>,
}

/// The names of links, products and pages. One without a label is shown as deleted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Labels {
    /// Links and products.
    pub links: Vec<LinkLabel>,
    /// Pages.
    pub pages: Vec<PageLabel>,
}

/// The name of a link or a product.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LinkLabel {
    /// Its id.
    pub id: String,
    /// Its title.
    pub title: String,
    /// The address that it leads to.
    pub url: Option<String>,
    /// Whether no page has it now.
    pub deleted: bool,
}

/// The name of a page.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PageLabel {
    /// Its id.
    pub id: PageId,
    /// Its title.
    pub title: String,
    /// Its slug.
    pub slug: String,
}

/// The completeness of the counts of a report.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Completeness {
    /// The moment up to which every event is counted that was not lost; `None` if it is unknown.
    pub complete_until: Option<UnixMillis>,
    /// The number of batches that are missing.
    pub gaps: u64,
    /// The number of events that were dropped because the queue was down.
    pub dropped: u64,
    /// Whether isolates collected events before they were sent, so that one that died took at most a
    /// second of them along.
    pub coalesced: bool,
}

/// Counted events of each kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct EventCounts {
    /// Views.
    pub views: u64,
    /// Clicks.
    pub clicks: u64,
    /// Scans.
    pub scans: u64,
}

impl EventCounts {
    /// Returns the counts of a segment.
    pub fn of(segment: &Segment) -> Self {
        let count = |kind| segment.count(kind) as u64;
        Self { views: count(EventKind::View), clicks: count(EventKind::Click), scans: count(EventKind::Scan) }
    }

    /// Returns the sum.
    #[must_use]
    pub const fn plus(self, other: Self) -> Self {
        Self {
            views: self.views.saturating_add(other.views),
            clicks: self.clicks.saturating_add(other.clicks),
            scans: self.scans.saturating_add(other.scans),
        }
    }
}

impl Completeness {
    /// Adds what is known of another page.
    pub fn merge(&mut self, other: &Self) {
        let both = self.complete_until.zip(other.complete_until);
        self.complete_until = both.map(|(one, two)| one.min(two));
        self.gaps = self.gaps.saturating_add(other.gaps);
        self.dropped = self.dropped.saturating_add(other.dropped);
        self.coalesced |= other.coalesced;
    }
}

impl AnalyticsQuery {
    /// Returns the response. `previous` is the report of [`AnalyticsQuery::previous_query`].
    pub fn render(&self, report: &Report, previous: Option<&Report>, context: &ReportContext) -> Response {
        match self.format() {
            Format::Json => Response::json(json::write(self, report, previous, context)),
            Format::Csv => csv::response(self, report, context),
        }
    }
}

#[cfg(test)]
mod tests;
