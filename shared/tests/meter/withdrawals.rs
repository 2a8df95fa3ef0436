//! Calls that are taken back: once, from the window and the day in which they were counted.

use shared::meter::{Meter, MeterRequest, Verdict};
use shared::tier::Tier;
use shared::time::UnixMillis;
use shared::tool::Tool;

use crate::{MIDNIGHT, NOON, record, request, restarted, send, snapshot};

/// Returns the request of a call that has `within_ms` to be let through.
fn call(seq: u32, within_ms: u64) -> MeterRequest {
    let record = Some(record(Tier::Free, 1));
    MeterRequest {
        tool: Some(Tool::Qr.label()),
        admit_within_ms: within_ms,
        record,
        ..request(Tier::Free, 1, seq)
    }
}

/// Returns a request that wants nothing and takes these calls back.
fn withdrawal(seq: u32, withdrawn: &[u32]) -> MeterRequest {
    MeterRequest { want: false, withdrawn: withdrawn.to_vec(), ..request(Tier::Free, 1, seq) }
}

/// Returns the calls of the minute, of the day, and of the tool today.
fn counts(meter: &Meter, now: UnixMillis) -> (u32, u32, u32) {
    let snapshot = snapshot(meter, Tier::Free, now);
    let tallied = snapshot.tally.by_tool.get(&Tool::Qr.label()).copied().unwrap_or_default();
    assert_eq!(snapshot.tally.by_status.get(&200).copied().unwrap_or_default(), tallied);
    (snapshot.minute_used, snapshot.day_used, tallied)
}

/// A second copy of its request must not let it through.
#[test]
fn withdrawn_call_is_not_admitted_by_a_retry() {
    let mut meter = Meter::default();
    send(&mut meter, &call(1, 300), NOON);
    send(&mut meter, &withdrawal(2, &[1]), NOON);
    let retry = MeterRequest { retry: true, ..call(1, 5_000) };
    assert_eq!(send(&mut meter, &retry, NOON).verdict, Verdict::Noted);
    assert_eq!(counts(&meter, NOON), (0, 0, 0));
}

#[test]
fn call_withdrawn_after_midnight_leaves_the_new_day_alone() {
    for seqs in [[1, 2], [2, 1]] {
        let mut meter = Meter::default();
        let late = MIDNIGHT.minus(100);
        let mut now = late;
        for seq in seqs {
            assert_eq!(send(&mut meter, &call(seq, 300), now).verdict, Verdict::Allow);
            now = MIDNIGHT.plus(1_000);
        }
        let [yesterday, today] = seqs;
        assert_eq!(counts(&meter, now), (2, 1, 1));
        send(&mut meter, &withdrawal(3, &[yesterday]), now.plus(1_000));
        assert_eq!(counts(&meter, now.plus(1_000)), (1, 1, 1), "yesterday is closed");
        send(&mut meter, &withdrawal(4, &[today]), now.plus(2_000));
        assert_eq!(counts(&meter, now.plus(2_000)), (0, 0, 0));
    }
}

/// A call is taken back once, however late the second withdrawal is: before and after the meter has
/// forgotten the first one.
#[test]
fn call_withdrawn_twice_is_taken_back_once() {
    for (first, second) in [(1, 2), (1, 64_999), (1, 65_000), (1, 66_000), (64_999, 65_000), (1, 130_000)] {
        let mut meter = Meter::default();
        for seq in [1, 2] {
            send(&mut meter, &call(seq, 300), NOON);
        }
        send(&mut meter, &withdrawal(3, &[1, 1]), NOON.plus(first));
        assert_eq!(counts(&meter, NOON.plus(first)).1, 1, "{first}");
        send(&mut meter, &withdrawal(4, &[1]), NOON.plus(second));
        let (_, day, tallied) = counts(&meter, NOON.plus(second));
        assert_eq!((day, tallied), (1, 1), "{first} {second}");
    }
}

#[test]
fn withdrawal_before_its_call_holds_for_65_seconds() {
    for (after_ms, counted) in [(0, 0), (5_000, 0), (64_999, 0), (65_000, 1)] {
        let mut meter = Meter::default();
        send(&mut meter, &withdrawal(2, &[1]), NOON);
        let now = NOON.plus(after_ms);
        let verdict = send(&mut meter, &call(1, 300), now).verdict;
        assert_eq!(verdict == Verdict::Allow, counted == 1, "{after_ms}");
        assert_eq!(counts(&meter, now), (counted, counted, counted), "{after_ms}");
    }
}

/// It is counted where it may be let through, and found there again.
#[test]
fn call_with_a_longer_time_is_taken_back_where_it_is_counted() {
    for retried in [false, true] {
        let mut meter = Meter::default();
        send(&mut meter, &call(1, if retried { 300 } else { 9_300 }), NOON);
        if retried {
            send(&mut meter, &MeterRequest { retry: true, ..call(1, 9_300) }, NOON.plus(200));
        }
        meter = restarted(&meter);
        // The window of the first moment is over: the call is counted nine seconds later.
        assert_eq!(counts(&meter, NOON.plus(60_550)).0, 1, "retried: {retried}");
        assert_eq!(counts(&meter, NOON.plus(69_549)).0, 1, "retried: {retried}");
        assert_eq!(counts(&meter, NOON.plus(69_550)).0, 0, "retried: {retried}");
        send(&mut meter, &withdrawal(2, &[1]), NOON.plus(1_000));
        assert_eq!(counts(&meter, NOON.plus(1_000)), (0, 0, 0), "retried: {retried}");
    }
}

#[test]
fn request_withdraws_64_calls_at_most() {
    let mut meter = Meter::default();
    send(&mut meter, &call(100, 300), NOON);
    let many: Vec<u32> = (0..64).chain([100]).collect();
    send(&mut meter, &withdrawal(101, &many), NOON);
    assert_eq!(counts(&meter, NOON), (1, 1, 1), "the 65th is left out");
}
