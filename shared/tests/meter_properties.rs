//! The promises of a [`Meter`], which hold for messages in any order and number, and across
//! restarts.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test fails by panicking")]

use proptest::{collection::vec, prelude::*};
use serde_json::{Value, json};
use shared::{
    key::{ApiKey, BiolinkPlan, KeyEnv, KeyError, KeyId, KeyRecord, KeyStatus, VerifiedKey},
    meter::{
        Attempt, Batch, Change, ChangeOutcome, Message, Meter, MeterRequest, MeterResponse, MeterSnapshot,
        Reply, Report, TTL_MS, Verdict,
    },
    policy::LimitOverrides,
    quota::Decision,
    secret::MacKeys,
    tier::Tier,
    time::{UnixMillis, UtcDay},
    tool::Tool,
};

const NOON: UnixMillis = UnixMillis(1_763_726_400_000);
const MIDNIGHT: UnixMillis = UnixMillis(1_763_769_600_000);

fn key_with(tier: Tier, issued_at: UnixMillis, secret: u8) -> VerifiedKey {
    let keys = MacKeys::parse("0123456789abcdef0123456789abcdef").unwrap();
    ApiKey::mint(KeyEnv::Live, KeyId::new([7; 12]), tier, issued_at, [secret; 16], &keys).1
}

fn key(tier: Tier) -> VerifiedKey {
    key_with(tier, NOON, 1)
}

fn record(tier: Tier, version: u64) -> KeyRecord {
    KeyRecord { version, ..KeyRecord::provisional(&key(tier)) }
}

/// Returns the request of a cache with nothing to report.
fn request(tier: Tier, holder: u64, seq: u32) -> MeterRequest {
    MeterRequest {
        holder,
        seq,
        key: key(tier),
        want: true,
        rate: 0,
        record: None,
        version: 0,
        reports: Vec::new(),
        batch: None,
    }
}

fn send(meter: &mut Meter, request: &MeterRequest, now: UnixMillis) -> MeterResponse {
    match meter.handle(Message::Ask(request.clone()), now) {
        Reply::Ask(response) => response,
        other => panic!("{other:?}"),
    }
}

fn change(meter: &mut Meter, record: Option<KeyRecord>, change: Change, now: UnixMillis) -> ChangeOutcome {
    match meter.handle(Message::Change { record, by: None, change }, now) {
        Reply::Change(changed) => changed,
        other => panic!("{other:?}"),
    }
}

/// Returns what the meter counts at `now`, and leaves it unchanged.
fn snapshot(meter: &Meter, tier: Tier, now: UnixMillis) -> MeterSnapshot {
    match meter.clone().handle(Message::Read(request(tier, u64::MAX, u32::MAX)), now) {
        Reply::Read(snapshot) => snapshot,
        other => panic!("{other:?}"),
    }
}

fn restarted(meter: &Meter) -> Meter {
    serde_json::from_str(&serde_json::to_string(meter).unwrap()).unwrap()
}

fn patch() -> Value {
    json!({"patch": {}})
}

fn parse(change: &Value) -> Change {
    serde_json::from_value(change.clone()).unwrap()
}

/// One message of a cache. Its reports are those of the cache's leases at that moment.
#[derive(Clone, Debug)]
struct Step {
    passes_ms: u64,
    holder: u64,
    want: bool,
    rate: u32,
    spends: u32,
    closes: bool,
    refunds: u32,
    debts: u32,
    repeats: Option<prop::sample::Index>,
}

fn step() -> impl Strategy<Value = Step> {
    let passes = prop_oneof![4 => 0u64..400, 2 => 0u64..5_000, 1 => 0u64..70_000];
    let repeats = prop_oneof![3 => Just(None), 1 => any::<prop::sample::Index>().prop_map(Some)];
    let calls = (any::<bool>(), 0u32..40_000, 0u32..12, any::<bool>());
    (passes, 0u64..4, calls, 0u32..3, 0u32..2, repeats).prop_map(
        |(passes_ms, holder, (want, rate, spends, closes), refunds, debts, repeats)| Step {
            passes_ms,
            holder,
            want,
            rate,
            spends,
            closes,
            refunds,
            debts,
            repeats,
        },
    )
}

/// Caches that follow the protocol, on a network that may repeat any message.
#[derive(Default)]
struct Caches {
    sent: Vec<MeterRequest>,
    leases: Vec<(u64, Report, u32)>,
    seqs: [u32; 4],
    batches: [u32; 4],
    /// Admitted calls less the refunded ones, by day.
    net: std::collections::BTreeMap<UtcDay, i64>,
}

impl Caches {
    /// Returns the next request: an old one again, or a new one that reports what was spent of the
    /// cache's leases.
    fn next(&mut self, step: &Step, day: UtcDay) -> MeterRequest {
        if let (Some(again), false) = (&step.repeats, self.sent.is_empty()) {
            return again.get(&self.sent).clone();
        }
        let place = usize::try_from(step.holder).unwrap();
        self.seqs[place] += 1;
        let mut left = step.spends;
        for (holder, report, calls) in &mut self.leases {
            if *holder == step.holder && !report.closed {
                let known: u32 = report.spent.iter().map(|(_, n)| n).sum();
                let spent = left.min(*calls - known);
                left -= spent;
                report.spent.push((report.spent.len() as u64, spent));
                report.closed = step.closes;
            }
        }
        let mine = self.leases.iter().filter(|(holder, ..)| *holder == step.holder);
        let next = MeterRequest {
            want: step.want,
            rate: step.rate,
            reports: mine.map(|(_, report, _)| report.clone()).collect(),
            batch: self.batch(step, place, day),
            ..request(Tier::Pro, step.holder, self.seqs[place])
        };
        self.sent.push(next.clone());
        next
    }

    fn batch(&mut self, step: &Step, place: usize, day: UtcDay) -> Option<Batch> {
        let net = self.net.entry(day).or_default();
        let refunds = step.refunds.min(u32::try_from(*net).unwrap_or(0));
        (refunds + step.debts > 0).then(|| {
            self.batches[place] += 1;
            *net -= i64::from(refunds);
            Batch { number: self.batches[place], day, refunds, debts: step.debts, ended: vec![] }
        })
    }

    /// Records a response. `new` unless the request was sent before.
    fn take(&mut self, request: &MeterRequest, response: &MeterResponse, new: bool) {
        if let (true, Some(terms)) = (new, response.lease) {
            let report = Report { lease: terms.id, spent: vec![], closed: false };
            self.leases.push((request.holder, report, terms.calls));
            *self.net.entry(response.day).or_default() += i64::from(terms.calls);
        }
        if new && response.verdict == Verdict::Allow {
            *self.net.entry(response.day).or_default() += 1;
        }
    }
}

proptest! {
    #[test]
    fn counted_and_lent_calls_never_exceed_the_limit(
        steps in vec(step(), 1..120),
        late in any::<bool>(),
    ) {
        let mut now = if late { MIDNIGHT.minus(20_000) } else { NOON };
        let mut meter = Meter::default();
        send(&mut meter, &MeterRequest { record: Some(record(Tier::Pro, 1)), ..request(Tier::Pro, 9, 0) }, now);
        let mut caches = Caches::default();
        let mut debts = 0;
        for step in &steps {
            now = now.plus(step.passes_ms);
            let before = caches.sent.len();
            let next = caches.next(step, meter_day(&meter, now));
            let new = caches.sent.len() > before;
            let mut twin = restarted(&meter);
            let response = send(&mut meter, &next, now);
            prop_assert_eq!(send(&mut twin, &next, now), response.clone());
            prop_assert_eq!(&twin, &meter);
            caches.take(&next, &response, new);
            debts += next.batch.filter(|_| new).map_or(0, |batch| batch.debts);
            let snapshot = snapshot(&meter, Tier::Pro, now);
            // Debts were let through elsewhere and may exceed the limit; nothing else may.
            prop_assert!(snapshot.minute_used + snapshot.reserved <= 100 + debts);
        }
    }

    #[test]
    fn reports_merge_to_the_same_count_in_any_order(
        spends in vec(0u32..4, 1..8),
        order in vec(any::<prop::sample::Index>(), 0..20),
    ) {
        let mut meter = Meter::default();
        let sent = MeterRequest { rate: 4_000, record: Some(record(Tier::Pro, 1)), ..request(Tier::Pro, 1, 1) };
        let terms = send(&mut meter, &sent, NOON).lease.unwrap();
        let mut totals = Vec::new();
        let mut reports = Vec::new();
        for (slot, &n) in spends.iter().enumerate() {
            totals.push((slot as u64, n));
            reports.push(Report { lease: terms.id, spent: totals.clone(), closed: false });
        }
        let last = reports.last().unwrap().clone();
        let mut shuffled: Vec<Report> = order.iter().map(|at| at.get(&reports).clone()).collect();
        shuffled.push(last);
        for (seq, report) in (2..).zip(shuffled) {
            let next = MeterRequest { want: false, reports: vec![report], ..request(Tier::Pro, 1, seq) };
            send(&mut meter, &next, NOON.plus(3_000));
        }
        let spent = spends.iter().sum::<u32>().min(terms.calls);
        let snapshot = snapshot(&meter, Tier::Pro, NOON.plus(3_000));
        prop_assert_eq!(snapshot.minute_used, 1 + spent);
        prop_assert_eq!(snapshot.reserved, terms.calls - spent);
    }

    #[test]
    fn denied_call_passes_at_the_moment_named(
        rates in vec((0u64..4, 1_000u32..60_000), 1..8),
        gaps in vec(0u64..3_000, 150),
    ) {
        let mut meter = Meter::default();
        let mut now = NOON;
        send(&mut meter, &MeterRequest { record: Some(record(Tier::Pro, 1)), ..request(Tier::Pro, 9, 0) }, now);
        for (seq, &(holder, rate)) in (1..).zip(&rates) {
            send(&mut meter, &MeterRequest { rate, ..request(Tier::Pro, holder, seq) }, now);
        }
        for (seq, gap) in (1..).zip(gaps) {
            now = now.plus(gap / 10);
            let response = send(&mut meter, &request(Tier::Pro, 9, seq), now);
            if let Verdict::Deny(denial) = response.verdict {
                let then = now.plus(denial.retry_ms);
                let verdict = send(&mut meter.clone(), &request(Tier::Pro, 9, seq + 1), then).verdict;
                prop_assert_eq!(verdict, Verdict::Allow);
                now = now.plus(gap);
            }
        }
    }
}

fn meter_day(meter: &Meter, now: UnixMillis) -> UtcDay {
    snapshot(meter, Tier::Pro, now).response.day
}

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
    send(&mut meter, &sent, NOON.plus(5_000));
    assert_eq!(snapshot(&meter, Tier::Free, NOON.plus(5_000)).minute_used, 2);
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
    let report = Report { lease: terms.id, spent: vec![(3, 2)], closed: true };
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

fn batch(number: u32, refunds: u32) -> Batch {
    Batch { number, day: NOON.day(), refunds, debts: 0, ended: vec![(Tool::Qr, 503, refunds)] }
}

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
            KeyRecord { limits: LimitOverrides { minute: 7.try_into().ok(), day: None }, ..stored.clone() },
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
fn eleventh_wrong_admin_secret_in_a_minute_is_denied() {
    let mut meter = Meter::default();
    let begin = |meter: &mut Meter, at| meter.handle(Message::Attempt(Attempt::Wrong), NOON.plus(at));
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
        meter.handle(Message::Attempt(Attempt::Wrong), NOON);
    }
    for _ in 0..20 {
        let right = meter.handle(Message::Attempt(Attempt::Right), NOON);
        assert!(
            matches!(right, Reply::Attempt(Decision::Allow(_))),
            "any number of right ones may come at once"
        );
    }
    let next = meter.handle(Message::Attempt(Attempt::Wrong), NOON);
    assert!(matches!(next, Reply::Attempt(Decision::Allow(_))));
}

#[test]
fn erasing_the_holder_of_a_revoked_key_changes_nothing_else() {
    let patch = |tier, holder| Change::Patch {
        tier,
        limits: None,
        expires_at: None,
        disabled: None,
        biolink_plan: None,
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

/// Adds a field that this version does not know to every object in `value`.
fn with_unknown_fields(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.values_mut().for_each(with_unknown_fields);
            // An enum's variant is an object of one field; a second one would be another variant.
            let variant = fields.len() == 1 && fields.values().all(|field| field.is_object());
            let map = fields.keys().all(|name| name.bytes().all(|b| b.is_ascii_digit()));
            if !variant && !map && !fields.contains_key("state") {
                fields.insert("of_tomorrow".to_owned(), json!(1));
            }
        }
        Value::Array(values) => values.iter_mut().for_each(with_unknown_fields),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

#[test]
fn messages_and_state_of_a_newer_version_are_read() {
    let mut meter = Meter::default();
    let stored = KeyRecord { limits: LimitOverrides::default(), ..record(Tier::Pro, 1) };
    let sent = Message::Ask(MeterRequest {
        rate: 10_000,
        record: Some(stored),
        batch: Some(batch(1, 1)),
        reports: vec![Report { lease: 1, spent: vec![(0, 1)], closed: false }],
        ..request(Tier::Pro, 1, 1)
    });
    let mut text = serde_json::to_value(&sent).unwrap();
    // The key's own limits are strict everywhere, since a client writes them.
    text["ask"]["record"].as_object_mut().unwrap().remove("limits");
    with_unknown_fields(&mut text);
    text["ask"]["batch"]["ended"].as_array_mut().unwrap().push(json!(["hologram", 200, 1]));
    assert_eq!(serde_json::from_value::<Message>(text).unwrap(), sent);

    let reply = meter.handle(sent, NOON);
    let mut text = serde_json::to_value(&reply).unwrap();
    text["ask"]["record"].as_object_mut().unwrap().remove("limits");
    with_unknown_fields(&mut text);
    assert_eq!(serde_json::from_value::<Reply>(text).unwrap(), reply);

    let mut text = serde_json::to_value(&meter).unwrap();
    text["record"].as_object_mut().unwrap().remove("limits");
    with_unknown_fields(&mut text);
    assert_eq!(serde_json::from_value::<Meter>(text).unwrap(), meter);
}

#[test]
fn renamed_fields_keep_their_names_on_the_wire() {
    let mut meter = Meter::default();
    let stored = MeterRequest { record: Some(record(Tier::Free, 1)), ..request(Tier::Free, 1, 1) };
    let response = send(&mut meter, &stored, NOON);
    assert!(serde_json::to_value(&response).unwrap()["standing"]["minute"].is_object());
    let read = serde_json::to_value(snapshot(&meter, Tier::Free, NOON)).unwrap();
    assert_eq!(read["answer"]["verdict"], "noted");
    let state = serde_json::to_value(&meter).unwrap();
    assert_eq!((&state["given"][0]["seq"], &state["given"][0]["verdict"]), (&json!(1), &json!("allow")));
}

#[test]
fn messages_and_state_of_an_older_version_are_read() {
    let sent = request(Tier::Free, 1, 1);
    let mut text = serde_json::to_value(Message::Ask(sent.clone())).unwrap();
    let fields = text["ask"].as_object_mut().unwrap();
    for optional in ["rate", "record", "version", "reports", "batch"] {
        fields.remove(optional);
    }
    assert_eq!(serde_json::from_value::<Message>(text).unwrap(), Message::Ask(sent));

    let response: MeterResponse = serde_json::from_value(json!({"verdict": "allow"})).unwrap();
    assert_eq!((response.batch, response.day, response.recheck_ms), (0, UtcDay(0), None));
    assert_eq!(serde_json::from_value::<Meter>(json!({})).unwrap(), Meter::default());
}

#[test]
fn state_of_the_busiest_key_takes_a_few_kilobytes() {
    let mut meter = Meter::default();
    let limits = LimitOverrides { minute: 100_000.try_into().ok(), day: None };
    let stored = KeyRecord { limits, ..record(Tier::Enterprise, 1) };
    send(&mut meter, &MeterRequest { record: Some(stored), ..request(Tier::Enterprise, 1, 0) }, NOON);
    for seq in 1..6_000u32 {
        let now = NOON.plus(u64::from(seq) * 20);
        // Leases of 24 isolates at a time, each reporting its latest spends.
        let holder = u64::MAX - u64::from(seq % 24);
        let rate = if seq % 100 < 24 { 10_000 } else { 0 };
        send(&mut meter, &MeterRequest { rate, ..request(Tier::Enterprise, holder, seq) }, now);
    }
    let size = serde_json::to_string(&meter).unwrap().len();
    assert!(size < 20_000, "{size} bytes");
}
