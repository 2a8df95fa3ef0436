#![no_main]

use jiff::Timestamp;
use libfuzzer_sys::fuzz_target;
use shared::time::UnixMillis;

fuzz_target!(|text: &str| check(text));

/// Oracle: jiff. A time that we read is the moment that it reads, and what we print of it reads back, in
/// each format.
fn check(text: &str) {
    // jiff leaves out the last days of the year 9999, which an offset could move out of it, and reads
    // nine digits of a fraction.
    let is_read = |ours: &UnixMillis| ours.0 < 253_402_000_000_000 && fraction(text) <= 9;
    if let Some(ours) = UnixMillis::from_rfc3339(text).filter(is_read) {
        // A leap second is the second before or after it.
        let theirs: Timestamp = text.parse().unwrap_or_else(|error| panic!("{text:?}: {error}"));
        assert!(text.contains(":60") || u64::try_from(theirs.as_millisecond()) == Ok(ours.0), "{text:?}");
        assert_eq!(UnixMillis::from_rfc3339(&ours.to_rfc3339_ms()), Some(ours), "{text:?}");
        assert_eq!(UnixMillis::from_rfc3339(&ours.to_rfc3339()), Some(ours), "{text:?}");
    }
    if let Some(ours) = UnixMillis::from_http_date(text) {
        assert_eq!(UnixMillis::from_http_date(&ours.to_http_date()), Some(ours), "{text:?}");
    }
}

/// Returns how many digits stand after the point.
fn fraction(text: &str) -> usize {
    let digits = |rest: &str| rest.bytes().take_while(u8::is_ascii_digit).count();
    text.split_once('.').map_or(0, |(_, rest)| digits(rest))
}
