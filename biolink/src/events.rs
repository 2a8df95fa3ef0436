//! Events of bio-link pages: what visitors do, and how it gets from an isolate to the store of its
//! page.
//!
//! A request appends its [`Event`] to the isolate's buffer. The buffer becomes numbered batches, each
//! with one [`Segment`] per page. A batch goes to one object per page, which stores each segment once:
//! directly, or through a queue if that fails.

mod batch;
mod buffer;
mod bytes;
mod column;
mod event;
mod flood;
mod observe;
mod received;
mod seen;
mod segment;
mod store_breaker;

pub use batch::{Batch, PageDelivery, PageRows, Part, deliveries, retry_delay};
pub use buffer::{Buffer, Flush, WAIT_MS};
pub use bytes::{RowsError, SegmentError};
pub use column::{
    Codes, DictionaryColumn, KindColumn, TimeColumn, VisitorBytes, VisitorColumn, row_kind, visitor_of,
};
pub use event::{Dimension, Event, EventKind, Values};
pub use flood::Flood;
pub use observe::{Occurrence, Request, is_own_visit, observe};
pub use received::Received;
pub use seen::{SeenToken, Seer};
pub use segment::{Columns, Origin, Segment};
pub use store_breaker::StoreBreaker;
