//! The simulated world: a discrete-event simulation of one key's calls.

mod exchange;

use shared::{
    key::{ApiKey, KeyEnv, KeyId, KeyRecord, KeyStatus, VerifiedKey},
    lease_cache::{Admission, Charge, Step},
    meter::{ChangeOutcome, Message, MeterRequest, Reply},
    secret::MacKeys,
    time::UnixMillis,
    tool::Tool,
};

use super::{
    Demand, Limiter, Outcome, Pace, PricedCall, Rng, Scenario,
    client::Seen,
    clock::MachineClock,
    ideal::Ideal,
    isolate::Isolate,
    object::{Fate, Object},
    schedule::{Event, Schedule},
    turns::Server,
    units::{ChargedAfterwards, IdealUnits},
};
use exchange::Exchange;
pub(super) use exchange::Waiting;

/// The time after the last call in which the simulation continues.
const AFTERMATH_MS: u64 = 15_000;

/// The length of a quiet or busy stretch of demand.
const WAVE_MS: u64 = 20_000;

/// One run of a scenario.
pub(super) struct World<'a> {
    scenario: &'a Scenario,
    limiter: Limiter,
    rng: Rng,
    key: VerifiedKey,
    now: u64,
    schedule: Schedule,
    isolates: Vec<Isolate>,
    object: Object,
    server: Server,
    exchanges: Vec<Exchange>,
    ideal: Ideal,
    ideal_units: IdealUnits,
    charged_afterwards: ChargedAfterwards,
    record: KeyRecord,
    outcome: Outcome,
    follows_retry_after: bool,
}

impl<'a> World<'a> {
    pub(super) fn new(scenario: &'a Scenario, limiter: Limiter, seed: u64) -> Self {
        let mut rng = Rng::new(seed);
        let signing = MacKeys::parse("0123456789abcdef0123456789abcdef").unwrap();
        let issued = UnixMillis(scenario.start - 60_000);
        let key = ApiKey::mint(KeyEnv::Live, KeyId::new([1; 12]), scenario.tier, issued, [2; 16], &signing).1;
        let isolates = (0..scenario.isolates).map(|place| Isolate::new(scenario, place, &mut rng)).collect();
        let clock = MachineClock::new(0, scenario.start, &scenario.faults.meter_steps);
        let record = KeyRecord { version: 1, limits: scenario.own_limits(), ..KeyRecord::provisional(&key) };
        Self {
            scenario,
            limiter,
            rng,
            key,
            now: scenario.start,
            schedule: Schedule::default(),
            isolates,
            object: Object::new(clock),
            server: Server::default(),
            exchanges: Vec::new(),
            ideal: Ideal::default(),
            ideal_units: IdealUnits::default(),
            charged_afterwards: ChargedAfterwards::default(),
            outcome: Outcome::new(scenario),
            record,
            follows_retry_after: false,
        }
    }

    pub(super) fn run(mut self) -> Outcome {
        self.plan();
        let end = self.scenario.start + self.scenario.length + AFTERMATH_MS;
        while let Some((at, event)) = self.schedule.pop().filter(|(at, _)| *at <= end) {
            self.now = at;
            self.handle(event);
        }
        self.outcome.ideal = self.ideal.admitted;
        self.outcome.lost = self.object.lost;
        self.outcome.lost_units = self.object.lost_units;
        self.outcome.rows = self.object.rows;
        self.outcome.alarms = self.object.alarms;
        self.outcome.ideal_units = self.ideal_units.admitted;
        self.outcome.minute_charged_afterwards = self.charged_afterwards.worst_minute;
        self.outcome
    }

    fn plan(&mut self) {
        for place in 0..self.scenario.changes.len() {
            self.schedule.push(self.scenario.start + self.scenario.changes[place].0, Event::Change(place));
        }
        let start = self.scenario.start;
        let mut at = start;
        loop {
            let (calls, gap_ms) = match self.scenario.demand {
                Demand::Random(per_minute) => (1, self.rng.gap_ms(per_minute)),
                Demand::Regular(gap_ms) => (1, gap_ms),
                Demand::Bursts(calls, per_minute) => (calls, self.rng.gap_ms(per_minute)),
                Demand::Waves(quiet, busy) if ((at - start) / WAVE_MS).is_multiple_of(2) => {
                    (1, self.rng.gap_ms(quiet.min(busy)))
                }
                Demand::Waves(_, busy) => (1, self.rng.gap_ms(busy)),
                Demand::Client(_) => return self.call_at(start),
            };
            at += gap_ms;
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
            let isolate = self.draw_isolate(at);
            let fails = self.rng.chance(self.scenario.faults.tool_failed);
            let priced = self.scenario.units.map(|demand| demand.draw(&mut self.rng));
            self.schedule.push(at, Event::Call { isolate, fails, priced });
        }
    }

    /// Draws an isolate that exists at this time.
    fn draw_isolate(&mut self, at: u64) -> usize {
        let before_outage =
            self.scenario.faults.outage.is_some_and(|(from, _)| at < self.scenario.start + from);
        loop {
            let isolate = self.draw_any_isolate();
            if !(self.scenario.has_new_isolates && before_outage && isolate % 3 == 2) {
                return isolate;
            }
        }
    }

    /// Draws an isolate. The weights are 1, 1/2, 1/3 and so on.
    fn draw_any_isolate(&mut self) -> usize {
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

    fn handle(&mut self, event: Event) {
        match event {
            Event::Call { isolate, fails, priced } => self.call(isolate, fails, priced),
            Event::AtMeter(exchange, ask) => self.at_meter(exchange, &ask),
            Event::AtIsolate(exchange, ask, response) => self.at_isolate(exchange, &ask, &response),
            Event::AtServer(isolate, command) => self.at_server(isolate, *command),
            Event::AtProxy(isolate, found) => self.at_proxy(isolate, *found),
            Event::Retry(exchange) => self.retry(exchange),
            Event::Deadline(exchange) => self.deadline(exchange),
            Event::Timer { isolate, life, started, turn } => self.timer(isolate, life, started, turn),
            Event::Ended { isolate, life, fails, charge } => self.ended(isolate, life, fails, charge),
            Event::CostKnown { isolate, life, units, charge } => {
                self.cost_known(isolate, life, units, charge)
            }
            Event::Change(place) => self.change(place),
        }
    }

    fn call(&mut self, isolate: usize, fails: bool, priced: Option<PricedCall>) {
        let usable = self.record.status == KeyStatus::Active;
        let ideal = self.ideal.admitted;
        self.ideal.call(usable.then(|| self.record.policy()), self.now, fails);
        self.outcome.calls += 1;
        if let Some(priced) = priced {
            self.ideal_call_priced(&priced, fails);
        }
        let in_outage = self.scenario.is_in_outage(self.now);
        if in_outage {
            self.outcome.made_in_outage += 1;
            self.outcome.ideal_in_outage += self.ideal.admitted - ideal;
        }
        let here = &mut self.isolates[isolate];
        if self.rng.chance(self.scenario.faults.crashed) {
            here.crash(&mut self.rng);
        }
        let now = here.now(self.now);
        let step = match self.limiter {
            Limiter::Lease => {
                let units = priced.map_or(0, |priced| priced.price.most());
                here.holder.call_priced(&self.key, Tool::Qr, units, now)
            }
            Limiter::CallPerRequest => {
                let (ask, timeouts) = here.holder.ask(&self.key, Tool::Qr, now);
                Step::Ask(MeterRequest { rate: 0, ..ask }, timeouts)
            }
        };
        let waiting = Waiting { fails, in_outage, priced };
        match step {
            Step::Ask(ask, timeouts) => {
                self.outcome.waited += 1;
                self.ask(isolate, ask, now, Some((waiting, timeouts)));
            }
            Step::Decided(admission, renewal) => {
                if let Some(ask) = renewal {
                    self.ask(isolate, ask, now, None);
                }
                self.served(isolate, waiting, admission, self.now);
            }
        }
    }

    /// Responds to the client.
    fn served(&mut self, isolate: usize, waiting: Waiting, admission: Admission, decided: u64) {
        self.outcome.served(&admission, &waiting, decided, self.now);
        if let Admission::Allow { charge, .. } = &admission {
            self.outcome.passed_in_outage += u32::from(waiting.in_outage);
            let life = self.isolates[isolate].life;
            let ends = self.now + self.rng.range(5, 3_000);
            self.schedule.push(ends, Event::Ended { isolate, life, fails: waiting.fails, charge: *charge });
            if let Some(priced) = waiting.priced.filter(|_| !waiting.fails) {
                let (known, units) = (self.now + priced.known_after, priced.cost().units);
                self.schedule.push(known, Event::CostKnown { isolate, life, units, charge: *charge });
            }
        }
        if let Demand::Client(pace) = self.scenario.demand {
            self.go_on(pace, &Seen::of(&admission));
        }
    }

    /// Schedules the next call of the client of a closed loop.
    fn go_on(&mut self, pace: Pace, seen: &Seen) {
        let refused = seen.status != 200;
        self.outcome.refused += u32::from(refused);
        self.outcome.misled += u32::from(refused && self.follows_retry_after);
        self.follows_retry_after = refused;
        self.call_at(self.now + pace.wait_ms(seen));
    }

    fn ended(&mut self, isolate: usize, life: u32, fails: bool, charge: Charge) {
        let here = &mut self.isolates[isolate];
        if here.life != life {
            return;
        }
        let now = here.now(self.now);
        here.holder.record_outcome(Tool::Qr, if fails { 503 } else { 200 }, fails, charge, now);
        self.keep(isolate, now);
    }

    /// Records what a call has cost.
    fn cost_known(&mut self, isolate: usize, life: u32, units: u32, charge: Charge) {
        let here = &mut self.isolates[isolate];
        if here.life != life {
            return;
        }
        let now = here.now(self.now);
        let _left = here.holder.record_units(charge, units, now);
        self.keep(isolate, now);
    }

    /// Plays the call with the limiters that it is compared with.
    fn ideal_call_priced(&mut self, priced: &PricedCall, fails: bool) {
        let limits = self.record.limits.units;
        let units = if fails { 0 } else { priced.cost().units };
        self.ideal_units.call(&limits, units, self.now);
        if let Some(minute) = limits.minute {
            self.charged_afterwards.call(minute.get(), priced, self.now);
        }
    }

    /// Makes a change of the record, and retries until it is stored.
    fn change(&mut self, place: usize) {
        let change = self.scenario.changes[place].1.clone();
        let issued =
            KeyRecord { version: 1, limits: self.scenario.own_limits(), ..KeyRecord::provisional(&self.key) };
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
