//! The bytes that a stored event takes.

use biolink::{events::Columns, stats::MAX_ROWS};
use shared::time::UtcDay;

use crate::realistic;

/// Returns the bytes of a row's columns by events.
#[allow(clippy::cast_precision_loss, reason = "the numbers of a test are small")]
fn bytes_per_event(rows: usize) -> f64 {
    let Columns { time, kind, visitor, dimensions } = realistic::segment(UtcDay(20_779), rows).encode();
    let bytes: usize = [&time, &kind, &visitor].into_iter().chain(&dimensions).map(Vec::len).sum();
    bytes as f64 / rows as f64
}

/// Six of them are the visitor, and a half or one is each dimension that has several values.
#[test]
fn stored_event_takes_at_most_20_bytes() {
    let bytes = bytes_per_event(MAX_ROWS);
    assert!(bytes <= 20.0, "{bytes}");
    assert!(bytes >= 14.0, "{bytes}: the events are too much alike to say anything");
}

/// Its dictionaries are shared by fewer events.
#[test]
fn event_of_a_quiet_day_takes_at_most_60_bytes() {
    let bytes = bytes_per_event(100);
    assert!(bytes <= 60.0, "{bytes}");
}
