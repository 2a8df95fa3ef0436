//! The course of events.

use std::{cmp::Reverse, collections::BinaryHeap};

use shared::{
    key::{ApiKey, KeyEnv, KeyId, KeyRecord, KeyStatus, VerifiedKey},
    lease_cache::{Admission, Charge, METER_TIMEOUT_MS, Step},
    meter::{ChangeOutcome, Message, MeterRequest, MeterResponse, Reply, Verdict},
    secret::MacKeys,
    time::UnixMillis,
    tool::Tool,
};

use super::{
    Demand, Limiter, Outcome, Pace, Rng, Scenario,
    client::Seen,
    clock::MachineClock,
    ideal::Ideal,
    isolate::Isolate,
    object::{Fate, Object},
};

/// An ask that was not answered by then is sent again; both may still be answered.
const RETRY_AFTER_MS: u64 = METER_TIMEOUT_MS / 2;

/// How long a request may go on in the background (`waitUntil`), and how many leases it renews.
const BACKGROUND_MS: u64 = 29_000;
const MAX_RENEWALS: u8 = 2;

/// When calls have come in for the last time, what they began is played out.
const AFTERMATH_MS: u64 = 15_000;

/// How long demand stays quiet, or busy.
const WAVE_MS: u64 = 20_000;

pub(super) struct World<'a> {
    scenario: &'a Scenario,
    limiter: Limiter,
    rng: Rng,
    key: VerifiedKey,
    now: u64,
    queue: BinaryHeap<Reverse<Scheduled>>,
    scheduled: u64,
    isolates: Vec<Isolate>,
    object: Object,
    exchanges: Vec<Exchange>,
    ideal: Ideal,
    record: KeyRecord,
    outcome: Outcome,
    told_to_call: bool,
}

/// A question on its way, and who waits for the answer.
struct Exchange {
    isolate: usize,
    life: u32,
    ask: MeterRequest,
    /// By the isolate's clock.
    sent: UnixMillis,
    background: Background,
    waiting: Option<Waiting>,
    /// When the meter first let the call pass.
    decided: Option<u64>,
    over: bool,
}

/// A call that waits.
#[derive(Clone, Copy)]
struct Waiting {
    fails: bool,
}

/// What a request does once its client is served.
#[derive(Clone, Copy)]
struct Background {
    born: u64,
    renewals: u8,
}

enum Event {
    Call { isolate: usize, fails: bool },
    AtMeter(usize),
    AtIsolate(usize, Box<MeterResponse>),
    Retry(usize),
    Deadline(usize),
    Timer { isolate: usize, life: u32, background: Background },
    Ended { isolate: usize, life: u32, fails: bool, charge: Charge },
    Change(usize),
}

struct Scheduled {
    at: u64,
    order: u64,
    event: Event,
}

impl<'a> World<'a> {
    pub(super) fn new(scenario: &'a Scenario, limiter: Limiter, seed: u64) -> Self {
        let mut rng = Rng::new(seed);
        let signing = MacKeys::parse("0123456789abcdef0123456789abcdef").unwrap();
        let issued = UnixMillis(scenario.start - 60_000);
        let key = ApiKey::mint(KeyEnv::Live, KeyId::new([1; 12]), scenario.tier, issued, [2; 16], &signing).1;
        let isolates = (0..scenario.isolates).map(|place| Isolate::new(scenario, place, &mut rng)).collect();
        let clock = MachineClock::new(0, scenario.start, &scenario.faults.meter_steps);
        let record = KeyRecord { version: 1, limits: scenario.limits, ..KeyRecord::provisional(&key) };
        Self {
            scenario,
            limiter,
            rng,
            key,
            now: scenario.start,
            queue: BinaryHeap::new(),
            scheduled: 0,
            isolates,
            object: Object::new(clock),
            exchanges: Vec::new(),
            ideal: Ideal::default(),
            outcome: Outcome::new(scenario),
            record,
            told_to_call: false,
        }
    }

    pub(super) fn play(mut self) -> Outcome {
        self.plan();
        let end = self.scenario.start + self.scenario.length + AFTERMATH_MS;
        while let Some(Reverse(next)) = self.queue.pop() {
            if next.at > end {
                break;
            }
            self.now = next.at;
            self.take(next.event);
        }
        self.outcome.ideal = self.ideal.admitted;
        self.outcome
    }

    fn plan(&mut self) {
        for place in 0..self.scenario.changes.len() {
            self.at(self.scenario.start + self.scenario.changes[place].0, Event::Change(place));
        }
        let start = self.scenario.start;
        let mut at = start;
        loop {
            let (calls, per_minute) = match self.scenario.demand {
                Demand::Random(per_minute) => (1, per_minute),
                Demand::Bursts(calls, per_minute) => (calls, per_minute),
                Demand::Waves(quiet, busy) if ((at - start) / WAVE_MS).is_multiple_of(2) => {
                    (1, quiet.min(busy))
                }
                Demand::Waves(_, busy) => (1, busy),
                Demand::Client(_) => return self.call_at(start),
            };
            at += self.rng.gap_ms(per_minute);
            if at >= start + self.scenario.length {
                return;
            }
            for _ in 0..calls {
                self.call_at(at);
            }
        }
    }

    fn call_at(&mut self, at: u64) {
        if at < self.scenario.start + self.scenario.length {
            let isolate = self.draw_isolate();
            let fails = self.rng.chance(self.scenario.faults.tool_failed);
            self.at(at, Event::Call { isolate, fails });
        }
    }

    /// The first isolates take more than the last: weights 1, 1/2, 1/3 and so on.
    fn draw_isolate(&mut self) -> usize {
        let weights = (1..=self.isolates.len()).map(|place| 840 / place as u64);
        let mut left = self.rng.range(0, weights.clone().sum());
        for (isolate, weight) in weights.enumerate() {
            if left < weight {
                return isolate;
            }
            left -= weight;
        }
        0
    }

    fn at(&mut self, at: u64, event: Event) {
        self.scheduled += 1;
        self.queue.push(Reverse(Scheduled { at, order: self.scheduled, event }));
    }

    fn take(&mut self, event: Event) {
        match event {
            Event::Call { isolate, fails } => self.call(isolate, fails),
            Event::AtMeter(exchange) => self.at_meter(exchange),
            Event::AtIsolate(exchange, answer) => self.at_isolate(exchange, &answer),
            Event::Retry(exchange) => {
                if !self.exchanges[exchange].over {
                    self.send(exchange);
                }
            }
            Event::Deadline(exchange) => self.deadline(exchange),
            Event::Timer { isolate, life, background } => self.timer(isolate, life, background),
            Event::Ended { isolate, life, fails, charge } => self.ended(isolate, life, fails, charge),
            Event::Change(place) => self.change(place),
        }
    }

    fn call(&mut self, isolate: usize, fails: bool) {
        let usable = self.record.status == KeyStatus::Active;
        self.ideal.call(usable.then(|| self.record.policy()), self.now, fails);
        self.outcome.calls += 1;
        let here = &mut self.isolates[isolate];
        if self.rng.chance(self.scenario.faults.crashed) {
            here.crash(&mut self.rng);
        }
        here.look_up(&self.key, self.scenario);
        let now = here.now(self.now);
        let step = match self.limiter {
            Limiter::Lease => here.holder.call(&self.key, now),
            Limiter::CallPerRequest => {
                Step::Ask(MeterRequest { want: true, rate: 0, ..here.holder.read(&self.key, now) })
            }
        };
        let background = Background { born: self.now, renewals: 0 };
        let waiting = Waiting { fails };
        match step {
            Step::Ask(ask) => {
                self.outcome.waited += 1;
                self.ask(isolate, ask, background, Some(waiting));
            }
            Step::Decided(admission, renewal) => {
                if let Some(ask) = renewal {
                    self.ask(isolate, ask, background, None);
                }
                self.served(isolate, waiting, admission, self.now);
            }
        }
    }

    fn ask(&mut self, isolate: usize, ask: MeterRequest, background: Background, waiting: Option<Waiting>) {
        let here = &mut self.isolates[isolate];
        let (life, sent) = (here.life, here.now(self.now));
        let exchange = self.exchanges.len();
        self.exchanges.push(Exchange {
            isolate,
            life,
            ask,
            sent,
            background,
            waiting,
            decided: None,
            over: false,
        });
        self.send(exchange);
        self.at(self.now + RETRY_AFTER_MS, Event::Retry(exchange));
        self.at(self.now + METER_TIMEOUT_MS, Event::Deadline(exchange));
    }

    fn send(&mut self, exchange: usize) {
        self.outcome.hops += 1;
        let isolate = self.exchanges[exchange].isolate;
        for after in self.ways(isolate) {
            self.at(self.now + after, Event::AtMeter(exchange));
        }
    }

    /// How long each copy of a message is on its way.
    fn ways(&mut self, isolate: usize) -> Vec<u64> {
        let (site, faults) = (self.isolates[isolate].site, &self.scenario.faults);
        let mut ways = Vec::new();
        if !self.rng.chance(faults.lost) {
            let held_up = if self.rng.chance(faults.delayed) { self.rng.range(0, 1_000) } else { 0 };
            ways.push(site.way + self.rng.range(0, site.jitter + 1) + held_up);
        }
        if self.rng.chance(faults.doubled) {
            ways.push(site.way + self.rng.range(0, 2_000));
        }
        ways
    }

    fn at_meter(&mut self, exchange: usize) {
        let since = self.now - self.scenario.start;
        if self.scenario.faults.outage.is_some_and(|(from, to)| (from..to).contains(&since)) {
            return;
        }
        let message = Message::Ask(self.exchanges[exchange].ask.clone());
        let (reply, fate) = self.object.handle(message, self.now, &self.scenario.faults, &mut self.rng);
        let Reply::Ask(answer) = reply else { panic!("another reply than was asked for") };
        let asked = &mut self.exchanges[exchange];
        if answer.verdict == Verdict::Allow && fate != Fate::Forgotten {
            asked.decided.get_or_insert(self.now);
        }
        if fate == Fate::Sent {
            let isolate = asked.isolate;
            for after in self.ways(isolate) {
                self.at(self.now + after, Event::AtIsolate(exchange, Box::new(answer.clone())));
            }
        }
    }

    fn at_isolate(&mut self, exchange: usize, answer: &MeterResponse) {
        let asked = &mut self.exchanges[exchange];
        let (isolate, background) = (asked.isolate, asked.background);
        let here = &mut self.isolates[isolate];
        if std::mem::replace(&mut asked.over, true) || here.life != asked.life {
            return;
        }
        let now = here.now(self.now);
        let admission = here.holder.handle_response(&asked.ask, asked.sent, answer, now);
        let decided = if answer.verdict == Verdict::Allow { asked.decided.unwrap() } else { self.now };
        assert_eq!(admission.is_some(), asked.waiting.is_some(), "a call that waits is answered");
        if let (Some(waiting), Some(admission)) = (asked.waiting, admission) {
            self.served(isolate, waiting, admission, decided);
        }
        if answer.lease.is_some() || self.exchanges[exchange].waiting.is_none() {
            self.keep(isolate, background);
        }
    }

    fn deadline(&mut self, exchange: usize) {
        let asked = &mut self.exchanges[exchange];
        let here = &mut self.isolates[asked.isolate];
        if std::mem::replace(&mut asked.over, true) || here.life != asked.life {
            return;
        }
        let now = here.now(self.now);
        let admission = here.holder.handle_failure(&asked.ask, now);
        let (isolate, waiting) = (asked.isolate, asked.waiting);
        if let (Some(waiting), Some(admission)) = (waiting, admission) {
            self.served(isolate, waiting, admission, self.now);
        }
    }

    /// Waits for the next lease to end, as long as the request may.
    fn keep(&mut self, isolate: usize, background: Background) {
        let here = &mut self.isolates[isolate];
        let (now, life) = (here.now(self.now), here.life);
        if let Some(at) = here.holder.flush_at() {
            let due = self.now + at.since(now);
            if due <= background.born + BACKGROUND_MS {
                let late = self.rng.range(0, 4);
                self.at(due + late, Event::Timer { isolate, life, background });
            }
        }
    }

    fn timer(&mut self, isolate: usize, life: u32, background: Background) {
        let here = &mut self.isolates[isolate];
        if here.life != life {
            return;
        }
        let now = here.now(self.now);
        match here.holder.flush(&self.key, background.renewals < MAX_RENEWALS, now) {
            Some(ask) => {
                let renewals = background.renewals + u8::from(ask.rate > 0);
                self.ask(isolate, ask, Background { renewals, ..background }, None);
            }
            None => self.keep(isolate, background),
        }
    }

    /// The client has its answer.
    fn served(&mut self, isolate: usize, waiting: Waiting, admission: Admission, decided: u64) {
        self.outcome.served(&admission, waiting.fails, decided, self.now);
        if let Admission::Allow { charge, .. } = &admission {
            let life = self.isolates[isolate].life;
            let ends = self.now + self.rng.range(5, 3_000);
            self.at(ends, Event::Ended { isolate, life, fails: waiting.fails, charge: *charge });
        }
        if let Demand::Client(pace) = self.scenario.demand {
            self.go_on(pace, &Seen::of(&admission));
        }
    }

    /// The client of a closed loop calls again.
    fn go_on(&mut self, pace: Pace, seen: &Seen) {
        let refused = seen.status != 200;
        self.outcome.refused += u32::from(refused);
        self.outcome.misled += u32::from(refused && self.told_to_call);
        self.told_to_call = refused;
        self.call_at(self.now + pace.wait_ms(seen));
    }

    fn ended(&mut self, isolate: usize, life: u32, fails: bool, charge: Charge) {
        let here = &mut self.isolates[isolate];
        if here.life != life {
            return;
        }
        here.holder.record_outcome(Tool::Qr, if fails { 503 } else { 200 }, fails, charge);
        // What a lease's end will not carry soon is told at once.
        if fails && here.holder.flush_at().is_none() {
            let now = here.now(self.now);
            if let Some(ask) = here.holder.flush(&self.key, false, now) {
                self.ask(isolate, ask, Background { born: self.now, renewals: 0 }, None);
            }
        }
    }

    /// An administrator tries until the change is stored.
    fn change(&mut self, place: usize) {
        let change = self.scenario.changes[place].1.clone();
        let issued =
            KeyRecord { version: 1, limits: self.scenario.limits, ..KeyRecord::provisional(&self.key) };
        let message = Message::Change { record: Some(issued), by: None, change };
        loop {
            let (reply, fate) =
                self.object.handle(message.clone(), self.now, &self.scenario.faults, &mut self.rng);
            if let (Reply::Change(ChangeOutcome::Done(record)), true) = (reply, fate != Fate::Forgotten) {
                self.outcome.changed(self.now, &record);
                self.record = record;
                return;
            }
        }
    }
}

impl PartialEq for Scheduled {
    fn eq(&self, other: &Self) -> bool {
        self.order == other.order
    }
}

impl Eq for Scheduled {}

impl PartialOrd for Scheduled {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Scheduled {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (self.at, self.order).cmp(&(other.at, other.order))
    }
}
