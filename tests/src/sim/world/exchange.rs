//! Requests to the meter: sending, retries, timeouts and background renewals.

use shared::{
    lease_cache::METER_TIMEOUT_MS,
    meter::{Message, MeterRequest, MeterResponse, Reply, Verdict},
    time::UnixMillis,
};

use super::World;
use crate::sim::{object::Fate, schedule::Event};

/// The time without a response after which a request is sent again. Both may still get a response.
const RETRY_AFTER_MS: u64 = METER_TIMEOUT_MS / 2;

/// The time limit of a request in the background (`waitUntil`), and the number of leases that it
/// renews.
const BACKGROUND_MS: u64 = 29_000;
const MAX_RENEWALS: u8 = 2;

/// A request to the meter, and the call that waits for the response.
pub(super) struct Exchange {
    pub(super) isolate: usize,
    pub(super) life: u32,
    pub(super) ask: MeterRequest,
    /// The time of sending by the isolate's clock.
    pub(super) sent: UnixMillis,
    pub(super) background: Background,
    pub(super) waiting: Option<Waiting>,
    /// The time at which the meter first admitted the call.
    pub(super) decided: Option<u64>,
    pub(super) over: bool,
}

/// A call that waits for the meter.
#[derive(Clone, Copy)]
pub(super) struct Waiting {
    pub(super) fails: bool,
}

/// The background work of a request whose client is served (`waitUntil`).
#[derive(Clone, Copy)]
pub(in crate::sim) struct Background {
    pub(super) born: u64,
    pub(super) renewals: u8,
}

impl World<'_> {
    pub(super) fn ask(
        &mut self,
        isolate: usize,
        ask: MeterRequest,
        background: Background,
        waiting: Option<Waiting>,
    ) {
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
        self.schedule.push(self.now + RETRY_AFTER_MS, Event::Retry(exchange));
        self.schedule.push(self.now + METER_TIMEOUT_MS, Event::Deadline(exchange));
    }

    pub(super) fn send(&mut self, exchange: usize) {
        self.outcome.hops += 1;
        let isolate = self.exchanges[exchange].isolate;
        for after in self.delays(isolate) {
            self.schedule.push(self.now + after, Event::AtMeter(exchange));
        }
    }

    /// Draws the delay of each copy of a message.
    fn delays(&mut self, isolate: usize) -> Vec<u64> {
        let (site, faults) = (self.isolates[isolate].site, &self.scenario.faults);
        let mut delays = Vec::new();
        if !self.rng.chance(faults.lost) {
            let held_up = if self.rng.chance(faults.delayed) { self.rng.range(0, 1_000) } else { 0 };
            delays.push(site.way + self.rng.range(0, site.jitter + 1) + held_up);
        }
        if self.rng.chance(faults.doubled) {
            delays.push(site.way + self.rng.range(0, 2_000));
        }
        delays
    }

    pub(super) fn at_meter(&mut self, exchange: usize) {
        let since = self.now - self.scenario.start;
        if self.scenario.faults.outage.is_some_and(|(from, to)| (from..to).contains(&since)) {
            return;
        }
        let message = Message::Ask(self.exchanges[exchange].ask.clone());
        let (reply, fate) = self.object.handle(message, self.now, &self.scenario.faults, &mut self.rng);
        let Reply::Ask(response) = reply else { panic!("a reply of another kind") };
        let asked = &mut self.exchanges[exchange];
        if response.verdict == Verdict::Allow && fate != Fate::Forgotten {
            asked.decided.get_or_insert(self.now);
        }
        if fate == Fate::Sent {
            let isolate = asked.isolate;
            for after in self.delays(isolate) {
                self.schedule.push(self.now + after, Event::AtIsolate(exchange, Box::new(response.clone())));
            }
        }
    }

    pub(super) fn at_isolate(&mut self, exchange: usize, response: &MeterResponse) {
        let asked = &mut self.exchanges[exchange];
        let (isolate, background) = (asked.isolate, asked.background);
        let here = &mut self.isolates[isolate];
        if std::mem::replace(&mut asked.over, true) || here.life != asked.life {
            return;
        }
        let now = here.now(self.now);
        let admission = here.holder.handle_response(&asked.ask, asked.sent, response, now);
        let decided = if response.verdict == Verdict::Allow { asked.decided.unwrap() } else { self.now };
        assert_eq!(admission.is_some(), asked.waiting.is_some(), "a call that waits gets a decision");
        if let (Some(waiting), Some(admission)) = (asked.waiting, admission) {
            self.served(isolate, waiting, admission, decided);
        }
        self.keep(isolate, background);
    }

    pub(super) fn deadline(&mut self, exchange: usize) {
        let asked = &mut self.exchanges[exchange];
        let here = &mut self.isolates[asked.isolate];
        if std::mem::replace(&mut asked.over, true) || here.life != asked.life {
            return;
        }
        let now = here.now(self.now);
        let admission = here.holder.handle_failure(&asked.ask, now);
        let (isolate, waiting, background) = (asked.isolate, asked.waiting, asked.background);
        if let (Some(waiting), Some(admission)) = (waiting, admission) {
            self.served(isolate, waiting, admission, self.now);
        }
        if waiting.is_none() {
            self.keep(isolate, background);
        }
    }

    /// Sets a timer for the next report, if the request may run until then and no other one will
    /// send it.
    pub(super) fn keep(&mut self, isolate: usize, background: Background) {
        let here = &mut self.isolates[isolate];
        let (now, life) = (here.now(self.now), here.life);
        if let Some(at) = here.holder.flush_at() {
            let due = self.now + at.since(now);
            if due <= background.born + BACKGROUND_MS && here.claim_report(due, self.now) {
                let late = self.rng.range(0, 4);
                self.schedule.push(due + late, Event::Timer { isolate, life, background });
            }
        }
    }

    pub(super) fn timer(&mut self, isolate: usize, life: u32, background: Background) {
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
}
