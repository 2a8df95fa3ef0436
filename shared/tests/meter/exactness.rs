//! No order, repetition or loss of messages changes what a meter counts.

use proptest::collection::vec;
use proptest::prelude::*;
use shared::meter::{Batch, CallBatch, LeaseReport, Meter, MeterRequest, MeterResponse, Verdict};
use shared::tier::Tier;
use shared::time::{UnixMillis, UtcDay};

use crate::{MIDNIGHT, NOON, record, request, restarted, send, snapshot};

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
    leases: Vec<(u64, LeaseReport, u32)>,
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
            Batch {
                number: self.batches[place],
                since: UnixMillis(u64::MAX),
                day,
                refunds,
                debts: step.debts,
                ended: vec![],
                corrected: Vec::new(),
                calls: CallBatch::default(),
                returned: Vec::new(),
                secrets: Vec::new(),
            }
        })
    }

    /// Records a response. `new` unless the request was sent before.
    fn take(&mut self, request: &MeterRequest, response: &MeterResponse, new: bool) {
        if let (true, Some(terms)) = (new, response.lease) {
            let report = LeaseReport { lease: terms.id, spent: vec![], closed: false };
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
            meter.take_ended_hour();
            meter.take_raised_alerts();
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
            reports.push(LeaseReport { lease: terms.id, spent: totals.clone(), closed: false });
        }
        let last = reports.last().unwrap().clone();
        let mut shuffled: Vec<LeaseReport> = order.iter().map(|at| at.get(&reports).clone()).collect();
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
