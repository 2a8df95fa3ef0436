//! A [`Counter`] and a [`Meter`] that get the same calls decide and report the same.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::num::NonZeroU32;

use proptest::collection::vec;
use proptest::prelude::*;
use shared::counter::{Counter, CounterError};
use shared::key::{ApiKey, KeyEnv, KeyId, KeyRecord, VerifiedKey};
use shared::meter::{
    Batch, CallBatch, HeldShare, Message, Meter, MeterRequest, MeterSnapshot, Reply, Verdict,
};
use shared::policy::LimitOverrides;
use shared::quota::{Clock, Counts as _, Decision, QuotaStatus};
use shared::secret::MacKeys;
use shared::tier::Tier;
use shared::time::{UnixMillis, UtcDay};
use shared::tool::Tool;

/// Ten minutes before a midnight, so that days end.
const START: UnixMillis = UnixMillis(1_763_769_600_000 - 600_000);

/// One key with its meter and its counter.
struct Pair {
    machine: u64,
    key: VerifiedKey,
    record: KeyRecord,
    meter: Meter,
    seq: u32,
    batches: u32,
    counter: Counter,
    clock: Clock,
    in_flight: Vec<UtcDay>,
}

#[derive(Clone, Debug)]
enum Step {
    Wait(i64),
    Calls(u32),
    End { tool: Tool, status: u16, uncharged: bool },
    Change(Tier, Option<NonZeroU32>),
    Restart,
}

/// What counts no more is not handed to the next process.
#[test]
fn counter_is_written_until_its_day_is_over() {
    let midnight = START.plus(600_000);
    for (used_at, at, is_written) in [
        (START, START.plus(300_000), true),
        (START, midnight.minus(1), true),
        (START, midnight, false),
        (midnight.minus(1_000), midnight.plus(59_000), true),
        (midnight.minus(1_000), midnight.plus(61_000), false),
    ] {
        let (mut counter, mut out) = (Counter::default(), Vec::new());
        counter.count(used_at);
        counter.write(&KeyId::new([1; 12]), at, &mut out);
        assert_eq!(!out.is_empty(), is_written, "{used_at:?} {at:?}");
    }
}

fn step() -> impl Strategy<Value = Step> {
    let tool = proptest::sample::select(&Tool::ALL[..]);
    let tier = (0u8..3).prop_map(|code| Tier::from_code(code).unwrap());
    prop_oneof![
        4 => (0i64..3_000).prop_map(Step::Wait),
        1 => (-10_000i64..100_000).prop_map(Step::Wait),
        1 => (0i64..100_000_000).prop_map(Step::Wait),
        6 => (1u32..4).prop_map(Step::Calls),
        1 => (1u32..600).prop_map(Step::Calls),
        6 => (tool, 200u16..204, any::<bool>())
            .prop_map(|(tool, status, uncharged)| Step::End { tool, status, uncharged }),
        1 => (tier, proptest::option::of(1u32..40))
            .prop_map(|(tier, minute)| Step::Change(tier, minute.and_then(NonZeroU32::new))),
        1 => Just(Step::Restart),
    ]
}

impl Pair {
    fn new(tier: Tier) -> Self {
        let keys = MacKeys::parse("0123456789abcdef0123456789abcdef").unwrap();
        let (_, key) = ApiKey::mint(KeyEnv::Live, KeyId::new([1; 12]), tier, START, [2; 16], &keys);
        Self {
            machine: START.0,
            key,
            record: KeyRecord { version: 1, ..KeyRecord::provisional(&key) },
            meter: Meter::default(),
            seq: 0,
            batches: 0,
            counter: Counter::default(),
            clock: Clock::default(),
            in_flight: Vec::new(),
        }
    }

    fn request(&mut self, want: bool, batch: Option<Batch>) -> MeterRequest {
        self.seq += 1;
        let (record, version) = (Some(self.record.clone()), self.record.version);
        MeterRequest {
            holder: 1,
            seq: self.seq,
            key: self.key,
            want,
            tool: None,
            units: 0,
            admit_within_ms: 300,
            retry: false,
            unread: false,
            withdrawn: Vec::new(),
            rate: 0,
            record,
            version,
            reports: vec![],
            batch,
            budget: HeldShare::default(),
        }
    }

    fn now(&mut self) -> UnixMillis {
        self.clock.read(UnixMillis(self.machine))
    }

    fn call(&mut self) {
        let request = self.request(true, None);
        let Reply::Ask(response) = self.meter.handle(Message::Ask(request), UnixMillis(self.machine)) else {
            panic!("another reply")
        };
        let now = self.now();
        let (verdict, quota): (Verdict, QuotaStatus) = match self.counter.admit(&self.record.policy(), now) {
            Decision::Allow(quota) => {
                self.in_flight.push(now.day());
                (Verdict::Allow, quota)
            }
            Decision::Deny(denial, quota) => (Verdict::Deny(denial), quota),
        };
        assert_eq!((verdict, Some(quota)), (response.verdict, response.quota));
        assert_eq!(response.day, now.day());
    }

    fn end(&mut self, tool: Tool, status: u16, uncharged: bool) {
        let Some(day) = self.in_flight.pop() else { return };
        self.batches += 1;
        let refunds = u32::from(uncharged);
        let batch = Batch {
            number: self.batches,
            since: UnixMillis(u64::MAX),
            day,
            refunds,
            debts: 0,
            ended: vec![(tool.label(), status, 1)],
            corrected: Vec::new(),
            calls: CallBatch::default(),
            returned: Vec::new(),
            secrets: Vec::new(),
        };
        let request = self.request(false, Some(batch));
        self.meter.handle(Message::Ask(request), UnixMillis(self.machine));
        let now = self.now();
        self.counter.record_outcome(tool, status, uncharged.then_some(day), now);
    }

    fn compare(&mut self) {
        let request = self.request(false, None);
        let Reply::Read(meter) = self.meter.handle(Message::Read(request), UnixMillis(self.machine)) else {
            panic!("another reply")
        };
        let now = self.now();
        let counter = self.counter.read(self.record.clone(), now);
        let facts = |snapshot: &MeterSnapshot| {
            let tally = (snapshot.tally.by_tool.clone(), snapshot.tally.by_status.clone());
            let used = (snapshot.minute_used, snapshot.day_used, snapshot.last_used);
            (used, tally, snapshot.response.quota, snapshot.record.clone(), snapshot.response.day)
        };
        assert_eq!(facts(&counter), facts(&meter));
    }

    /// Reads the counter back from its bytes, unless nothing of it counts any more.
    fn restart(&mut self) {
        let now = self.now();
        let mut bytes = Vec::new();
        self.counter.write(&self.key.id, now, &mut bytes);
        match Counter::read_next(&mut bytes.as_slice()).unwrap() {
            Some((id, counter)) => {
                assert_eq!(id, self.key.id);
                self.counter = counter;
            }
            None => {
                let snapshot = self.counter.read(self.record.clone(), now);
                assert_eq!((snapshot.minute_used, snapshot.day_used), (0, 0));
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn counter_decides_and_reports_as_a_meter(steps in vec(step(), 1..60), tier in 0u8..3) {
        let mut pair = Pair::new(Tier::from_code(tier).unwrap());
        for step in steps {
            match step {
                Step::Wait(ms) => pair.machine = pair.machine.saturating_add_signed(ms),
                Step::Calls(calls) => (0..calls).for_each(|_| pair.call()),
                Step::End { tool, status, uncharged } => pair.end(tool, status, uncharged),
                Step::Change(tier, minute) => {
                    pair.record.tier = tier;
                    pair.record.limits = LimitOverrides { minute, ..LimitOverrides::NONE };
                    pair.record.version += 1;
                }
                Step::Restart => pair.restart(),
            }
            pair.compare();
        }
    }

    #[test]
    fn any_bytes_are_counters_or_the_place_of_an_error(bytes in vec(any::<u8>(), 0..200)) {
        let mut rest = bytes.as_slice();
        loop {
            let before = rest.len();
            match Counter::read_next(&mut rest) {
                Ok(Some((id, counter))) => {
                    prop_assert!(rest.len() < before);
                    // What is read can be stored again: nothing of a damaged file spreads.
                    let mut written = Vec::new();
                    counter.write(&id, START, &mut written);
                    let again = Counter::read_next(&mut written.as_slice());
                    prop_assert!(written.is_empty() || again.is_ok_and(|read| read.is_some_and(|(of, _)| of == id)));
                }
                Ok(None) => break prop_assert_eq!(before, 0),
                Err(CounterError { unread }) => break prop_assert_eq!(unread, before),
            }
        }
    }
}

#[test]
fn truncated_counter_is_an_error() {
    let mut counter = Counter::default();
    counter.admit(&KeyRecord::provisional(&Pair::new(Tier::Pro).key).policy(), START);
    let mut bytes = Vec::new();
    counter.write(&KeyId::new([1; 12]), START, &mut bytes);
    for length in 1..bytes.len() {
        assert_eq!(
            Counter::read_next(&mut &bytes[..length]).err(),
            Some(CounterError { unread: length }),
            "{length}"
        );
    }
}

#[test]
fn counter_is_over_a_day_after_its_last_call() {
    let policy = KeyRecord::provisional(&Pair::new(Tier::Pro).key).policy();
    let mut counter = Counter::default();
    counter.admit(&policy, START);
    let next_day = START.day().end();
    assert!(!counter.is_over(START) && !counter.is_over(next_day));
    assert!(!counter.is_over(next_day.plus(23 * 3_600_000)));
    assert!(counter.is_over(next_day.day().end()));
}

#[test]
fn counter_that_holds_a_minute_of_a_clock_ahead_is_not_over() {
    let (mut counter, ahead) = (Counter::default(), START.plus(4 * 86_400_000));
    counter.count(ahead);
    counter.record_outcome(Tool::Qr, 503, Some(ahead.day()), START);
    assert_eq!((counter.in_minute(), counter.in_day()), (1, 0));
    assert!(!counter.is_over(START.plus(2 * 86_400_000)));
}

#[test]
fn aborted_response_is_refunded_once_and_to_its_day() {
    let record = KeyRecord::provisional(&Pair::new(Tier::Pro).key);
    let (mut counter, day) = (Counter::default(), START.day());
    for (status, uncharged) in [(200, false), (200, false), (503, true)] {
        counter.admit(&record.policy(), START);
        counter.record_outcome(Tool::Qr, status, uncharged.then_some(day), START);
    }
    for status in [200, 200, 503] {
        counter.record_aborted(Tool::Qr, status, day, START);
    }
    let snapshot = counter.read(record.clone(), START);
    assert_eq!((snapshot.minute_used, snapshot.day_used), (3, 0));
    assert_eq!(snapshot.tally.by_tool, [(Tool::Qr.label(), 3)].into());
    assert_eq!(snapshot.tally.by_status, [(503, 3)].into());
    let next_day = day.end();
    counter.count(next_day);
    counter.record_aborted(Tool::Qr, 200, day, next_day);
    assert_eq!(counter.read(record, next_day).day_used, 1, "a day that is over takes no refund");
}

#[test]
fn counter_takes_72_bytes() {
    assert_eq!(size_of::<Counter>(), 72);
}

/// A clock that was four days ahead has used up the key's minute and its day.
#[test]
fn counts_of_a_clock_that_was_ahead_are_dropped() {
    let mut record = KeyRecord::provisional(&Pair::new(Tier::Free).key);
    record.limits =
        LimitOverrides { minute: NonZeroU32::new(5), day: NonZeroU32::new(5), ..LimitOverrides::NONE };
    let policy = record.policy();
    let ahead = START.plus(4 * 86_400_000);
    let mut counter = Counter::default();
    assert_eq!((0..9).filter(|_| matches!(counter.admit(&policy, ahead), Decision::Allow(_))).count(), 5);
    assert!(counter.drop_future(START));
    assert_eq!((0..9).filter(|_| matches!(counter.admit(&policy, START), Decision::Allow(_))).count(), 5);
    let Decision::Deny(denial, _) = counter.admit(&policy, START) else { panic!("the day is used up") };
    assert!(denial.retry_ms <= 86_400_000, "{denial:?}");
}

#[test]
fn counts_of_clocks_that_differ_little_are_kept() {
    for ahead_ms in [0, 1_000, 60_000, 61_000] {
        let mut counter = Counter::default();
        (0..300).for_each(|_| counter.count(START.plus(ahead_ms)));
        assert!(!counter.drop_future(START), "{ahead_ms}");
        assert_eq!((counter.in_minute(), counter.in_day()), (300, 300));
    }
    // Only the minute's later calls are dropped, and the day stays the same.
    let mut counter = Counter::default();
    (0..300).for_each(|_| counter.count(START.plus(30_000)));
    (0..7).for_each(|_| counter.count(START.plus(61_250)));
    assert!(counter.drop_future(START));
    assert_eq!((counter.in_minute(), counter.in_day()), (300, 307));
}
