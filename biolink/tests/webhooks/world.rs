//! The store of one endpoint's deliveries, driven by its next due moment as an alarm drives it.

use std::collections::{BTreeMap, BTreeSet};

use biolink::webhooks::{
    AttemptResult, DisabledReason, Excess, FinishedAttempt, Health, KindCounts, NextStep, Recovery,
    WebhookKind, may_bring_forward,
};
use shared::time::UnixMillis;

pub(crate) const SECOND: u64 = 1_000;
pub(crate) const MINUTE: u64 = 60 * SECOND;
pub(crate) const HOUR: u64 = 60 * MINUTE;
pub(crate) const DAY: u64 = 24 * HOUR;
pub(crate) const START: UnixMillis = UnixMillis(20_000 * DAY);

/// The result of an attempt and the time that it takes, in milliseconds.
pub(crate) type Response = (AttemptResult, u64);

/// An event's delivery to the endpoint.
#[derive(Clone, Debug)]
pub(crate) struct Delivery {
    pub(crate) kind: WebhookKind,
    pub(crate) created_at: UnixMillis,
    pub(crate) attempts: Vec<UnixMillis>,
    pub(crate) state: State,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    Pending {
        due: UnixMillis,
    },
    Delivered {
        at: UnixMillis,
    },
    Exhausted,
    Dropped,
    /// Its endpoint was disabled.
    Disabled,
}

pub(crate) struct World<R> {
    pub(crate) deliveries: Vec<Delivery>,
    pub(crate) health: Health,
    pub(crate) dropped: KindCounts,
    pub(crate) disabled: Option<(DisabledReason, UnixMillis)>,
    receiver: R,
    entropy: u64,
    /// Pending deliveries by due moment.
    queue: BTreeSet<(UnixMillis, usize)>,
    /// Pending deliveries by age: visits, and publications.
    pending: [BTreeSet<usize>; 2],
    counts: BTreeMap<&'static str, u64>,
}

impl<R: FnMut(UnixMillis, usize) -> Response> World<R> {
    pub(crate) fn new(entropy: u64, receiver: R) -> Self {
        Self {
            deliveries: Vec::new(),
            health: Health::default(),
            dropped: KindCounts::default(),
            disabled: None,
            receiver,
            entropy,
            queue: BTreeSet::new(),
            pending: Default::default(),
            counts: BTreeMap::new(),
        }
    }

    /// Runs events, which are in the order of their moments, until nothing waits any more.
    pub(crate) fn run(&mut self, events: impl IntoIterator<Item = (UnixMillis, WebhookKind)>) {
        let mut events = events.into_iter().peekable();
        let mut now = START;
        loop {
            let event = events.peek().map(|(at, _)| (*at).max(now));
            let alarm = self.next_alarm().map(|at| at.max(now));
            match (event, alarm) {
                (None, None) => return,
                (Some(at), alarm) if alarm.is_none_or(|alarm| at <= alarm) => {
                    now = at;
                    let kind = events.next().unwrap().1;
                    self.add(kind, now);
                }
                (_, Some(at)) => now = self.attempt(at),
                (Some(_), None) => unreachable!("the guard takes it"),
            }
        }
    }

    pub(crate) fn in_state(&self, is: impl Fn(State) -> bool) -> usize {
        self.deliveries.iter().filter(|delivery| is(delivery.state)).count()
    }

    fn next_alarm(&self) -> Option<UnixMillis> {
        let due = self.queue.first()?.0;
        Some(self.health.next_probe().map_or(due, |probe| probe.max(due)))
    }

    fn add(&mut self, kind: WebhookKind, now: UnixMillis) {
        if self.disabled.is_some() {
            return;
        }
        let id = self.deliveries.len();
        let state = State::Pending { due: now };
        self.deliveries.push(Delivery { kind, created_at: now, attempts: Vec::new(), state });
        self.queue.insert((now, id));
        self.pending[usize::from(!kind.is_visit())].insert(id);
        *self.counts.entry(kind.as_str()).or_default() += 1;
        self.bound();
    }

    fn bound(&mut self) {
        let [visits, publications] = self.pending.each_ref().map(|group| group.len() as u64);
        let excess = Excess::of(visits, publications);
        for (group, number) in [excess.visits, excess.publications].into_iter().enumerate() {
            for _ in 0..number {
                let oldest = *self.pending[group].first().unwrap();
                self.dropped.add(self.deliveries[oldest].kind, 1);
                self.finish(oldest, State::Dropped);
            }
        }
    }

    /// Begins every attempt that may begin, and waits for their ends.
    fn attempt(&mut self, now: UnixMillis) -> UnixMillis {
        let mut begun = Vec::new();
        while let Some(&(due, id)) = self.queue.first() {
            let in_flight = u32::try_from(begun.len()).unwrap();
            if due > now || !self.health.may_attempt(now, in_flight) {
                break;
            }
            self.queue.remove(&(due, id));
            self.deliveries[id].attempts.push(now);
            begun.push((id, (self.receiver)(now, id)));
        }
        assert!(!begun.is_empty(), "an alarm without an attempt would repeat for ever");
        let mut end = now;
        for (id, (result, duration)) in begun {
            end = end.max(now.plus(duration));
            self.record(id, result, now.plus(duration));
        }
        end
    }

    fn record(&mut self, id: usize, result: AttemptResult, ended_at: UnixMillis) {
        self.entropy =
            self.entropy.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let attempts = &self.deliveries[id].attempts;
        let number = u32::try_from(attempts.len()).unwrap();
        let attempt = FinishedAttempt { number, first_at: attempts[0], ended_at, result };
        match attempt.next_step(self.entropy >> 32) {
            NextStep::Delivered => self.finish(id, State::Delivered { at: ended_at }),
            NextStep::Exhausted => self.finish(id, State::Exhausted),
            NextStep::Gone => self.finish(id, State::Disabled),
            NextStep::RetryAt(due) => {
                self.deliveries[id].state = State::Pending { due };
                self.queue.insert((due, id));
            }
        }
        if result.is_success() {
            if self.health.record_success(ended_at) == Recovery::Recovered {
                self.bring_forward(ended_at);
            }
        } else if result.is_gone() {
            self.health.record_gone(ended_at);
            self.disable(DisabledReason::Gone, ended_at);
        } else if let Some(reason) = self.health.record_failure(ended_at) {
            self.disable(reason, ended_at);
        }
    }

    fn bring_forward(&mut self, now: UnixMillis) {
        let waiting: Vec<_> = self.queue.iter().copied().filter(|(due, _)| *due > now).collect();
        for (due, id) in waiting {
            if may_bring_forward(u32::try_from(self.deliveries[id].attempts.len()).unwrap()) {
                self.queue.remove(&(due, id));
                self.queue.insert((now, id));
                self.deliveries[id].state = State::Pending { due: now };
            }
        }
    }

    fn disable(&mut self, reason: DisabledReason, now: UnixMillis) {
        self.disabled.get_or_insert((reason, now));
        for (_, id) in std::mem::take(&mut self.queue) {
            self.finish(id, State::Disabled);
        }
    }

    fn finish(&mut self, id: usize, state: State) {
        let delivery = &mut self.deliveries[id];
        if let State::Pending { due } = delivery.state {
            self.queue.remove(&(due, id));
        }
        delivery.state = state;
        self.pending[usize::from(!delivery.kind.is_visit())].remove(&id);
        *self.counts.entry(delivery.kind.as_str()).or_default() -= 1;
    }
}

impl Delivery {
    /// Returns the milliseconds between its attempts.
    pub(crate) fn pauses(&self) -> Vec<u64> {
        self.attempts.windows(2).map(|two| two[1].since(two[0])).collect()
    }

    pub(crate) fn is_delivered(&self) -> bool {
        matches!(self.state, State::Delivered { .. })
    }
}
