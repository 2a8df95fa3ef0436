//! Reports of refunds and debts.

use shared::{
    meter::{Batch, Meter, MeterRequest},
    tier::Tier,
};

use crate::{MIDNIGHT, NOON, batch, record, request, send, snapshot};

#[test]
fn batch_is_taken_once_and_acknowledged_every_time() {
    let mut meter = Meter::default();
    for seq in 0..8 {
        send(
            &mut meter,
            &MeterRequest { record: Some(record(Tier::Free, 1)), ..request(Tier::Free, 1, seq) },
            NOON,
        );
    }
    for seq in 10..13 {
        let next = MeterRequest { want: false, batch: Some(batch(1, 3)), ..request(Tier::Free, 1, seq) };
        assert_eq!(send(&mut meter, &next, NOON).batch, 1);
    }
    let snapshot = snapshot(&meter, Tier::Free, NOON);
    assert_eq!((snapshot.minute_used, snapshot.day_used), (8, 5));
    assert_eq!(snapshot.tally.by_status.get(&503), Some(&3));
}

#[test]
fn batch_of_an_untracked_holder_counts_debts_and_no_refunds() {
    let mut meter = Meter::default();
    for seq in 0..8 {
        send(
            &mut meter,
            &MeterRequest { record: Some(record(Tier::Free, 1)), ..request(Tier::Free, 1, seq) },
            NOON,
        );
    }
    for holder in 0..200 {
        let next = MeterRequest { want: false, batch: Some(batch(1, 0)), ..request(Tier::Free, holder, 9) };
        send(&mut meter, &next, NOON);
    }
    let surplus = Batch { debts: 1, ..batch(1, 2) };
    for seq in 0..2 {
        let next =
            MeterRequest { want: false, batch: Some(surplus.clone()), ..request(Tier::Free, 500, seq) };
        assert_eq!(send(&mut meter, &next, NOON).batch, 1);
    }
    assert_eq!(snapshot(&meter, Tier::Free, NOON).day_used, 10);
}

#[test]
fn refund_of_yesterday_changes_nothing_today() {
    let mut meter = Meter::default();
    let today = MIDNIGHT.plus(1_000);
    for seq in 0..5 {
        send(
            &mut meter,
            &MeterRequest { record: Some(record(Tier::Free, 1)), ..request(Tier::Free, 1, seq) },
            today,
        );
    }
    let next = MeterRequest { want: false, batch: Some(batch(1, 3)), ..request(Tier::Free, 1, 9) };
    send(&mut meter, &next, today);
    assert_eq!(snapshot(&meter, Tier::Free, today).day_used, 5);
}
