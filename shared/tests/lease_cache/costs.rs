//! The messages that a key in steady use costs.

use shared::lease_cache::{ReportTurn, Step};
use shared::meter::MeterRequest;
use shared::tier::Tier;
use shared::time::UnixMillis;

use crate::{NOON, Pair, allowed};

/// Time between sending a request and its response, in milliseconds.
const ROUND_TRIP_MS: u64 = 20;
/// Time between a call and its response, in milliseconds.
const CALL_MS: u64 = 30;

/// An isolate in which each call may report in the background, as in the worker.
struct Isolate {
    pair: Pair,
    turns: Vec<(UnixMillis, ReportTurn)>,
    messages: u32,
}

impl Isolate {
    fn call(&mut self, at: u64) {
        match self.pair.call(at) {
            Step::Ask(request, _) => self.exchange(&request, at),
            Step::Decided(admission, renewal) => {
                assert!(allowed(&admission));
                if let Some(request) = renewal {
                    self.exchange(&request, at);
                }
            }
        }
        let started = NOON.plus(at + CALL_MS);
        self.promise(started, started);
    }

    fn exchange(&mut self, request: &MeterRequest, at: u64) {
        self.messages += 1;
        let response = self.pair.meter(request, at + ROUND_TRIP_MS / 2);
        let back = NOON.plus(at + ROUND_TRIP_MS);
        self.pair.cache.handle_response(request, NOON.plus(at), &response, back);
    }

    fn promise(&mut self, started: UnixMillis, now: UnixMillis) {
        let turn = self.pair.cache.promise_report(started, now);
        self.turns.extend(turn.map(|turn| (started, turn)));
    }

    /// Sends the reports that are due before `at`.
    fn report_until(&mut self, at: u64) {
        while let Some(place) = self.turns.iter().position(|(_, turn)| turn.due < NOON.plus(at)) {
            let (started, turn) = self.turns.remove(place);
            if let Some(request) = self.pair.cache.report(&self.pair.key, turn, turn.due) {
                self.exchange(&request, turn.due.since(NOON));
            }
            self.promise(started, turn.due.plus(ROUND_TRIP_MS));
        }
    }
}

/// Returns the messages of ten minutes of calls every `gap` milliseconds.
fn messages(tier: Tier, gap: u64) -> u32 {
    let mut isolate = Isolate { pair: Pair::new(tier), turns: Vec::new(), messages: 0 };
    for at in (0..600_000).step_by(usize::try_from(gap).unwrap()) {
        isolate.report_until(at);
        isolate.call(at);
    }
    isolate.report_until(700_000);
    assert!(isolate.pair.cache.is_idle());
    isolate.messages
}

#[test]
fn slow_key_costs_one_message_for_each_lease() {
    for gap in [700, 1_000, 1_500, 2_000, 3_000] {
        let messages = messages(Tier::Enterprise, gap);
        assert!((60..=67).contains(&messages), "{messages} messages at {gap} ms");
    }
}
