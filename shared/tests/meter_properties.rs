//! What a [`Meter`] promises whatever it is told, in whatever order, how often, and however often it restarts.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test fails by panicking")]

use proptest::{collection::vec, prelude::*};
use serde_json::{Value, json};
use shared::{
    key::{ApiKey, BiolinkPlan, KeyEnv, KeyFault, KeyId, KeyRecord, KeyStatus, VerifiedKey},
    meter::{
        Attempt, Batch, Change, Changed, Message, Meter, MeterRequest, MeterResponse, MeterSnapshot, Reply,
        Report, TTL_MS, Verdict,
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

/// An ask of a holder with nothing to report.
fn ask(tier: Tier, holder: u64, seq: u32) -> MeterRequest {
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

fn tell(meter: &mut Meter, ask: &MeterRequest, now: UnixMillis) -> MeterResponse {
    match meter.handle(Message::Ask(ask.clone()), now) {
        Reply::Ask(answer) => answer,
        other => panic!("{other:?}"),
    }
}

fn change(meter: &mut Meter, record: Option<KeyRecord>, change: Change, now: UnixMillis) -> Changed {
    match meter.handle(Message::Change { record, by: None, change }, now) {
        Reply::Change(changed) => changed,
        other => panic!("{other:?}"),
    }
}

/// What the meter counts at `now`, without touching it.
fn reading(meter: &Meter, tier: Tier, now: UnixMillis) -> MeterSnapshot {
    match meter.clone().handle(Message::Read(ask(tier, u64::MAX, u32::MAX)), now) {
        Reply::Read(reading) => reading,
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

/// One thing that a holder says; what it names is put together as the run goes.
#[derive(Clone, Debug)]
struct Saying {
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

fn saying() -> impl Strategy<Value = Saying> {
    let passes = prop_oneof![4 => 0u64..400, 2 => 0u64..5_000, 1 => 0u64..70_000];
    let repeats = prop_oneof![3 => Just(None), 1 => any::<prop::sample::Index>().prop_map(Some)];
    let calls = (any::<bool>(), 0u32..40_000, 0u32..12, any::<bool>());
    (passes, 0u64..4, calls, 0u32..3, 0u32..2, repeats).prop_map(
        |(passes_ms, holder, (want, rate, spends, closes), refunds, debts, repeats)| Saying {
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

/// Holders that keep the protocol's word, on a network that repeats whatever was ever said.
#[derive(Default)]
struct Holders {
    said: Vec<MeterRequest>,
    leases: Vec<(u64, Report, u32)>,
    seqs: [u32; 4],
    batches: [u32; 4],
    /// Calls let through less those given back, by day.
    net: std::collections::BTreeMap<UtcDay, i64>,
}

impl Holders {
    /// The next ask: an old one again, or a new one that reports what was spent of the holder's leases.
    fn next(&mut self, say: &Saying, day: UtcDay) -> MeterRequest {
        if let (Some(again), false) = (&say.repeats, self.said.is_empty()) {
            return again.get(&self.said).clone();
        }
        let place = usize::try_from(say.holder).unwrap();
        self.seqs[place] += 1;
        let mut left = say.spends;
        for (holder, report, calls) in &mut self.leases {
            if *holder == say.holder && !report.closed {
                let known: u32 = report.spent.iter().map(|(_, n)| n).sum();
                let spent = left.min(*calls - known);
                left -= spent;
                report.spent.push((report.spent.len() as u64, spent));
                report.closed = say.closes;
            }
        }
        let mine = self.leases.iter().filter(|(holder, ..)| *holder == say.holder);
        let ask = MeterRequest {
            want: say.want,
            rate: say.rate,
            reports: mine.map(|(_, report, _)| report.clone()).collect(),
            batch: self.batch(say, place, day),
            ..ask(Tier::Pro, say.holder, self.seqs[place])
        };
        self.said.push(ask.clone());
        ask
    }

    fn batch(&mut self, say: &Saying, place: usize, day: UtcDay) -> Option<Batch> {
        let net = self.net.entry(day).or_default();
        let refunds = say.refunds.min(u32::try_from(*net).unwrap_or(0));
        (refunds + say.debts > 0).then(|| {
            self.batches[place] += 1;
            *net -= i64::from(refunds);
            Batch { number: self.batches[place], day, refunds, debts: say.debts, ended: vec![] }
        })
    }

    /// Takes an answer in; `new` unless the ask had been said before.
    fn take(&mut self, ask: &MeterRequest, answer: &MeterResponse, new: bool) {
        if let (true, Some(terms)) = (new, answer.lease) {
            let report = Report { lease: terms.id, spent: vec![], closed: false };
            self.leases.push((ask.holder, report, terms.calls));
            *self.net.entry(answer.day).or_default() += i64::from(terms.calls);
        }
        if new && answer.verdict == Verdict::Allow {
            *self.net.entry(answer.day).or_default() += 1;
        }
    }
}

proptest! {
    #[test]
    fn what_is_counted_and_lent_never_exceeds_the_limit_and_survives_a_restart_at_every_step(
        sayings in vec(saying(), 1..120),
        late in any::<bool>(),
    ) {
        let mut now = if late { MIDNIGHT.minus(20_000) } else { NOON };
        let mut meter = Meter::default();
        tell(&mut meter, &MeterRequest { record: Some(record(Tier::Pro, 1)), ..ask(Tier::Pro, 9, 0) }, now);
        let mut holders = Holders::default();
        let mut debts = 0;
        for say in &sayings {
            now = now.plus(say.passes_ms);
            let before = holders.said.len();
            let ask = holders.next(say, meter_day(&meter, now));
            let new = holders.said.len() > before;
            let mut twin = restarted(&meter);
            let answer = tell(&mut meter, &ask, now);
            prop_assert_eq!(tell(&mut twin, &ask, now), answer.clone());
            prop_assert_eq!(&twin, &meter);
            holders.take(&ask, &answer, new);
            debts += ask.batch.filter(|_| new).map_or(0, |batch| batch.debts);
            let reading = reading(&meter, Tier::Pro, now);
            // Debts were let through elsewhere and may exceed the limit; nothing else may.
            prop_assert!(reading.minute_used + reading.reserved <= 100 + debts);
        }
    }

    #[test]
    fn reports_merge_to_the_same_count_in_any_order_and_number(
        spends in vec(0u32..4, 1..8),
        order in vec(any::<prop::sample::Index>(), 0..20),
    ) {
        let mut meter = Meter::default();
        let asked = MeterRequest { rate: 4_000, record: Some(record(Tier::Pro, 1)), ..ask(Tier::Pro, 1, 1) };
        let terms = tell(&mut meter, &asked, NOON).lease.unwrap();
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
            let said = MeterRequest { want: false, reports: vec![report], ..ask(Tier::Pro, 1, seq) };
            tell(&mut meter, &said, NOON.plus(3_000));
        }
        let spent = spends.iter().sum::<u32>().min(terms.calls);
        let reading = reading(&meter, Tier::Pro, NOON.plus(3_000));
        prop_assert_eq!(reading.minute_used, 1 + spent);
        prop_assert_eq!(reading.reserved, terms.calls - spent);
    }

    #[test]
    fn a_denied_call_passes_at_the_moment_named_whatever_becomes_of_the_leases(
        rates in vec((0u64..4, 1_000u32..60_000), 1..8),
        gaps in vec(0u64..3_000, 150),
    ) {
        let mut meter = Meter::default();
        let mut now = NOON;
        tell(&mut meter, &MeterRequest { record: Some(record(Tier::Pro, 1)), ..ask(Tier::Pro, 9, 0) }, now);
        for (seq, &(holder, rate)) in (1..).zip(&rates) {
            tell(&mut meter, &MeterRequest { rate, ..ask(Tier::Pro, holder, seq) }, now);
        }
        for (seq, gap) in (1..).zip(gaps) {
            now = now.plus(gap / 10);
            let answer = tell(&mut meter, &ask(Tier::Pro, 9, seq), now);
            if let Verdict::Deny(denial) = answer.verdict {
                let then = now.plus(denial.retry_ms);
                let verdict = tell(&mut meter.clone(), &ask(Tier::Pro, 9, seq + 1), then).verdict;
                prop_assert_eq!(verdict, Verdict::Allow);
                now = now.plus(gap);
            }
        }
    }
}

fn meter_day(meter: &Meter, now: UnixMillis) -> UtcDay {
    reading(meter, Tier::Pro, now).answer.day
}

#[test]
fn a_question_asked_again_gets_the_same_answer_and_is_counted_once() {
    let mut meter = Meter::default();
    let asked = MeterRequest { rate: 10_000, record: Some(record(Tier::Pro, 1)), ..ask(Tier::Pro, 1, 1) };
    let first = tell(&mut meter, &asked, NOON);
    let again = tell(&mut restarted(&meter), &asked, NOON.plus(150));
    assert_eq!((first.verdict, first.lease.is_some()), (Verdict::Allow, true));
    assert_eq!((again.verdict, again.lease, again.day), (first.verdict, first.lease, first.day));
    tell(&mut meter, &asked, NOON.plus(150));
    assert_eq!(reading(&meter, Tier::Pro, NOON).minute_used, 1);
}

#[test]
fn a_refusal_is_not_repeated_to_a_question_that_now_shows_the_record() {
    let mut meter = Meter::default();
    let late = NOON.plus(3_600_001);
    assert_eq!(tell(&mut meter, &ask(Tier::Pro, 1, 1), late).verdict, Verdict::Refuse(KeyFault::Invalid));
    let shown = MeterRequest { record: Some(record(Tier::Pro, 1)), ..ask(Tier::Pro, 1, 1) };
    assert_eq!(tell(&mut meter, &shown, late).verdict, Verdict::Allow);
}

#[test]
fn an_answer_is_not_repeated_long_after() {
    let mut meter = Meter::default();
    let asked = MeterRequest { record: Some(record(Tier::Free, 1)), ..ask(Tier::Free, 1, 1) };
    tell(&mut meter, &asked, NOON);
    tell(&mut meter, &asked, NOON.plus(5_000));
    assert_eq!(reading(&meter, Tier::Free, NOON.plus(5_000)).minute_used, 2);
}

#[test]
fn a_background_question_asked_again_gets_the_same_lease() {
    let mut meter = Meter::default();
    tell(&mut meter, &MeterRequest { record: Some(record(Tier::Pro, 1)), ..ask(Tier::Pro, 9, 1) }, NOON);
    let asked = MeterRequest { want: false, rate: 10_000, ..ask(Tier::Pro, 1, 1) };
    let first = tell(&mut meter, &asked, NOON);
    assert!(first.lease.is_some());
    assert_eq!(tell(&mut meter, &asked, NOON.plus(150)).lease, first.lease);
}

#[test]
fn a_free_key_gets_no_lease() {
    let mut meter = Meter::default();
    let asked = MeterRequest { rate: 60_000, record: Some(record(Tier::Free, 1)), ..ask(Tier::Free, 1, 1) };
    assert_eq!(tell(&mut meter, &asked, NOON).lease, None);
}

#[test]
fn what_is_lent_and_not_reported_counts_as_spent_at_the_leases_end() {
    let mut meter = Meter::default();
    let asked = MeterRequest { rate: 10_000, record: Some(record(Tier::Pro, 1)), ..ask(Tier::Pro, 1, 1) };
    let calls = tell(&mut meter, &asked, NOON).lease.unwrap().calls;
    let before = reading(&meter, Tier::Pro, NOON.plus(TTL_MS - 1));
    assert_eq!((before.minute_used, before.reserved), (1, calls));
    let after = reading(&meter, Tier::Pro, NOON.plus(TTL_MS));
    assert_eq!((after.minute_used, after.reserved), (1 + calls, 0));
}

#[test]
fn a_closed_lease_gives_back_what_was_not_spent() {
    let mut meter = Meter::default();
    let asked = MeterRequest { rate: 10_000, record: Some(record(Tier::Pro, 1)), ..ask(Tier::Pro, 1, 1) };
    let terms = tell(&mut meter, &asked, NOON).lease.unwrap();
    let report = Report { lease: terms.id, spent: vec![(3, 2)], closed: true };
    let said = MeterRequest { want: false, reports: vec![report], ..ask(Tier::Pro, 1, 2) };
    tell(&mut meter, &said, NOON.plus(1_500));
    let reading = reading(&meter, Tier::Pro, NOON.plus(1_500));
    assert_eq!((reading.minute_used, reading.reserved), (3, 0));
}

#[test]
fn no_lease_outlasts_its_day_and_none_is_granted_in_a_days_last_moments() {
    for (before, ttl) in [(30_000, Some(TTL_MS)), (5_000, Some(5_000)), (1_500, None)] {
        let mut meter = Meter::default();
        let stored = Some(record(Tier::Pro, 1));
        let asked = MeterRequest { rate: 10_000, record: stored, ..ask(Tier::Pro, 1, 1) };
        let lease = tell(&mut meter, &asked, MIDNIGHT.minus(before)).lease;
        assert_eq!(lease.map(|terms| terms.ttl_ms), ttl);
    }
}

fn batch(number: u32, refunds: u32) -> Batch {
    Batch { number, day: NOON.day(), refunds, debts: 0, ended: vec![(Tool::Qr, 503, refunds)] }
}

#[test]
fn a_batch_is_taken_once_and_acknowledged_every_time() {
    let mut meter = Meter::default();
    for seq in 0..8 {
        tell(
            &mut meter,
            &MeterRequest { record: Some(record(Tier::Free, 1)), ..ask(Tier::Free, 1, seq) },
            NOON,
        );
    }
    for seq in 10..13 {
        let said = MeterRequest { want: false, batch: Some(batch(1, 3)), ..ask(Tier::Free, 1, seq) };
        assert_eq!(tell(&mut meter, &said, NOON).batch, 1);
    }
    let reading = reading(&meter, Tier::Free, NOON);
    assert_eq!((reading.minute_used, reading.day_used), (8, 5));
    assert_eq!(reading.tally.by_status.get(&503), Some(&3));
}

#[test]
fn beyond_the_holders_that_are_told_apart_nothing_is_given_back_and_debts_still_count() {
    let mut meter = Meter::default();
    for seq in 0..8 {
        tell(
            &mut meter,
            &MeterRequest { record: Some(record(Tier::Free, 1)), ..ask(Tier::Free, 1, seq) },
            NOON,
        );
    }
    for holder in 0..200 {
        let said = MeterRequest { want: false, batch: Some(batch(1, 0)), ..ask(Tier::Free, holder, 9) };
        tell(&mut meter, &said, NOON);
    }
    let surplus = Batch { debts: 1, ..batch(1, 2) };
    for seq in 0..2 {
        let said = MeterRequest { want: false, batch: Some(surplus.clone()), ..ask(Tier::Free, 500, seq) };
        assert_eq!(tell(&mut meter, &said, NOON).batch, 1);
    }
    assert_eq!(reading(&meter, Tier::Free, NOON).day_used, 10);
}

#[test]
fn a_refund_of_yesterday_changes_nothing_today() {
    let mut meter = Meter::default();
    let today = MIDNIGHT.plus(1_000);
    for seq in 0..5 {
        tell(
            &mut meter,
            &MeterRequest { record: Some(record(Tier::Free, 1)), ..ask(Tier::Free, 1, seq) },
            today,
        );
    }
    let said = MeterRequest { want: false, batch: Some(batch(1, 3)), ..ask(Tier::Free, 1, 9) };
    tell(&mut meter, &said, today);
    assert_eq!(reading(&meter, Tier::Free, today).day_used, 5);
}

#[test]
fn a_fresh_key_that_no_store_shows_works_at_once_and_an_old_one_does_not() {
    let mut meter = Meter::default();
    let answer = tell(&mut meter, &MeterRequest { rate: 10_000, ..ask(Tier::Pro, 1, 1) }, NOON.plus(1_000));
    assert_eq!((answer.verdict, answer.lease.is_some()), (Verdict::Allow, true));
    // Without the record its holder could not spend the lease.
    assert_eq!(answer.record.map(|record| record.version), Some(0));
    assert_eq!(meter.unstored(), None, "a provisional record is not written over the stored one");
    let late = tell(&mut Meter::default(), &ask(Tier::Pro, 1, 1), NOON.plus(3_600_001));
    assert_eq!(late.verdict, Verdict::Refuse(KeyFault::Invalid));
}

#[test]
fn another_secret_of_a_fresh_key_is_refused() {
    let mut meter = Meter::default();
    tell(&mut meter, &ask(Tier::Free, 1, 1), NOON);
    let forged = MeterRequest { key: key_with(Tier::Free, NOON, 2), ..ask(Tier::Free, 1, 2) };
    assert_eq!(tell(&mut meter, &forged, NOON).verdict, Verdict::Refuse(KeyFault::Invalid));
}

#[test]
fn a_newer_record_is_taken_over_and_an_older_one_is_not() {
    let mut meter = Meter::default();
    tell(&mut meter, &ask(Tier::Free, 1, 1), NOON);
    for (version, tier, shown) in
        [(2, Tier::Pro, 100), (1, Tier::Enterprise, 100), (3, Tier::Enterprise, 500)]
    {
        let seq = u32::try_from(version).unwrap() + 5;
        let stored = KeyRecord { tier, ..record(Tier::Free, version) };
        let said = MeterRequest { version, record: Some(stored), ..ask(Tier::Free, 1, seq) };
        assert_eq!(tell(&mut meter, &said, NOON).standing.unwrap().minute.limit, shown);
    }
    assert_eq!(meter.unstored(), None, "what a store showed is stored");
}

#[test]
fn the_record_comes_with_the_answer_to_whoever_has_an_older_one() {
    let mut meter = Meter::default();
    tell(&mut meter, &MeterRequest { record: Some(record(Tier::Free, 4)), ..ask(Tier::Free, 1, 1) }, NOON);
    let older = tell(&mut meter, &MeterRequest { version: 3, ..ask(Tier::Free, 2, 1) }, NOON);
    assert_eq!(older.record.map(|record| record.version), Some(4));
    let same = tell(&mut meter, &MeterRequest { version: 4, ..ask(Tier::Free, 2, 2) }, NOON);
    assert_eq!((same.record, same.version), (None, 4));
}

#[test]
fn a_patch_changes_what_it_names_and_null_is_not_absence() {
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
        assert_eq!(changed, Changed::Done(KeyRecord { version: 2, ..expected }), "{text}");
        assert_eq!(meter.unstored().map(|record| record.version), Some(2));
        meter.handle(Message::Stored { version: 2 }, NOON);
        assert_eq!(restarted(&meter).unstored(), None);
    }
    let unchanged = change(&mut Meter::default(), Some(stored.clone()), parse(&patch()), NOON);
    assert_eq!(unchanged, Changed::Done(stored), "nothing named, nothing written");
}

#[test]
fn a_change_reads_back_from_its_text() {
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
fn a_revoked_key_is_refused_with_the_next_call_and_stays_revoked() {
    let mut meter = Meter::default();
    let stored = Some(record(Tier::Free, 1));
    let asked = MeterRequest { record: stored.clone(), ..ask(Tier::Free, 1, 1) };
    tell(&mut meter, &asked, NOON);
    change(&mut meter, stored, Change::Revoke, NOON.plus(1));
    for seq in 1..3 {
        // Sequence number 1 again: even an answer given before is not repeated.
        let verdict = tell(&mut meter, &ask(Tier::Free, 1, seq), NOON.plus(2)).verdict;
        assert_eq!(verdict, Verdict::Refuse(KeyFault::Revoked));
    }
    assert_eq!(
        change(&mut meter, None, parse(&json!({"patch": {"disabled": false}})), NOON),
        Changed::Revoked
    );
    assert_eq!(change(&mut meter, None, Change::Revoke, NOON), Changed::Revoked);
}

#[test]
fn a_key_that_no_store_shows_can_be_ended_but_not_changed() {
    let mut meter = Meter::default();
    assert_eq!(change(&mut meter, None, Change::Revoke, NOON), Changed::Unknown);
    tell(&mut meter, &ask(Tier::Free, 1, 1), NOON);
    assert_eq!(change(&mut meter, None, parse(&json!({"patch": {"tier": "pro"}})), NOON), Changed::Unknown);
    let Changed::Done(ended) = change(&mut meter, None, Change::Revoke, NOON) else { panic!("not revoked") };
    assert_eq!(ended.version, 2, "above the version that issuing wrote");
    let stored = MeterRequest { record: Some(record(Tier::Free, 1)), ..ask(Tier::Free, 1, 2) };
    assert_eq!(tell(&mut meter, &stored, NOON).verdict, Verdict::Refuse(KeyFault::Revoked));
}

#[test]
fn a_rotation_keeps_usage_and_grace_and_may_be_repeated() {
    let mut meter = Meter::default();
    let old = ask(Tier::Free, 1, 1);
    tell(&mut meter, &MeterRequest { record: Some(record(Tier::Free, 1)), ..old.clone() }, NOON);
    let fresh = key_with(Tier::Free, NOON, 2);
    let rotate = Change::Rotate { secret: fresh.secret, grace_ms: 60_000 };
    let once = change(&mut meter, None, rotate.clone(), NOON);
    assert_eq!(change(&mut meter, None, rotate, NOON.plus(500)), once);
    let verdict = |meter: &mut Meter, key, seq, at| {
        tell(meter, &MeterRequest { key, ..ask(Tier::Free, 1, seq) }, NOON.plus(at)).verdict
    };
    assert_eq!(verdict(&mut meter, old.key, 2, 59_999), Verdict::Allow);
    assert_eq!(verdict(&mut meter, fresh, 3, 59_999), Verdict::Allow);
    assert_eq!(verdict(&mut meter, old.key, 4, 60_000), Verdict::Refuse(KeyFault::Invalid));
    assert_eq!(reading(&meter, Tier::Free, NOON.plus(60_000)).day_used, 3);
}

#[test]
fn the_eleventh_wrong_admin_secret_within_a_minute_is_denied() {
    let mut meter = Meter::default();
    let begin = |meter: &mut Meter, at| meter.handle(Message::Attempt(Attempt::Wrong), NOON.plus(at));
    for at in 0..10 {
        assert!(matches!(begin(&mut meter, at), Reply::Attempt(Decision::Allow(_))));
    }
    assert!(matches!(begin(&mut restarted(&meter), 10), Reply::Attempt(Decision::Deny(..))));
    assert!(matches!(begin(&mut meter, 61_000), Reply::Attempt(Decision::Allow(_))));
}

#[test]
fn a_right_admin_secret_lets_its_address_start_afresh() {
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
fn holder_of_a_revoked_key_is_erased_and_nothing_else_of_it_changes() {
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
    assert_eq!(change(patch(Some(Tier::Pro), Some(None))), Changed::Revoked);
    let erased = KeyRecord { version: 2, holder: None, ..stored.clone() };
    assert_eq!(change(patch(None, Some(None))), Changed::Done(erased));
    let corrected = KeyRecord { version: 3, ..stored.clone() };
    assert_eq!(change(patch(None, Some(Some(holder)))), Changed::Done(corrected));
}

/// Adds a field that this version does not know to every object within.
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
fn messages_and_state_of_a_newer_version_are_understood() {
    let mut meter = Meter::default();
    let stored = KeyRecord { limits: LimitOverrides::default(), ..record(Tier::Pro, 1) };
    let asked = Message::Ask(MeterRequest {
        rate: 10_000,
        record: Some(stored),
        batch: Some(batch(1, 1)),
        reports: vec![Report { lease: 1, spent: vec![(0, 1)], closed: false }],
        ..ask(Tier::Pro, 1, 1)
    });
    let mut text = serde_json::to_value(&asked).unwrap();
    // The key's own limits are strict everywhere, since a client writes them.
    text["ask"]["record"].as_object_mut().unwrap().remove("limits");
    with_unknown_fields(&mut text);
    text["ask"]["batch"]["ended"].as_array_mut().unwrap().push(json!(["hologram", 200, 1]));
    assert_eq!(serde_json::from_value::<Message>(text).unwrap(), asked);

    let reply = meter.handle(asked, NOON);
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
fn messages_and_state_of_an_older_version_are_understood() {
    let asked = ask(Tier::Free, 1, 1);
    let mut text = serde_json::to_value(Message::Ask(asked.clone())).unwrap();
    let fields = text["ask"].as_object_mut().unwrap();
    for optional in ["rate", "record", "version", "reports", "batch"] {
        fields.remove(optional);
    }
    assert_eq!(serde_json::from_value::<Message>(text).unwrap(), Message::Ask(asked));

    let answer: MeterResponse = serde_json::from_value(json!({"verdict": "allow"})).unwrap();
    assert_eq!((answer.batch, answer.day, answer.recheck_ms), (0, UtcDay(0), None));
    assert_eq!(serde_json::from_value::<Meter>(json!({})).unwrap(), Meter::default());
}

#[test]
fn the_state_of_the_busiest_key_is_stored_in_a_few_kilobytes() {
    let mut meter = Meter::default();
    let limits = LimitOverrides { minute: 100_000.try_into().ok(), day: None };
    let stored = KeyRecord { limits, ..record(Tier::Enterprise, 1) };
    tell(&mut meter, &MeterRequest { record: Some(stored), ..ask(Tier::Enterprise, 1, 0) }, NOON);
    for seq in 1..6_000u32 {
        let now = NOON.plus(u64::from(seq) * 20);
        // Leases of 24 isolates at a time, each reporting its latest spends.
        let holder = u64::MAX - u64::from(seq % 24);
        let rate = if seq % 100 < 24 { 10_000 } else { 0 };
        tell(&mut meter, &MeterRequest { rate, ..ask(Tier::Enterprise, holder, seq) }, now);
    }
    let size = serde_json::to_string(&meter).unwrap().len();
    assert!(size < 20_000, "{size} bytes");
}
