//! Changes of a key, and the records that its requests carry.

use serde_json::json;
use shared::key::{BiolinkPlan, KeyError, KeyRecord, KeyStatus};
use shared::meter::{AdminAttempt, Change, ChangeOutcome, Message, Meter, MeterRequest, Reply, Verdict};
use shared::policy::LimitOverrides;
use shared::quota::Decision;
use shared::tier::Tier;
use shared::time::UnixMillis;

use crate::{
    MIDNIGHT, NOON, change, key, key_with, parse, patch, record, request, restarted, send, snapshot,
};

#[test]
fn key_without_a_stored_record_works_while_young() {
    let mut meter = Meter::default();
    let response =
        send(&mut meter, &MeterRequest { rate: 10_000, ..request(Tier::Pro, 1, 1) }, NOON.plus(1_000));
    assert_eq!((response.verdict, response.lease.is_some()), (Verdict::Allow, true));
    // Without the record its holder could not spend the lease.
    assert_eq!(response.record.map(|record| record.version), Some(0));
    assert_eq!(meter.unstored(), None, "a provisional record is not written over the stored one");
    let late = send(&mut Meter::default(), &request(Tier::Pro, 1, 1), NOON.plus(3_600_001));
    assert_eq!(late.verdict, Verdict::Refuse(KeyError::Invalid));
}

#[test]
fn other_secret_of_a_young_key_is_refused() {
    let mut meter = Meter::default();
    send(&mut meter, &request(Tier::Free, 1, 1), NOON);
    let forged = MeterRequest { key: key_with(Tier::Free, NOON, 2), ..request(Tier::Free, 1, 2) };
    assert_eq!(send(&mut meter, &forged, NOON).verdict, Verdict::Refuse(KeyError::Invalid));
}

#[test]
fn newer_record_is_adopted_and_an_older_one_is_not() {
    let mut meter = Meter::default();
    send(&mut meter, &request(Tier::Free, 1, 1), NOON);
    for (version, tier, shown) in
        [(2, Tier::Pro, 100), (1, Tier::Enterprise, 100), (3, Tier::Enterprise, 500)]
    {
        let seq = u32::try_from(version).unwrap() + 5;
        let stored = KeyRecord { tier, ..record(Tier::Free, version) };
        let next = MeterRequest { version, record: Some(stored), ..request(Tier::Free, 1, seq) };
        assert_eq!(send(&mut meter, &next, NOON).quota.unwrap().minute.limit, shown);
    }
    assert_eq!(meter.unstored(), None, "what a store showed is stored");
}

#[test]
fn response_has_the_record_if_the_request_has_an_older_one() {
    let mut meter = Meter::default();
    send(
        &mut meter,
        &MeterRequest { record: Some(record(Tier::Free, 4)), ..request(Tier::Free, 1, 1) },
        NOON,
    );
    let older = send(&mut meter, &MeterRequest { version: 3, ..request(Tier::Free, 2, 1) }, NOON);
    assert_eq!(older.record.map(|record| record.version), Some(4));
    let same = send(&mut meter, &MeterRequest { version: 4, ..request(Tier::Free, 2, 2) }, NOON);
    assert_eq!((same.record, same.version), (None, 4));
}

#[test]
fn patch_changes_what_it_names_and_null_is_not_absence() {
    let ends = UnixMillis(NOON.0 + 50_000);
    let mut stored = record(Tier::Free, 1);
    stored.expires_at = Some(ends);
    let cases = [
        (json!({"patch": {"tier": "pro"}}), KeyRecord { tier: Tier::Pro, ..stored.clone() }),
        (json!({"patch": {"expires_at": null}}), KeyRecord { expires_at: None, ..stored.clone() }),
        (json!({"patch": {"disabled": true}}), KeyRecord { status: KeyStatus::Disabled, ..stored.clone() }),
        (
            json!({"patch": {"biolink_plan": "business"}}),
            KeyRecord { biolink_plan: BiolinkPlan::Business, ..stored.clone() },
        ),
        (
            json!({"patch": {"limits": {"minute": 7}}}),
            KeyRecord {
                limits: LimitOverrides { minute: 7.try_into().ok(), ..LimitOverrides::NONE },
                ..stored.clone()
            },
        ),
    ];
    for (text, expected) in cases {
        let mut meter = Meter::default();
        let changed = change(&mut meter, Some(stored.clone()), parse(&text), NOON);
        assert_eq!(changed, ChangeOutcome::Done(KeyRecord { version: 2, ..expected }), "{text}");
        assert_eq!(meter.unstored().map(|record| record.version), Some(2));
        meter.handle(Message::Stored { version: 2 }, NOON);
        assert_eq!(restarted(&meter).unstored(), None);
    }
    let unchanged = change(&mut Meter::default(), Some(stored.clone()), parse(&patch()), NOON);
    assert_eq!(unchanged, ChangeOutcome::Done(stored), "nothing named, nothing written");
}

#[test]
fn change_reads_back_from_its_text() {
    for text in [
        patch(),
        json!({"patch": {"expires_at": null}}),
        json!({"patch": {"expires_at": 5, "disabled": false, "tier": "enterprise"}}),
        json!("revoke"),
        json!("none"),
    ] {
        assert_eq!(serde_json::to_value(parse(&text)).unwrap(), text);
    }
}

#[test]
fn revoked_key_is_refused_and_stays_revoked() {
    let mut meter = Meter::default();
    let stored = Some(record(Tier::Free, 1));
    let sent = MeterRequest { record: stored.clone(), ..request(Tier::Free, 1, 1) };
    send(&mut meter, &sent, NOON);
    change(&mut meter, stored, Change::Revoke, NOON.plus(1));
    for seq in 1..3 {
        // Sequence number 1 again: even a response given before is not repeated.
        let verdict = send(&mut meter, &request(Tier::Free, 1, seq), NOON.plus(2)).verdict;
        assert_eq!(verdict, Verdict::Refuse(KeyError::Revoked));
    }
    assert_eq!(
        change(&mut meter, None, parse(&json!({"patch": {"disabled": false}})), NOON),
        ChangeOutcome::Revoked
    );
    assert_eq!(change(&mut meter, None, Change::Revoke, NOON), ChangeOutcome::Revoked);
}

#[test]
fn key_without_a_stored_record_can_be_revoked_but_not_changed() {
    let mut meter = Meter::default();
    assert_eq!(change(&mut meter, None, Change::Revoke, NOON), ChangeOutcome::Unknown);
    send(&mut meter, &request(Tier::Free, 1, 1), NOON);
    assert_eq!(
        change(&mut meter, None, parse(&json!({"patch": {"tier": "pro"}})), NOON),
        ChangeOutcome::Unknown
    );
    let ChangeOutcome::Done(ended) = change(&mut meter, None, Change::Revoke, NOON) else {
        panic!("not revoked")
    };
    assert_eq!(ended.version, 2, "above the version that issuing wrote");
    let stored = MeterRequest { record: Some(record(Tier::Free, 1)), ..request(Tier::Free, 1, 2) };
    assert_eq!(send(&mut meter, &stored, NOON).verdict, Verdict::Refuse(KeyError::Revoked));
}

#[test]
fn rotation_keeps_usage_and_grace_when_repeated() {
    let mut meter = Meter::default();
    let old = request(Tier::Free, 1, 1);
    send(&mut meter, &MeterRequest { record: Some(record(Tier::Free, 1)), ..old.clone() }, NOON);
    let fresh = key_with(Tier::Free, NOON, 2);
    let rotate = Change::Rotate { secret: fresh.secret, grace_ms: 60_000 };
    let once = change(&mut meter, None, rotate.clone(), NOON);
    assert_eq!(change(&mut meter, None, rotate, NOON.plus(500)), once);
    let verdict = |meter: &mut Meter, key, seq, at| {
        send(meter, &MeterRequest { key, ..request(Tier::Free, 1, seq) }, NOON.plus(at)).verdict
    };
    assert_eq!(verdict(&mut meter, old.key, 2, 59_999), Verdict::Allow);
    assert_eq!(verdict(&mut meter, fresh, 3, 59_999), Verdict::Allow);
    assert_eq!(verdict(&mut meter, old.key, 4, 60_000), Verdict::Refuse(KeyError::Invalid));
    assert_eq!(snapshot(&meter, Tier::Free, NOON.plus(60_000)).day_used, 3);
}

#[test]
fn holder_changes_its_key_with_the_secret_in_use_only() {
    let mut meter = Meter::default();
    let (old, fresh) = (key(Tier::Free), key_with(Tier::Free, NOON, 2));
    let mut by = |key, change, at| {
        let message = Message::Change { record: Some(record(Tier::Free, 1)), by: Some(key), change };
        match meter.handle(message, NOON.plus(at)) {
            Reply::Change(outcome) => outcome,
            other => panic!("{other:?}"),
        }
    };
    let rotate = |secret, grace_ms| Change::Rotate { secret, grace_ms };
    let ChangeOutcome::Done(rotated) = by(old, rotate(fresh.secret, 60_000), 0) else {
        panic!("not rotated")
    };
    assert_eq!(rotated.former.map(|former| former.until), Some(NOON.plus(60_000)));
    assert_eq!(by(old, Change::None, 59_999), ChangeOutcome::Superseded);
    assert_eq!(by(old, Change::None, 60_000), ChangeOutcome::Refused(KeyError::Invalid));
    let ChangeOutcome::Done(again) = by(fresh, rotate(old.secret, 0), 60_000) else { panic!("not rotated") };
    assert_eq!((again.former, again.version), (None, 3), "no grace");
}

/// A call that was counted before the change is not counted again by its retry.
#[test]
fn change_forgets_denials_and_no_counted_call() {
    let mut meter = Meter::default();
    for seq in 1..=11 {
        let sent = MeterRequest { record: Some(record(Tier::Free, 1)), ..request(Tier::Free, 1, seq) };
        assert_eq!(send(&mut meter, &sent, NOON).verdict == Verdict::Allow, seq <= 10);
    }
    change(&mut meter, None, parse(&json!({"patch": {"tier": "pro"}})), NOON);
    for (seq, day) in [(10, 10), (11, 11)] {
        assert_eq!(send(&mut meter, &request(Tier::Free, 1, seq), NOON).verdict, Verdict::Allow);
        assert_eq!(snapshot(&meter, Tier::Free, NOON).day_used, day);
    }
}

#[test]
fn administrator_sees_a_key_whatever_its_state() {
    let mut meter = Meter::default();
    let mut show = |record| meter.handle(Message::Show { record }, NOON);
    assert_eq!(show(None), Reply::Show(None));
    let revoked = KeyRecord { status: KeyStatus::Revoked { at: NOON }, ..record(Tier::Pro, 2) };
    let Reply::Show(Some(snapshot)) = show(Some(revoked.clone())) else { panic!("not shown") };
    assert_eq!((snapshot.record, snapshot.response.version), (Some(revoked), 2));
    assert_eq!((snapshot.response.day, snapshot.response.quota.is_some()), (NOON.day(), true));
}

#[test]
fn state_without_a_record_expires_with_what_it_counts() {
    let mut meter = Meter::default();
    assert_eq!(meter.expires_in(NOON), Some(0));
    meter.handle(Message::Attempt(AdminAttempt::Wrong), NOON);
    let lasts_ms = meter.expires_in(NOON).unwrap();
    assert_eq!(NOON.plus(lasts_ms), MIDNIGHT, "its day");
    assert_eq!(meter.expires_in(NOON.plus(lasts_ms - 1)), Some(1));
    assert_eq!(meter.expires_in(NOON.plus(lasts_ms)), Some(0));
    send(&mut meter, &request(Tier::Free, 1, 1), NOON);
    assert_eq!(meter.expires_in(NOON.plus(lasts_ms)), None, "a key's is kept");
}

#[test]
fn eleventh_wrong_admin_secret_in_a_minute_is_denied() {
    let mut meter = Meter::default();
    let begin = |meter: &mut Meter, at| meter.handle(Message::Attempt(AdminAttempt::Wrong), NOON.plus(at));
    for at in 0..10 {
        assert!(matches!(begin(&mut meter, at), Reply::Attempt(Decision::Allow(_))));
    }
    assert!(matches!(begin(&mut restarted(&meter), 10), Reply::Attempt(Decision::Deny(..))));
    assert!(matches!(begin(&mut meter, 61_000), Reply::Attempt(Decision::Allow(_))));
}

#[test]
fn right_admin_secret_resets_the_attempts_of_its_address() {
    let mut meter = Meter::default();
    for _ in 0..9 {
        meter.handle(Message::Attempt(AdminAttempt::Wrong), NOON);
    }
    for _ in 0..20 {
        let right = meter.handle(Message::Attempt(AdminAttempt::Right), NOON);
        assert!(
            matches!(right, Reply::Attempt(Decision::Allow(_))),
            "any number of right ones may come at once"
        );
    }
    let next = meter.handle(Message::Attempt(AdminAttempt::Wrong), NOON);
    assert!(matches!(next, Reply::Attempt(Decision::Allow(_))));
}

#[test]
fn erasing_the_holder_of_a_revoked_key_changes_nothing_else() {
    let patch = |tier, holder| Change::Patch {
        tier,
        limits: None,
        limits_kept: Vec::new(),
        expires_at: None,
        disabled: None,
        biolink_plan: None,
        when_meter_unreachable: None,
        holder,
    };
    let holder = shared::key::KeyHolder { email: "ada@example.com".to_owned(), name: "Ada".to_owned() };
    let stored = KeyRecord {
        version: 1,
        holder: Some(holder.clone()),
        status: KeyStatus::Revoked { at: NOON },
        ..KeyRecord::provisional(&key(Tier::Free))
    };
    let mut meter = Meter::default();
    let mut change = |change| match meter
        .handle(Message::Change { record: Some(stored.clone()), by: None, change }, NOON)
    {
        Reply::Change(outcome) => outcome,
        other => panic!("{other:?}"),
    };
    assert_eq!(change(patch(Some(Tier::Pro), Some(None))), ChangeOutcome::Revoked);
    let erased = KeyRecord { version: 2, holder: None, ..stored.clone() };
    assert_eq!(change(patch(None, Some(None))), ChangeOutcome::Done(erased));
    let corrected = KeyRecord { version: 3, ..stored.clone() };
    assert_eq!(change(patch(None, Some(Some(holder)))), ChangeOutcome::Done(corrected));
}
