//! Requests to the meter: sending, second copies, timeouts, late responses and background renewals.

use shared::{
    lease_cache::{LeaseCache, ReportTurn, Timeouts},
    meter::{Message, MeterRequest, MeterResponse, Reply, Verdict},
    time::UnixMillis,
    tool::Tool,
};

use super::World;
use crate::sim::{
    PricedCall,
    object::Fate,
    schedule::Event,
    turns::{Command, Found, LaneStep},
};

/// The timeout of a request that no call waits for.
const REPORT_TIMEOUT_MS: u64 = 5_000;

/// The longest time for which a call waits.
const LONGEST_MS: u64 = 3_000;

/// A request to the meter, and the call that waits for the response.
pub(super) struct Exchange {
    pub(super) isolate: usize,
    pub(super) life: u32,
    pub(super) ask: MeterRequest,
    /// The time of sending by the isolate's clock.
    pub(super) sent: UnixMillis,
    /// The start of the request behind it, by the isolate's clock.
    pub(super) started: UnixMillis,
    pub(super) waiting: Option<Waiting>,
    timeouts: Timeouts,
    /// The time at which the meter first admitted the call.
    pub(super) decided: Option<u64>,
    /// Whether a second copy was sent.
    retried: bool,
    pub(super) over: bool,
}

/// A call that waits for the meter.
#[derive(Clone, Copy)]
pub(in crate::sim) struct Waiting {
    pub(in crate::sim) fails: bool,
    /// Whether the call was made while the meter was out of reach.
    pub(super) in_outage: bool,
    /// What the call costs.
    pub(in crate::sim) priced: Option<PricedCall>,
}

impl World<'_> {
    pub(super) fn ask(
        &mut self,
        isolate: usize,
        ask: MeterRequest,
        started: UnixMillis,
        waiting: Option<(Waiting, Timeouts)>,
    ) {
        let here = &mut self.isolates[isolate];
        let (life, sent) = (here.life, here.now(self.now));
        let exchange = self.exchanges.len();
        let none = Timeouts { hedge_ms: REPORT_TIMEOUT_MS, total_ms: REPORT_TIMEOUT_MS };
        let timeouts = waiting.map_or(none, |(_, timeouts)| timeouts);
        self.exchanges.push(Exchange {
            isolate,
            life,
            ask: ask.clone(),
            sent,
            started,
            waiting: waiting.map(|(waiting, _)| waiting),
            timeouts,
            decided: None,
            retried: false,
            over: false,
        });
        self.send(exchange, &ask);
        if timeouts.hedge_ms < timeouts.total_ms {
            self.schedule.push(self.now + timeouts.hedge_ms, Event::Retry(exchange));
        }
        self.schedule.push(self.now + timeouts.total_ms, Event::Deadline(exchange));
    }

    fn send(&mut self, exchange: usize, ask: &MeterRequest) {
        self.outcome.hops += 1;
        let isolate = self.exchanges[exchange].isolate;
        if self.scenario.takes_turns {
            let command = self.isolates[isolate].lane.add(exchange, ask.clone(), self.now, &mut self.rng);
            return self.send_to_server(isolate, command);
        }
        for after in self.delays(isolate) {
            self.schedule.push(self.now + after, Event::AtMeter(exchange, Box::new(ask.clone())));
        }
    }

    pub(super) fn retry(&mut self, exchange: usize) {
        let asked = &mut self.exchanges[exchange];
        let here = &mut self.isolates[asked.isolate];
        if asked.over || here.life != asked.life || self.scenario.takes_turns {
            // The server has replied lately: the request waits for its turn.
            return;
        }
        asked.retried = true;
        let again = here.holder.retry(&asked.ask, asked.timeouts.total_ms);
        self.send(exchange, &again);
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

    pub(super) fn at_meter(&mut self, exchange: usize, ask: &MeterRequest) {
        if self.scenario.is_in_outage(self.now) {
            return;
        }
        let created = self.object.created(self.now, self.scenario.creation);
        if self.now < created {
            return self.schedule.push(created, Event::AtMeter(exchange, Box::new(ask.clone())));
        }
        self.object.fail_over(self.scenario.start, self.now, &self.scenario.faults);
        let message = Message::Ask(ask.clone());
        let (reply, fate) = self.object.handle(message, self.now, &self.scenario.faults, &mut self.rng);
        let Reply::Ask(response) = reply else { panic!("a reply of another kind") };
        let asked = &mut self.exchanges[exchange];
        if response.verdict == Verdict::Allow && fate != Fate::Forgotten {
            asked.decided.get_or_insert(self.now);
        }
        if fate == Fate::Sent {
            let isolate = asked.isolate;
            for after in self.delays(isolate) {
                let arrival = Event::AtIsolate(exchange, Box::new(ask.clone()), Box::new(response.clone()));
                self.schedule.push(self.now + after, arrival);
            }
        }
    }

    /// Handles a response, which may come after the call was given up.
    pub(super) fn at_isolate(&mut self, exchange: usize, ask: &MeterRequest, response: &MeterResponse) {
        let asked = &mut self.exchanges[exchange];
        let (isolate, started) = (asked.isolate, asked.started);
        let here = &mut self.isolates[isolate];
        if here.life != asked.life || asked.waiting.is_none() && std::mem::replace(&mut asked.over, true) {
            return;
        }
        let now = here.now(self.now);
        let admission = here.holder.handle_response(ask, asked.sent, response, now);
        if LeaseCache::lacks_record(ask, response) {
            return self.ask_with_record(exchange);
        }
        let hidden = if asked.retried == ask.retry { 0 } else { 200 };
        let in_time = now.since(asked.sent) + hidden <= ask.admit_within_ms;
        let counted = response.verdict == Verdict::Allow && in_time;
        let decided = if counted { asked.decided.unwrap() } else { self.now };
        assert!(admission.is_none() || !asked.over, "a call is decided once");
        if let (Some(waiting), Some(admission)) = (asked.waiting, admission) {
            asked.over = true;
            self.served(isolate, waiting, admission, decided);
        }
        self.keep(isolate, started);
    }

    /// Reads the store, and asks again.
    fn ask_with_record(&mut self, exchange: usize) {
        let asked = &mut self.exchanges[exchange];
        let (isolate, started, waiting) = (asked.isolate, asked.started, asked.waiting);
        let here = &mut self.isolates[isolate];
        if std::mem::replace(&mut asked.over, true) {
            return;
        }
        here.look_up(&self.key, self.scenario);
        let now = here.now(self.now);
        let (ask, timeouts) = here.holder.ask_again(&asked.ask, Tool::Qr, now);
        self.ask(isolate, ask, started, waiting.map(|waiting| (waiting, timeouts)));
    }

    /// Gives a call up.
    pub(super) fn deadline(&mut self, exchange: usize) {
        let asked = &mut self.exchanges[exchange];
        let (isolate, started) = (asked.isolate, asked.started);
        let here = &mut self.isolates[isolate];
        let waited = here.now(self.now).since(asked.sent);
        if self.scenario.takes_turns && !asked.over && waited < REPORT_TIMEOUT_MS.min(LONGEST_MS) {
            return self.schedule.push(self.now + LONGEST_MS - waited, Event::Deadline(exchange));
        }
        if std::mem::replace(&mut asked.over, true) || here.life != asked.life {
            return;
        }
        here.look_up(&self.key, self.scenario);
        let now = here.now(self.now);
        let admission = here.holder.handle_failure(&asked.ask, now);
        if let (Some(waiting), Some(admission)) = (asked.waiting, admission) {
            self.served(isolate, waiting, admission, self.now);
        }
        self.keep(isolate, started);
    }

    fn send_to_server(&mut self, isolate: usize, command: Option<Command>) {
        if let Some(command) = command {
            let [after] = self.delays(isolate)[..] else { panic!("turns have no faults") };
            self.schedule.push(self.now + after, Event::AtServer(isolate, Box::new(command)));
        }
    }

    pub(super) fn at_server(&mut self, isolate: usize, command: Command) {
        let found = self.server.handle(command, UnixMillis(self.now));
        let [after] = self.delays(isolate)[..] else { panic!("turns have no faults") };
        self.schedule.push(self.now + after, Event::AtProxy(isolate, Box::new(found)));
    }

    pub(super) fn at_proxy(&mut self, isolate: usize, found: Found) {
        let (here, exchanges) = (&mut self.isolates[isolate], &self.exchanges);
        let now = here.now(self.now);
        let waited = |exchange: usize| now.since(exchanges[exchange].sent);
        match here.lane.handle(found, self.now, &mut self.rng, waited) {
            LaneStep::Send(command) => self.send_to_server(isolate, Some(command)),
            LaneStep::End(ended, trips) => {
                self.outcome.trips = self.outcome.trips.max(trips);
                for (exchange, ask, reply) in ended {
                    let Reply::Ask(response) = reply else { panic!("a reply of another kind") };
                    // The clock of the server is true.
                    self.exchanges[exchange].decided.get_or_insert(response.at.0);
                    self.at_isolate(exchange, &ask, &response);
                }
                let next = self.isolates[isolate].lane.begin(self.now, &mut self.rng);
                self.send_to_server(isolate, next);
            }
        }
    }

    /// Sets a timer for the next report, if the request that began at `started` is to send it.
    pub(super) fn keep(&mut self, isolate: usize, started: UnixMillis) {
        let here = &mut self.isolates[isolate];
        let (now, life) = (here.now(self.now), here.life);
        if let Some(turn) = here.holder.promise_report(started, now) {
            let at = self.now + turn.due.since(now) + self.rng.range(0, 4);
            self.schedule.push(at, Event::Timer { isolate, life, started, turn });
        }
    }

    pub(super) fn timer(&mut self, isolate: usize, life: u32, started: UnixMillis, turn: ReportTurn) {
        let here = &mut self.isolates[isolate];
        if here.life != life {
            return;
        }
        let now = here.now(self.now);
        match here.holder.report(&self.key, turn, now) {
            Some(ask) => self.ask(isolate, ask, started, None),
            None => self.keep(isolate, started),
        }
    }
}
