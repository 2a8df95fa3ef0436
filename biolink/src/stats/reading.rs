//! What a reader asks a page's store, and gets.

use serde::{Deserialize, Serialize};
use shared::time::UnixMillis;

use crate::analytics::{Completeness, EventCounts, PageQuery, PageReport};

/// Time after which an event is counted, in milliseconds. If its store takes it, that is after a
/// second. Otherwise an isolate keeps it for a second and waits for the store for two, and the queue
/// keeps it for five.
pub const COUNTED_AFTER_MS: u64 = 10_000;

/// A question about a page.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReadRequest {
    /// The question.
    pub query: PageQuery,
    /// The same about the previous period.
    pub previous: Option<PageQuery>,
}

/// The reply.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[allow(clippy::large_enum_variant, reason = "a reply lives for one call and is never kept in bulk")]
pub enum ReadReply {
    /// There are too many events. This is the earliest start that would be answered.
    TooWide(UnixMillis),
    /// The counts.
    Counted(PageReading),
}

/// The counts of a page.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PageReading {
    /// The report.
    pub report: PageReport,
    /// The report about the previous period.
    pub previous: Option<PageReport>,
    /// Their completeness.
    pub delivery: Completeness,
    /// The counts of all times.
    pub lifetime: EventCounts,
}
