//! Analytics of bio-link pages: reads the events of [`crate::events`] and reports them.
//!
//! 1. [`AnalyticsRequest::parse`] reads the query of a client.
//! 2. The shell finds the offsets of its time zone ([`Zone::build`]), and
//!    [`AnalyticsRequest::resolve`] makes an [`AnalyticsQuery`].
//! 3. The store of each page gets the [`PageQuery`] and counts with a [`PageCounter`].
//! 4. [`Report::merge`] adds the pages up, and [`AnalyticsQuery::render`] writes the response.

mod distinct;
mod filter;
mod granularity;
mod group;
mod group_counter;
mod live;
mod metric;
mod page_counter;
mod page_query;
mod parameter_error;
mod period;
mod query;
mod render;
mod report;
mod request;
mod rows;
mod tally;
mod values;
mod zone;

pub use filter::Filter;
pub use group::GroupBy;
pub use live::LiveRequest;
pub use metric::Metric;
pub use page_counter::PageCounter;
pub use page_query::{MAX_ROWS, NeededColumns, PageQuery};
pub use query::AnalyticsQuery;
pub use render::{Completeness, EventCounts, Labels, LinkLabel, PageLabel, ReportContext};
pub use report::{PageReport, Report};
pub use request::{AnalyticsRequest, Format};
pub use rows::SegmentColumns;
pub use tally::Tally;
pub use zone::Zone;
