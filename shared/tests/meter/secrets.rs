//! Named secrets: one key, one meter, and what each of them may do.

use proptest::prelude::*;
use shared::key::{
    ApiKey, Connection, KeyEnv, KeyError, KeyId, KeyRecord, NamedSecret, Scope, Scopes, SecretHash, SecretId,
    VerifiedKey,
};
use shared::meter::{
    Change, ChangeOutcome, Message, Meter, MeterRequest, Reply, SecretChange, SecretError, Verdict,
};
use shared::secret::MacKeys;
use shared::tier::Tier;
use shared::time::UnixMillis;
use shared::tool::Tool;

use crate::{NOON, key, record, request, restarted, send};

const QR: Scope = Scope::Tool(Tool::Qr.label());

/// Returns what verifying the text of a named secret says.
fn named_key(number: u8) -> VerifiedKey {
    let keys = MacKeys::parse("0123456789abcdef0123456789abcdef").unwrap();
    let id = key(Tier::Free).id;
    let (text, minted) = ApiKey::mint_named(KeyEnv::Live, id, Tier::Free, NOON, [number; 16], &keys);
    let verified = ApiKey::parse(&text.reveal()).unwrap().verify(&keys).unwrap();
    assert!(verified == minted && verified.is_named);
    verified
}

fn secret(number: u8, scopes: Scopes) -> NamedSecret {
    let (id, name, hash) = (SecretId::new([number; 8]), format!("s{number}"), SecretHash::of(&[number; 16]));
    NamedSecret { id, name, scopes, hash, former: None, created_at: NOON, expires_at: None, connection: None }
}

/// Returns the meter of a Free key that has a record.
fn meter() -> Meter {
    let mut meter = Meter::default();
    let first =
        MeterRequest { record: Some(record(Tier::Free, 1)), want: false, ..request(Tier::Free, 1, 1) };
    send(&mut meter, &first, NOON);
    meter
}

fn change(meter: &mut Meter, by: VerifiedKey, change: SecretChange, now: UnixMillis) -> ChangeOutcome {
    let message = Message::Change { record: None, by: Some(by), change: Change::Secret(change) };
    match meter.handle(message, now) {
        Reply::Change(outcome) => outcome,
        other => panic!("{other:?}"),
    }
}

fn add(meter: &mut Meter, number: u8, scopes: Scopes) -> ChangeOutcome {
    change(meter, key(Tier::Free), SecretChange::Add(secret(number, scopes)), NOON)
}

fn call(meter: &mut Meter, key: VerifiedKey, tool: Tool, seq: u32, now: UnixMillis) -> Verdict {
    let request = MeterRequest { key, tool: Some(tool.label()), version: 9, ..request(Tier::Free, 1, seq) };
    send(meter, &request, now).verdict
}

#[test]
fn secrets_of_a_key_share_its_quota() {
    let mut meter = meter();
    let mut callers = vec![key(Tier::Free)];
    for number in 2..12 {
        assert!(matches!(add(&mut meter, number, Scopes::ALL), ChangeOutcome::Done(_)));
        callers.push(named_key(number));
    }
    assert_eq!(add(&mut meter, 12, Scopes::ALL), ChangeOutcome::Secret(SecretError::TooMany));
    let mut meter = restarted(&meter);
    let verdicts: Vec<_> = (2..40)
        .zip(callers.iter().cycle())
        .map(|(seq, key)| call(&mut meter, *key, Tool::Qr, seq, NOON.plus(10)))
        .collect();
    assert_eq!(verdicts.iter().filter(|verdict| **verdict == Verdict::Allow).count(), 10);
}

#[test]
fn call_beyond_the_scopes_is_refused_and_not_counted() {
    let mut meter = meter();
    add(&mut meter, 2, Scopes::NONE.with(QR));
    let missing = Verdict::Refuse(KeyError::OutOfScope(Scope::Tool(Tool::Pdf.label())));
    for seq in 10..40 {
        assert_eq!(call(&mut meter, named_key(2), Tool::Pdf, seq, NOON), missing);
    }
    for seq in 40..50 {
        assert_eq!(call(&mut meter, named_key(2), Tool::Qr, seq, NOON), Verdict::Allow);
    }
    assert!(matches!(call(&mut meter, named_key(2), Tool::Qr, 50, NOON), Verdict::Deny(_)));
}

/// Its text alone proves nothing: a young key without a record is accepted, its named secrets are not.
#[test]
fn named_secret_needs_a_record_that_names_it() {
    assert_eq!(
        call(&mut Meter::default(), named_key(2), Tool::Qr, 1, NOON),
        Verdict::Refuse(KeyError::Invalid)
    );
    let mut meter = meter();
    assert_eq!(call(&mut meter, named_key(2), Tool::Qr, 2, NOON), Verdict::Refuse(KeyError::Invalid));
    let own = VerifiedKey { is_named: true, ..key(Tier::Free) };
    assert_eq!(call(&mut meter, own, Tool::Qr, 3, NOON), Verdict::Refuse(KeyError::Invalid));
    assert!(KeyRecord::provisional(&named_key(2)).check(&named_key(2), NOON).is_err());
}

#[test]
fn revoked_and_expired_secrets_are_refused_and_the_key_is_not() {
    let mut meter = meter();
    let ending = NamedSecret { expires_at: Some(NOON.plus(5_000)), ..secret(2, Scopes::ALL) };
    change(&mut meter, key(Tier::Free), SecretChange::Add(ending), NOON);
    add(&mut meter, 3, Scopes::ALL);
    assert_eq!(call(&mut meter, named_key(2), Tool::Qr, 2, NOON.plus(4_999)), Verdict::Allow);
    assert_eq!(
        call(&mut meter, named_key(2), Tool::Qr, 3, NOON.plus(5_000)),
        Verdict::Refuse(KeyError::Expired)
    );
    let revoke = SecretChange::Revoke { id: SecretId::new([3; 8]) };
    assert!(matches!(change(&mut meter, key(Tier::Free), revoke.clone(), NOON), ChangeOutcome::Done(_)));
    assert_eq!(call(&mut meter, named_key(3), Tool::Qr, 4, NOON), Verdict::Refuse(KeyError::Invalid));
    assert_eq!(
        change(&mut meter, key(Tier::Free), revoke, NOON),
        ChangeOutcome::Secret(SecretError::Unknown)
    );
    assert_eq!(call(&mut meter, key(Tier::Free), Tool::Qr, 5, NOON.plus(6_000)), Verdict::Allow);
}

#[test]
fn rotated_secret_keeps_its_scopes_and_the_old_text_its_grace() {
    let mut meter = meter();
    add(&mut meter, 2, Scopes::NONE.with(QR).with(Scope::Keys));
    let (id, hash) = (SecretId::new([2; 8]), SecretHash::of(&[9; 16]));
    let rotate = SecretChange::Rotate { id, hash, grace_ms: 60_000 };
    for at in [0, 1_000] {
        let outcome = change(&mut meter, key(Tier::Free), rotate.clone(), NOON.plus(at));
        let ChangeOutcome::Done(record) = outcome else { panic!("{outcome:?}") };
        assert_eq!(record.secrets[0].former.unwrap().until, NOON.plus(60_000), "repeated");
    }
    assert_eq!(call(&mut meter, named_key(9), Tool::Qr, 2, NOON.plus(1)), Verdict::Allow);
    assert_eq!(call(&mut meter, named_key(2), Tool::Qr, 3, NOON.plus(59_999)), Verdict::Allow);
    let by_old = change(&mut meter, named_key(2), SecretChange::Revoke { id }, NOON.plus(59_999));
    assert_eq!(by_old, ChangeOutcome::Superseded, "a replaced secret cannot change anything");
    let late = call(&mut meter, named_key(2), Tool::Qr, 4, NOON.plus(60_000));
    assert_eq!(late, Verdict::Refuse(KeyError::Invalid));
}

#[test]
fn names_of_secrets_differ() {
    let mut meter = meter();
    add(&mut meter, 2, Scopes::ALL);
    add(&mut meter, 3, Scopes::ALL);
    let rename = |number: u8, name: &str| SecretChange::Patch {
        id: SecretId::new([number; 8]),
        name: Some(name.to_owned()),
        scopes: None,
        expires_at: None,
    };
    assert_eq!(
        change(&mut meter, key(Tier::Free), rename(3, "s2"), NOON),
        ChangeOutcome::Secret(SecretError::NameTaken)
    );
    assert!(matches!(change(&mut meter, key(Tier::Free), rename(2, "s2"), NOON), ChangeOutcome::Done(_)));
    let taken = NamedSecret { name: "s2".to_owned(), ..secret(4, Scopes::ALL) };
    let outcome = change(&mut meter, key(Tier::Free), SecretChange::Add(taken), NOON);
    assert_eq!(outcome, ChangeOutcome::Secret(SecretError::NameTaken));
}

/// The whole key is rotated and ended by a secret with every scope only.
#[test]
fn key_is_changed_by_a_secret_with_every_scope() {
    let mut meter = meter();
    add(&mut meter, 2, Scopes::NONE.with(Scope::AllTools).with(Scope::Keys));
    add(&mut meter, 3, Scopes::ALL);
    let mut rotate = |by| {
        let change = Change::Rotate { secret: SecretHash::of(&[8; 16]), grace_ms: 0 };
        match meter.handle(Message::Change { record: None, by: Some(by), change }, NOON) {
            Reply::Change(outcome) => outcome,
            other => panic!("{other:?}"),
        }
    };
    let refused = ChangeOutcome::Refused(KeyError::OutOfScope(Scope::BiolinkRead));
    assert_eq!(rotate(named_key(2)), refused);
    let ChangeOutcome::Done(record) = rotate(named_key(3)) else { panic!("refused") };
    assert_eq!((record.secret, record.secrets.len()), (SecretHash::of(&[8; 16]), 2), "named ones stay");
}

fn scopes() -> impl Strategy<Value = Scopes> {
    let scope = prop::sample::select(vec![
        Scope::AllTools,
        QR,
        Scope::Tool(Tool::Pdf.label()),
        Scope::BiolinkRead,
        Scope::BiolinkWrite,
        Scope::BiolinkAdmin,
        Scope::Keys,
    ]);
    prop::collection::vec(scope, 0..5).prop_map(|list| list.into_iter().fold(Scopes::NONE, Scopes::with))
}

proptest! {
    /// Whatever a secret changes, it never hands out, takes over or ends what it may not do itself.
    #[test]
    fn no_secret_grows_beyond_its_scopes(own in scopes(), other in scopes(), wanted in scopes(), kind in 0..4) {
        let mut meter = meter();
        add(&mut meter, 2, own);
        add(&mut meter, 3, other);
        let id = SecretId::new([3; 8]);
        let (wanted_change, needed) = match kind {
            0 => (SecretChange::Add(secret(4, wanted)), wanted),
            1 => (
                SecretChange::Patch { id, name: None, scopes: Some(wanted), expires_at: None },
                other.and(wanted),
            ),
            2 => (SecretChange::Rotate { id, hash: SecretHash::of(&[5; 16]), grace_ms: 0 }, other),
            _ => (SecretChange::Revoke { id }, other),
        };
        let outcome = change(&mut meter, named_key(2), wanted_change, NOON);
        match own.first_missing(needed.with(Scope::Keys)) {
            None => prop_assert!(matches!(outcome, ChangeOutcome::Done(_)), "{:?}", outcome),
            Some(missing) => {
                prop_assert_eq!(outcome, ChangeOutcome::Refused(KeyError::OutOfScope(missing)));
            }
        }
    }
}

/// Returns a moment after `NOON`, or none.
fn end() -> impl Strategy<Value = Option<UnixMillis>> {
    prop::option::of((1_u64..4).prop_map(|hours| NOON.plus(hours * 3_600_000)))
}

proptest! {
    /// Whoever has the text of a secret that ends can do nothing by which it, or another text that it gets, ends
    /// later.
    #[test]
    fn no_secret_outlives_its_maker(own in end(), other in end(), wanted in prop::option::of(end()), kind in 0..6) {
        let mut meter = meter();
        for (number, expires_at) in [(2, own), (3, other)] {
            let made = NamedSecret { expires_at, ..secret(number, Scopes::ALL) };
            change(&mut meter, key(Tier::Free), SecretChange::Add(made), NOON);
        }
        let id = SecretId::new([if kind == 2 { 2 } else { 3 }; 8]);
        let added = NamedSecret { expires_at: wanted.flatten(), ..secret(4, Scopes::NONE) };
        let patch = |name: Option<&str>, expires_at| {
            SecretChange::Patch { id, name: name.map(str::to_owned), scopes: None, expires_at }
        };
        let (asked, end) = match kind {
            0 => (SecretChange::Check { scopes: Scopes::NONE, expires_at: added.expires_at }, added.expires_at),
            1 => (SecretChange::Add(added.clone()), added.expires_at),
            2 => (patch(None, wanted), wanted.unwrap_or(own)),
            3 => (patch(Some("other"), wanted), wanted.unwrap_or(other)),
            4 => (SecretChange::Rotate { id, hash: SecretHash::of(&[5; 16]), grace_ms: 0 }, other),
            // An end for good gives nobody more time.
            _ => (SecretChange::Revoke { id }, own),
        };
        let outlives = own.is_some_and(|own| end.is_none_or(|end| own < end));
        let outcome = change(&mut meter, named_key(2), asked, NOON);
        match own.filter(|_| outlives) {
            Some(until) => {
                prop_assert_eq!(outcome, ChangeOutcome::Secret(SecretError::Outlives { until }));
            }
            None => {
                let ChangeOutcome::Done(record) = outcome else { panic!("{outcome:?}") };
                let latest = record.secrets.iter().filter(|secret| secret.id != SecretId::new([3; 8]) || kind == 3);
                for secret in latest.filter(|_| own.is_some()) {
                    prop_assert!(secret.expires_at.is_some() && secret.expires_at <= own, "{:?}", secret);
                }
            }
        }
    }
}

/// The key's own secret ends with the key alone, so whoever got it from a rotation would have all time.
#[test]
fn key_is_not_rotated_by_a_secret_that_expires() {
    let mut meter = meter();
    let ending = NamedSecret { expires_at: Some(NOON.plus(5_000)), ..secret(2, Scopes::ALL) };
    change(&mut meter, key(Tier::Free), SecretChange::Add(ending), NOON);
    let mut ask =
        |change| match meter.handle(Message::Change { record: None, by: Some(named_key(2)), change }, NOON) {
            Reply::Change(outcome) => outcome,
            other => panic!("{other:?}"),
        };
    let rotate = Change::Rotate { secret: SecretHash::of(&[8; 16]), grace_ms: 0 };
    let refused = ChangeOutcome::Secret(SecretError::Outlives { until: NOON.plus(5_000) });
    assert_eq!(ask(rotate), refused);
    assert!(matches!(ask(Change::None), ChangeOutcome::Done(_)));
    assert!(matches!(ask(Change::Revoke), ChangeOutcome::Done(_)), "an end gives nobody more time");
}

#[test]
fn secret_of_one_key_is_none_of_another() {
    let mut meter = meter();
    add(&mut meter, 2, Scopes::ALL);
    let other = VerifiedKey { id: KeyId::new([99; 12]), ..named_key(2) };
    assert_eq!(call(&mut meter, other, Tool::Qr, 2, NOON), Verdict::Refuse(KeyError::Invalid));
}

const CODE_MS: u64 = 60_000;

/// Returns the secret of an agent whose holder has agreed at noon, and that has a code.
fn agreed(number: u8) -> NamedSecret {
    let connection = Some(Connection::Code { until: NOON.plus(CODE_MS) });
    NamedSecret { connection, ..secret(number, Scopes::NONE.with(QR)) }
}

/// Returns the outcome of presenting the code or refresh token `from`, and drawing the text `to`.
fn exchange(meter: &mut Meter, id: u8, (from, to): (u8, u8), now: UnixMillis) -> ChangeOutcome {
    let [from, to] = [from, to].map(|number| SecretHash::of(&[number; 16]));
    let change = SecretChange::Exchange { id: SecretId::new([id; 8]), from, to, until: now.plus(3_600_000) };
    let message = Message::Change { record: None, by: None, change: Change::Secret(change) };
    match meter.handle(message, now) {
        Reply::Change(outcome) => outcome,
        other => panic!("{other:?}"),
    }
}

fn secrets_of(outcome: ChangeOutcome) -> Vec<NamedSecret> {
    match outcome {
        ChangeOutcome::Done(record) => record.secrets,
        other => panic!("{other:?}"),
    }
}

/// Returns the meter of a key whose holder has agreed to an agent.
fn with_agent() -> Meter {
    let mut meter = meter();
    assert!(matches!(
        change(&mut meter, key(Tier::Free), SecretChange::Add(agreed(2)), NOON),
        ChangeOutcome::Done(_)
    ));
    meter
}

#[test]
fn agent_has_no_text_before_its_code_is_used_and_renews_its_token() {
    let mut meter = with_agent();
    let first = exchange(&mut meter, 2, (2, 3), NOON.plus(CODE_MS - 1));
    assert_eq!(secrets_of(first.clone())[0].hash, SecretHash::of(&[3; 16]));
    assert_eq!(exchange(&mut meter, 2, (2, 3), NOON.plus(CODE_MS)), first, "a repeated message");
    assert_eq!(call(&mut meter, named_key(3), Tool::Qr, 2, NOON.plus(CODE_MS)), Verdict::Allow);
    assert_eq!(
        call(&mut meter, named_key(3), Tool::Pdf, 3, NOON.plus(CODE_MS)),
        Verdict::Refuse(KeyError::OutOfScope(Scope::Tool(Tool::Pdf.label())))
    );
    let hour = NOON.plus(CODE_MS - 1 + 3_600_000);
    assert_eq!(call(&mut meter, named_key(3), Tool::Qr, 4, hour), Verdict::Refuse(KeyError::Expired));
    let renewed = secrets_of(exchange(&mut meter, 2, (3, 4), hour));
    assert_eq!(
        (renewed[0].hash, renewed[0].former.map(|former| former.until)),
        (SecretHash::of(&[4; 16]), Some(hour))
    );
    assert_eq!(call(&mut meter, named_key(4), Tool::Qr, 5, hour), Verdict::Allow);
    assert_eq!(call(&mut meter, named_key(3), Tool::Qr, 6, hour), Verdict::Refuse(KeyError::Invalid));
}

#[test]
fn code_or_token_that_comes_again_ends_the_connection() {
    for reused in [2, 3] {
        let mut meter = with_agent();
        exchange(&mut meter, 2, (2, 3), NOON);
        exchange(&mut meter, 2, (3, 4), NOON.plus(1));
        assert_eq!(secrets_of(exchange(&mut meter, 2, (reused, 9), NOON.plus(2))), [], "{reused}");
        let invalid = Verdict::Refuse(KeyError::Invalid);
        for number in [3, 4, 9] {
            assert_eq!(call(&mut meter, named_key(number), Tool::Qr, 9, NOON.plus(3)), invalid, "{number}");
        }
        let gone = ChangeOutcome::Secret(SecretError::Unknown);
        assert_eq!(exchange(&mut meter, 2, (reused, 9), NOON.plus(4)), gone, "nor does it come back");
    }
}

#[test]
fn code_is_refused_after_its_end_and_takes_no_place() {
    let mut meter = with_agent();
    assert_eq!(secrets_of(exchange(&mut meter, 2, (2, 3), NOON.plus(CODE_MS))), []);
    let mut meter = with_agent();
    for number in 3..12 {
        add(&mut meter, number, Scopes::NONE);
    }
    assert_eq!(add(&mut meter, 12, Scopes::NONE), ChangeOutcome::Secret(SecretError::TooMany));
    let later =
        change(&mut meter, key(Tier::Free), SecretChange::Add(secret(12, Scopes::NONE)), NOON.plus(CODE_MS));
    assert_eq!(secrets_of(later).iter().filter(|secret| secret.connection.is_some()).count(), 0);
}

#[test]
fn key_that_is_switched_off_renews_nothing_and_ends_nothing() {
    let mut meter = with_agent();
    exchange(&mut meter, 2, (2, 3), NOON);
    let switch = |meter: &mut Meter, disabled| {
        let patch = Change::Patch {
            tier: None,
            limits: None,
            limits_kept: Vec::new(),
            expires_at: None,
            disabled: Some(disabled),
            biolink_plan: None,
            when_meter_unreachable: None,
            holder: None,
        };
        meter.handle(Message::Change { record: None, by: None, change: patch }, NOON);
    };
    switch(&mut meter, true);
    assert_eq!(exchange(&mut meter, 2, (3, 4), NOON), ChangeOutcome::Refused(KeyError::Disabled));
    switch(&mut meter, false);
    assert_eq!(secrets_of(exchange(&mut meter, 2, (3, 4), NOON))[0].hash, SecretHash::of(&[4; 16]));
}

#[test]
fn secret_without_a_connection_and_one_that_was_rotated_are_never_exchanged() {
    let mut meter = with_agent();
    add(&mut meter, 5, Scopes::NONE);
    let unknown = ChangeOutcome::Secret(SecretError::Unknown);
    assert_eq!(exchange(&mut meter, 5, (5, 6), NOON), unknown);
    let rotate =
        SecretChange::Rotate { id: SecretId::new([2; 8]), hash: SecretHash::of(&[7; 16]), grace_ms: 0 };
    change(&mut meter, key(Tier::Free), rotate, NOON);
    assert_eq!(exchange(&mut meter, 2, (2, 3), NOON), unknown);
    assert_eq!(call(&mut meter, named_key(7), Tool::Qr, 2, NOON.plus(99 * 3_600_000)), Verdict::Allow);
}

#[test]
fn agent_that_connects_again_gets_a_name_of_its_own() {
    let mut meter = with_agent();
    for number in [3, 4] {
        let again = NamedSecret { name: "s2".to_owned(), ..agreed(number) };
        change(&mut meter, key(Tier::Free), SecretChange::Add(again), NOON);
    }
    let names = secrets_of(exchange(&mut meter, 2, (2, 9), NOON)).into_iter().map(|secret| secret.name);
    assert_eq!(names.collect::<Vec<_>>(), ["s2", "s2 2", "s2 3"]);
}
