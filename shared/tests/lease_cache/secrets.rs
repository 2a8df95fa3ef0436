//! Named secrets that share the leases of their key.

use shared::key::{ApiKey, KeyEnv, KeyError, NamedSecret, Scope, Scopes, SecretHash, SecretId, VerifiedKey};
use shared::lease_cache::{Admission, Step};
use shared::meter::{Change, Message, SecretChange};
use shared::secret::MacKeys;
use shared::tier::Tier;
use shared::tool::Tool;

use crate::{NOON, Pair, allowed, charge};

impl Pair {
    /// Makes a named secret of the key. Returns what its text says.
    fn with_secret(&mut self, scopes: Scopes, at: u64) -> VerifiedKey {
        let secret = NamedSecret {
            id: SecretId::new([2; 8]),
            name: "CI".to_owned(),
            scopes,
            hash: SecretHash::of(&[2; 16]),
            former: None,
            created_at: NOON,
            expires_at: None,
            connection: None,
        };
        let record = self.cache.record().cloned();
        let change = Change::Secret(SecretChange::Add(secret));
        self.meter.handle(Message::Change { record, by: None, change }, NOON.plus(at));
        let keys = MacKeys::parse("0123456789abcdef0123456789abcdef").unwrap();
        ApiKey::mint_named(KeyEnv::Live, self.key.id, self.key.issued_tier, NOON, [2; 16], &keys).1
    }

    fn call_as(&mut self, key: &VerifiedKey, tool: Tool, at: u64) -> (Admission, bool) {
        match self.cache.call(key, tool, NOON.plus(at)) {
            Step::Decided(admission, _) => (admission, false),
            Step::Ask(request, _) => (self.exchange(&request, at).unwrap(), true),
        }
    }
}

fn missing(tool: Tool) -> Admission {
    Admission::Refuse(KeyError::OutOfScope(Scope::Tool(tool.label())))
}

#[test]
fn new_secret_spends_the_leases_of_its_key() {
    let mut pair = Pair::new(Tier::Pro);
    assert!((0..3).all(|at| allowed(&pair.admit(at * 5))));
    let ci = pair.with_secret(Scopes::NONE.with(Scope::Tool(Tool::Qr.label())), 20);
    let (first, asked) = pair.call_as(&ci, Tool::Qr, 30);
    assert!(allowed(&first) && asked, "the cache has not heard of it");
    let (second, asked) = pair.call_as(&ci, Tool::Qr, 60);
    assert!(allowed(&second) && !asked);
}

#[test]
fn calls_beyond_the_scopes_ask_the_meter_once_and_keep_the_leases() {
    let mut pair = Pair::new(Tier::Pro);
    let ci = pair.with_secret(Scopes::NONE.with(Scope::Tool(Tool::Qr.label())), 0);
    assert!((0..3).all(|at| allowed(&pair.admit(10 + at * 5))));
    assert_eq!(pair.call_as(&ci, Tool::Pdf, 40), (missing(Tool::Pdf), true));
    for (at, tool) in (0..100).zip([Tool::Pdf, Tool::Image, Tool::Seo].into_iter().cycle()) {
        assert_eq!(pair.call_as(&ci, tool, 70 + at), (missing(tool), false));
    }
    let (own, asked) = pair.call_as(&ci, Tool::Qr, 200);
    assert!(allowed(&own) && !asked, "what it may do is not refused");
    let used = pair.snapshot(300).minute_used;
    assert!(used <= 5, "refusals are not counted: {used}");
}

/// A lease lasts ten seconds, and so does a secret that was narrowed or revoked, as a revoked key does.
#[test]
fn narrowed_and_revoked_secret_is_refused_once_the_leases_end() {
    let narrow = SecretChange::Patch {
        id: SecretId::new([2; 8]),
        name: None,
        scopes: Some(Scopes::NONE),
        expires_at: None,
    };
    let revoke = SecretChange::Revoke { id: SecretId::new([2; 8]) };
    for (change, refused) in [(narrow, missing(Tool::Qr)), (revoke, Admission::Refuse(KeyError::Invalid))] {
        let mut pair = Pair::new(Tier::Pro);
        let ci = pair.with_secret(Scopes::ALL, 0);
        for at in 0..5 {
            assert!(allowed(&pair.call_as(&ci, Tool::Qr, 10 + at * 30).0));
        }
        pair.change(Change::Secret(change), 200);
        assert_eq!(pair.call_as(&ci, Tool::Qr, 10_400).0, refused);
        let own = pair.key;
        assert!(allowed(&pair.call_as(&own, Tool::Qr, 10_450).0), "the key goes on");
    }
}

#[test]
fn widened_secret_is_admitted_once_the_refusal_is_forgotten() {
    let mut pair = Pair::new(Tier::Pro);
    let ci = pair.with_secret(Scopes::NONE, 0);
    assert_eq!(pair.call_as(&ci, Tool::Qr, 10).0, missing(Tool::Qr));
    let scopes = Some(Scopes::NONE.with(Scope::AllTools));
    let (id, name, expires_at) = (SecretId::new([2; 8]), None, None);
    pair.change(Change::Secret(SecretChange::Patch { id, name, scopes, expires_at }), 100);
    assert!(allowed(&pair.call_as(&ci, Tool::Qr, 5_200).0));
}

/// Calls of two secrets on the leases of one cache, of which some fail at their tool.
#[test]
fn calls_are_charged_to_the_secret_that_made_them() {
    let mut pair = Pair::new(Tier::Pro);
    let ci = pair.with_secret(Scopes::ALL, 0);
    let (id, own) = (SecretId::new([2; 8]), pair.key);
    let mut from_leases = 0;
    for turn in 0..20 {
        let at = 100 + turn * 30;
        let (admission, asked) = pair.call_as(if turn % 4 == 0 { &own } else { &ci }, Tool::Qr, at);
        from_leases += u32::from(!asked);
        let (status, fails) = if turn % 5 == 0 { (503, true) } else { (200, false) };
        pair.cache.record_outcome(Tool::Qr, status, fails, charge(&admission), NOON.plus(at + 25));
    }
    assert!((5..20).contains(&from_leases), "{from_leases} calls from leases");
    let report = pair.cache.give_back(&pair.key, NOON.plus(1_000)).unwrap();
    pair.exchange(&report, 1_000);
    // What was gathered while a batch was in flight goes with the next one.
    let report = pair.cache.read(&pair.key, NOON.plus(1_100));
    pair.exchange(&report, 1_100);
    let snapshot = pair.snapshot(1_200);
    assert_eq!((snapshot.day_used, snapshot.tally.by_secret), (16, [(id, 12)].into()));
}

#[test]
fn withdrawn_call_is_charged_to_no_secret() {
    let mut pair = Pair::new(Tier::Free);
    let ci = pair.with_secret(Scopes::ALL, 0);
    let Step::Ask(request, _) = pair.cache.call(&ci, Tool::Qr, NOON.plus(100)) else { panic!("decided") };
    pair.meter(&request, 110);
    assert_eq!(pair.snapshot(120).tally.by_secret, [(SecretId::new([2; 8]), 1)].into());
    assert!(pair.cache.handle_failure(&request, NOON.plus(4_000)).is_some_and(|gone| !allowed(&gone)));
    let report = pair.cache.read(&pair.key, NOON.plus(4_100));
    pair.meter(&report, 4_110);
    let snapshot = pair.snapshot(4_200);
    assert_eq!((snapshot.day_used, snapshot.tally.by_secret), (0, [].into()));
}

/// A key with one secret has messages and state as before.
#[test]
fn calls_of_the_own_secret_make_no_message_longer() {
    let mut pair = Pair::new(Tier::Pro);
    for at in 0..10 {
        assert!(allowed(&pair.admit(at * 30)));
    }
    let report = pair.cache.read(&pair.key, NOON.plus(9_000));
    pair.meter(&report, 9_010);
    for text in [serde_json::to_string(&report).unwrap(), serde_json::to_string(&pair.meter).unwrap()] {
        // The record names the secret's hash and the list of named ones, which is left out.
        assert!(!text.contains("secrets") && !text.contains("by_secret"), "{text}");
    }
}
