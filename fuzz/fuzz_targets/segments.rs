#![no_main]

use biolink::events::Segment;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| check(bytes));

/// Oracle: the round trip. What is read of any bytes has no more rows than bytes, and what is written of
/// it reads back as the same. Two of it have the events twice.
fn check(bytes: &[u8]) {
    let Ok(segment) = Segment::from_bytes(bytes) else { return };
    assert!(segment.rows() <= bytes.len());
    let written = segment.to_bytes();
    let again = Segment::from_bytes(&written).unwrap_or_else(|error| panic!("{error}: {written:02x?}"));
    let events: Vec<_> = segment.events().collect();
    assert_eq!(again.events().collect::<Vec<_>>(), events);
    assert_eq!((again.day(), again.rows(), again.span()), (segment.day(), segment.rows(), segment.span()));
    assert_eq!(again.to_bytes(), written);
    let mut twice = segment.clone();
    twice.append(&segment);
    assert_eq!(twice.events().count(), 2 * events.len());
}
