//! The store of one page's events: what it does with what it receives, and for how long it keeps it.
//!
//! A store is one object at the edge. It has rows, each with the events of one UTC day in columns.
//! What is received is added to the last row of its day until that is full, so that each message
//! costs one written row, and no row is ever copied or merged later.

mod addition;
mod attribution;
mod message;
mod outbox;
mod reading;
mod salt;

pub use addition::{MAX_ROWS, Row, additions};
pub use attribution::Origins;
pub use message::{KNOWN_DAYS, Settings, StatsMessage, event_line, kept_from};
pub use outbox::{MAX_OUTBOX, OUTBOX_ROWS_PER_MESSAGE, OutboxRow, outbox_texts};
pub use reading::{COUNTED_AFTER_MS, PageReading, ReadReply, ReadRequest};
pub use salt::{SALT_GRACE_MS, SaltRequest};
