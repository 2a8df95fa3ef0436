//! Leases: what a meter lends, and what comes back.

use std::num::NonZeroU32;

use shared::key::{KeyError, KeyRecord};
use shared::meter::{LeaseReport, Meter, MeterRequest, TTL_MS, Verdict};
use shared::policy::LimitOverrides;
use shared::tier::Tier;

use crate::{MIDNIGHT, NOON, record, request, restarted, send, snapshot};

#[test]
fn retried_request_gets_the_same_response_and_counts_once() {
    let mut meter = Meter::default();
    let sent = MeterRequest { rate: 10_000, record: Some(record(Tier::Pro, 1)), ..request(Tier::Pro, 1, 1) };
    let first = send(&mut meter, &sent, NOON);
    let again = send(&mut restarted(&meter), &sent, NOON.plus(150));
    assert_eq!((first.verdict, first.lease.is_some()), (Verdict::Allow, true));
    assert_eq!((again.verdict, again.lease, again.day), (first.verdict, first.lease, first.day));
    send(&mut meter, &sent, NOON.plus(150));
    assert_eq!(snapshot(&meter, Tier::Pro, NOON).minute_used, 1);
}

#[test]
fn refusal_is_not_cached_for_a_retry_with_the_record() {
    let mut meter = Meter::default();
    let late = NOON.plus(3_600_001);
    assert_eq!(send(&mut meter, &request(Tier::Pro, 1, 1), late).verdict, Verdict::Refuse(KeyError::Invalid));
    let shown = MeterRequest { record: Some(record(Tier::Pro, 1)), ..request(Tier::Pro, 1, 1) };
    assert_eq!(send(&mut meter, &shown, late).verdict, Verdict::Allow);
}

#[test]
fn cached_response_expires() {
    let mut meter = Meter::default();
    let sent = MeterRequest { record: Some(record(Tier::Free, 1)), ..request(Tier::Free, 1, 1) };
    send(&mut meter, &sent, NOON);
    send(&mut meter, &sent, NOON.plus(64_999));
    assert_eq!(snapshot(&meter, Tier::Free, NOON.plus(64_999)).day_used, 1);
    send(&mut meter, &sent, NOON.plus(65_000));
    assert_eq!(snapshot(&meter, Tier::Free, NOON.plus(65_000)).day_used, 2);
}

#[test]
fn retried_background_request_gets_the_same_lease() {
    let mut meter = Meter::default();
    send(&mut meter, &MeterRequest { record: Some(record(Tier::Pro, 1)), ..request(Tier::Pro, 9, 1) }, NOON);
    let sent = MeterRequest { want: false, rate: 10_000, ..request(Tier::Pro, 1, 1) };
    let first = send(&mut meter, &sent, NOON);
    assert!(first.lease.is_some());
    assert_eq!(send(&mut meter, &sent, NOON.plus(150)).lease, first.lease);
}

#[test]
fn free_key_gets_no_lease() {
    let mut meter = Meter::default();
    let sent =
        MeterRequest { rate: 60_000, record: Some(record(Tier::Free, 1)), ..request(Tier::Free, 1, 1) };
    assert_eq!(send(&mut meter, &sent, NOON).lease, None);
}

#[test]
fn unreported_lease_counts_as_spent_at_its_end() {
    let mut meter = Meter::default();
    let sent = MeterRequest { rate: 10_000, record: Some(record(Tier::Pro, 1)), ..request(Tier::Pro, 1, 1) };
    let calls = send(&mut meter, &sent, NOON).lease.unwrap().calls;
    let before = snapshot(&meter, Tier::Pro, NOON.plus(TTL_MS - 1));
    assert_eq!((before.minute_used, before.reserved), (1, calls));
    let after = snapshot(&meter, Tier::Pro, NOON.plus(TTL_MS));
    assert_eq!((after.minute_used, after.reserved), (1 + calls, 0));
}

#[test]
fn closed_lease_returns_its_unspent_calls() {
    let mut meter = Meter::default();
    let sent = MeterRequest { rate: 10_000, record: Some(record(Tier::Pro, 1)), ..request(Tier::Pro, 1, 1) };
    let terms = send(&mut meter, &sent, NOON).lease.unwrap();
    let report = LeaseReport { lease: terms.id, spent: vec![(3, 2)], closed: true };
    let next = MeterRequest { want: false, reports: vec![report], ..request(Tier::Pro, 1, 2) };
    send(&mut meter, &next, NOON.plus(1_500));
    let snapshot = snapshot(&meter, Tier::Pro, NOON.plus(1_500));
    assert_eq!((snapshot.minute_used, snapshot.reserved), (3, 0));
}

#[test]
fn lease_never_outlasts_its_day() {
    for (before, ttl) in [(30_000, Some(TTL_MS)), (5_000, Some(5_000)), (1_500, None)] {
        let mut meter = Meter::default();
        let stored = Some(record(Tier::Pro, 1));
        let sent = MeterRequest { rate: 10_000, record: stored, ..request(Tier::Pro, 1, 1) };
        let lease = send(&mut meter, &sent, MIDNIGHT.minus(before)).lease;
        assert_eq!(lease.map(|terms| terms.ttl_ms), ttl);
    }
}

/// Asks for a lease in a minute of `limit` calls, and returns its size.
fn lend(meter: &mut Meter, limit: u32, holder: u64, seq: u32, rate: u32) -> Option<u32> {
    let limits = LimitOverrides { minute: NonZeroU32::new(limit), ..LimitOverrides::NONE };
    let record = Some(KeyRecord { limits, ..record(Tier::Pro, 1) });
    let sent = MeterRequest { want: false, rate, record, ..request(Tier::Pro, holder, seq) };
    send(meter, &sent, NOON).lease.map(|terms| terms.calls)
}

/// What is used in ten seconds, its root and one more, less what the cache has of other leases.
#[test]
fn lease_is_what_the_cache_uses_until_its_end() {
    for (rate, first, second) in [(0, None, None), (1, Some(3), Some(2)), (10_000, Some(111), Some(11))] {
        let mut meter = Meter::default();
        assert_eq!(lend(&mut meter, 1_000, 1, 1, rate), first, "{rate}");
        assert_eq!(lend(&mut meter, 1_000, 1, 2, rate), second, "{rate}");
        assert_eq!(lend(&mut meter, 1_000, 2, 1, rate), first, "{rate}: another cache has none");
    }
}

#[test]
fn lease_is_a_share_of_what_is_free_and_two_at_least() {
    for (limit, leases) in
        [(3, [None, None, None]), (4, [Some(2), None, None]), (800, [Some(400), Some(100), Some(50)])]
    {
        let mut meter = Meter::default();
        let lent = [1, 2, 3].map(|holder| lend(&mut meter, limit, holder, 1, 1_000_000));
        assert_eq!(lent, leases, "{limit}");
    }
}

#[test]
fn retried_denial_names_the_same_moments() {
    let mut meter = Meter::default();
    let record = Some(record(Tier::Pro, 1));
    let sent = MeterRequest { rate: 60_000, record, ..request(Tier::Pro, 1, 1) };
    assert!(send(&mut meter, &sent, NOON).lease.is_some());
    let denied = (2..200).map(|seq| (seq, send(&mut meter, &request(Tier::Pro, 2, seq), NOON)));
    let (seq, first) = denied.into_iter().find(|(_, response)| response.verdict != Verdict::Allow).unwrap();
    assert_eq!(first.recheck_ms, Some(TTL_MS));
    let again = send(&mut meter, &request(Tier::Pro, 2, seq), NOON.plus(100));
    assert_eq!((again.verdict, again.recheck_ms), (first.verdict, first.recheck_ms));
    assert!(again.quota.is_some());
}
