//! The shares of the local budget: when they change, and when they are given to others.

use shared::meter::{HeldShare, Meter, MeterRequest};
use shared::tier::Tier;
use shared::time::UnixMillis;

use crate::{NOON, record, request, send};

/// Returns the share of a cache that says it has heard the share of request `heard`. The key's budget
/// is 25 calls.
fn share(meter: &mut Meter, holder: u64, seq: u32, heard: u32, now: UnixMillis) -> Option<u32> {
    let (budget, record) = (HeldShare { heard, calls: 13 }, Some(record(Tier::Pro, 1)));
    let budget = if heard == 0 { HeldShare::default() } else { budget };
    send(meter, &MeterRequest { want: false, budget, record, ..request(Tier::Pro, holder, seq) }, now).budget
}

#[test]
fn share_changes_only_once_the_one_before_was_heard() {
    let mut meter = Meter::default();
    assert_eq!(share(&mut meter, 1, 1, 0, NOON), Some(13));
    assert_eq!(share(&mut meter, 1, 2, 1, NOON), Some(13), "half, with a part for the next cache");
    assert_eq!(share(&mut meter, 2, 1, 0, NOON), Some(9));
    assert_eq!(share(&mut meter, 1, 2, 1, NOON), Some(13), "a retry gets the same share");
    assert_eq!(share(&mut meter, 1, 3, 0, NOON), Some(13), "it has not heard of its share");
    assert_eq!(share(&mut meter, 1, 1, 1, NOON), None, "it was overtaken");
    assert_eq!(share(&mut meter, 1, 4, 1, NOON), Some(9));
}

/// Two caches come at 0, and the second one again at these seconds. The share of the first one is
/// given to others after ten and a half minutes, but not in the minute after an outage.
#[test]
fn share_of_a_silent_cache_is_given_to_others() {
    for (again_s, at_ms, is_given) in [
        (&[200, 400, 600][..], 630_000, false),
        (&[200, 400, 600], 630_001, true),
        // Silence of five minutes is no outage yet.
        (&[200, 500], 800_000, true),
        (&[200, 500], 800_001, false),
        (&[700], 700_000, false),
        (&[700], 759_999, false),
        (&[700], 760_000, true),
    ] {
        let mut meter = Meter::default();
        assert_eq!(share(&mut meter, 1, 1, 0, NOON), Some(13));
        assert_eq!(share(&mut meter, 2, 1, 0, NOON), Some(9));
        for (seq, second) in (2..).zip(again_s) {
            assert_eq!(share(&mut meter, 2, seq, 0, NOON.plus(second * 1_000)), Some(9));
        }
        let expected = if is_given { 9 } else { 3 };
        assert_eq!(share(&mut meter, 3, 1, 0, NOON.plus(at_ms)), Some(expected), "{again_s:?} {at_ms}");
    }
}
