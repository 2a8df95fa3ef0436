//! The servers behind the tools.

mod balance;
mod budget;
mod ejection;
mod health;
mod idle;
mod trial;
mod upstream;

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use budget::Budget;
pub use health::{Evidence, Health};
pub use idle::Room;
use parking_lot::Mutex;
use shared::{key::KeyId, tool::Tool};
pub use upstream::{Upstream, UpstreamSeat, Way};

use crate::{
    clock::Monotonic,
    config::{Balance, Config, Duty, PoolConfig},
    per_tool::PerTool,
};

/// One pool for each tool.
#[derive(Debug)]
pub struct Pools(PerTool<Arc<Pool>>);

/// The servers of one tool.
#[derive(Debug)]
pub struct Pool {
    /// What it was configured as.
    pub config: PoolConfig,
    /// At least one.
    pub upstreams: Vec<Upstream>,
    /// Whether all weights are equal, so that turns need no lock.
    even: bool,
    owed: Mutex<Vec<i64>>,
    live: Arc<Live>,
}

/// What goes on in a pool. It outlives the configuration.
#[derive(Debug)]
struct Live {
    next: AtomicUsize,
    in_flight: AtomicUsize,
    budget: Mutex<Budget>,
    /// Held while it is decided whether one more upstream may be ejected.
    ejecting: Mutex<()>,
}

/// A call's place among those of its pool. It is free again when this is dropped, also by a panic.
#[derive(Debug)]
pub struct PoolSeat(Arc<Live>);

/// Upstreams of one pool that a call has been refused by, so that it is not sent there again.
#[derive(Clone, Copy, Debug, Default)]
pub struct Tried(u64);

/// The place of an upstream in its pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place(usize);

impl Pools {
    /// The pools of a configuration. Upstreams that the pools `before` had keep what was known of them; others are
    /// unknown.
    #[must_use]
    pub fn new(config: &Config, before: Option<&Self>) -> Self {
        Self(PerTool::from_fn(|tool| {
            let before = before.map(|before| before.of(tool).as_ref());
            Arc::new(Pool::new(config.pools[tool].clone(), before))
        }))
    }

    /// The pool of a tool.
    #[must_use]
    pub fn of(&self, tool: Tool) -> &Arc<Pool> {
        &self.0[tool]
    }

    /// Every pool.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<Pool>> {
        self.0.iter().map(|(_, pool)| pool)
    }

    /// Whether every upstream has been probed at least once.
    #[must_use]
    pub fn are_known(&self) -> bool {
        self.iter().all(|pool| pool.is_known())
    }
}

impl Pool {
    /// The pool, with what was known of it under the configuration before.
    #[must_use]
    pub fn new(config: PoolConfig, before: Option<&Self>) -> Self {
        let upstreams: Vec<_> = config
            .upstreams
            .iter()
            .map(|upstream| {
                let name = upstream.to_string();
                let before = before.and_then(|pool| pool.upstreams.iter().find(|other| other.name == name));
                Upstream::new(upstream, &config.settings, before)
            })
            .collect();
        let weight = config.upstreams.first().map(|first| first.weight);
        Self {
            even: config.upstreams.iter().all(|upstream| Some(upstream.weight) == weight),
            owed: Mutex::new(vec![0; upstreams.len()]),
            upstreams,
            config,
            live: before.map_or_else(|| Arc::new(Live::new()), |before| Arc::clone(&before.live)),
        }
    }

    /// A place for the next call of a key at an upstream that can take it and was not tried; `None` when there is none.
    #[must_use]
    pub fn take(&self, key: KeyId, tried: Tried, now: Monotonic) -> Option<(Place, UpstreamSeat)> {
        loop {
            let (place, has_other) = self.select(key, tried, now)?;
            // Another call may have begun to try it meanwhile: then this one is for another.
            if let Some(seat) = self.upstream(place)?.enter(has_other) {
                return Some((place, seat));
            }
        }
    }

    /// The upstream that the next call goes to, and whether it could go to another. Backups are asked only when no other
    /// is left, and last of all those that a call is trying after an ejection.
    fn select(&self, key: KeyId, tried: Tried, now: Monotonic) -> Option<(Place, bool)> {
        let ranks = [(false, false), (true, false), (false, true), (true, true)];
        ranks.into_iter().find_map(|(backup, being_tried)| {
            let candidates = || {
                let slow_start = self.config.settings.slow_start;
                let upstreams = self.upstreams.iter().enumerate();
                upstreams
                    .filter(move |(place, upstream)| {
                        upstream.config.backup == backup
                            && upstream.is_being_tried() == being_tried
                            && !tried.contains(Place(*place))
                            && upstream.is_available(now)
                    })
                    .map(move |(place, upstream)| upstream.candidate(place, slow_start, now))
            };
            self.choose(key, candidates).map(|place| (Place(place), !being_tried))
        })
    }

    fn choose<I: Iterator<Item = balance::Candidate>>(
        &self,
        key: KeyId,
        candidates: impl Fn() -> I,
    ) -> Option<usize> {
        match self.config.settings.balance {
            Balance::RoundRobin if self.even && !self.is_any_slow(&candidates) => {
                let count = candidates().count();
                let turn = self.live.next.fetch_add(1, Ordering::Relaxed).checked_rem(count)?;
                // Between counting and taking one may have gone.
                candidates().nth(turn).or_else(|| candidates().next()).map(|candidate| candidate.place)
            }
            Balance::RoundRobin => balance::in_turn(&mut self.owed.lock(), candidates()),
            Balance::LeastConnections => {
                let turn = self.live.next.fetch_add(1, Ordering::Relaxed);
                balance::least_busy(turn, self.upstreams.len(), candidates())
            }
            Balance::KeyHash => balance::by_key(key.as_bytes(), candidates()),
        }
    }

    fn is_any_slow<I: Iterator<Item = balance::Candidate>>(&self, candidates: impl Fn() -> I) -> bool {
        let first = candidates().next().map(|candidate| candidate.weight);
        candidates().any(|candidate| Some(candidate.weight) != first)
    }

    /// Whether every upstream that is to be probed was.
    #[must_use]
    pub fn is_known(&self) -> bool {
        let known = |upstream: &Upstream| upstream.health() != Health::Unknown;
        self.upstreams.iter().filter(|upstream| upstream.config.duty != Duty::Off).all(known)
    }

    /// Whether an upstream that can take a call was not tried yet.
    #[must_use]
    pub fn has_another(&self, tried: Tried, now: Monotonic) -> bool {
        let mut places = self.upstreams.iter().enumerate();
        places.any(|(place, upstream)| !tried.contains(Place(place)) && upstream.is_available(now))
    }

    /// The upstream at a place.
    #[must_use]
    pub fn upstream(&self, place: Place) -> Option<&Upstream> {
        self.upstreams.get(place.0)
    }

    /// Takes the end of an upstream's call in; whether the upstream was ejected for it.
    pub fn call_ended(&self, upstream: &Upstream, failed: bool, now: Monotonic) -> bool {
        let settings = &self.config.settings;
        if !failed {
            return upstream.call_ended(false, settings, now, || false);
        }
        let _one_at_a_time = self.live.ejecting.lock();
        upstream.call_ended(true, settings, now, || {
            let out = self.upstreams.iter().filter(|upstream| upstream.ejected_for(now) > 0).count() as u64;
            (out + 1) * 100 <= self.upstreams.len() as u64 * settings.eject.most_percent
        })
    }

    /// Milliseconds until a call may be served at the earliest: 0 while an upstream can take one, else until the end of
    /// the probes that one needs, or of its ejection.
    #[must_use]
    pub fn back_in(&self, now: Monotonic) -> u64 {
        let probe = &self.config.settings.probe;
        self.upstreams.iter().filter_map(|upstream| upstream.back_in(probe, now)).min().unwrap_or(0)
    }

    /// Counts a call as under way until the result is dropped; `None` when as many are as the pool takes.
    #[must_use]
    pub fn enter(&self) -> Option<PoolSeat> {
        let before = self.live.in_flight.fetch_add(1, Ordering::Relaxed);
        let seat = PoolSeat(Arc::clone(&self.live));
        if before >= self.config.settings.calls_in_flight {
            return None;
        }
        let mut budget = self.live.budget.lock();
        *budget = budget.after_call(self.config.settings.retry_percent);
        Some(seat)
    }

    /// Whether the budget has a retry left.
    #[must_use]
    pub fn has_retry(&self, now: Monotonic) -> bool {
        self.live.budget.lock().after_retry(now).is_some()
    }

    /// Takes a retry from the budget, if there is one.
    #[must_use]
    pub fn may_retry(&self, now: Monotonic) -> bool {
        let mut budget = self.live.budget.lock();
        let after = budget.after_retry(now);
        after.map(|after| *budget = after).is_some()
    }

    /// Calls under way.
    #[must_use]
    pub fn in_flight(&self) -> usize {
        self.live.in_flight.load(Ordering::Relaxed)
    }
}

impl Live {
    fn new() -> Self {
        Self {
            next: AtomicUsize::new(0),
            in_flight: AtomicUsize::new(0),
            budget: Mutex::new(Budget::new(Monotonic::now())),
            ejecting: Mutex::new(()),
        }
    }
}

impl Drop for PoolSeat {
    fn drop(&mut self) {
        self.0.in_flight.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Tried {
    /// Adds an upstream. The configuration bounds a pool to 64.
    pub fn add(&mut self, place: Place) {
        self.0 |= bit(place);
    }

    fn contains(self, place: Place) -> bool {
        self.0 & bit(place) != 0
    }
}

fn bit(place: Place) -> u64 {
    1u64.checked_shl(u32::try_from(place.0).unwrap_or(u32::MAX)).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{PoolSettings, UpstreamConfig};

    fn config(upstreams: u16) -> PoolConfig {
        let upstream = |port| UpstreamConfig {
            host: "127.0.0.1".to_owned(),
            port,
            weight: 1,
            backup: false,
            duty: Duty::Active,
        };
        let upstreams = (1..=upstreams).map(upstream).collect();
        PoolConfig { tool: Tool::Qr, upstreams, settings: PoolSettings::default() }
    }

    fn healthy(config: PoolConfig) -> Pool {
        let pool = Pool::new(config, None);
        for upstream in &pool.upstreams {
            upstream.observe(Evidence::ProbePassed, &pool.config.settings.probe, at(0));
        }
        pool
    }

    fn at(millis: u64) -> Monotonic {
        Monotonic::from_millis(millis)
    }

    fn select(pool: &Pool, tried: Tried, now: u64) -> Option<Place> {
        pool.select(KeyId::new([1; 12]), tried, at(now)).map(|(place, _)| place)
    }

    fn fail(pool: &Pool, place: usize, now: u64) {
        let upstream = pool.upstream(Place(place)).unwrap();
        for _ in 0..5 {
            pool.call_ended(upstream, true, at(now));
        }
    }

    #[test]
    fn no_call_goes_to_an_upstream_that_nobody_has_seen_healthy() {
        assert_eq!(select(&Pool::new(config(3), None), Tried::default(), 0), None);
    }

    #[test]
    fn healthy_upstreams_take_turns_and_none_is_tried_twice() {
        let pool = healthy(config(3));
        let turns: Vec<_> =
            (0..6).filter_map(|_| select(&pool, Tried::default(), 0)).map(|place| place.0).collect();
        assert_eq!(turns, [0, 1, 2, 0, 1, 2]);
        let mut tried = Tried::default();
        while let Some(place) = select(&pool, tried, 0) {
            assert!(!tried.contains(place));
            tried.add(place);
        }
        assert_eq!(tried.0, 0b111);
    }

    #[test]
    fn a_backup_serves_only_when_no_other_can_and_a_draining_one_never() {
        let mut config = config(3);
        config.upstreams[1].backup = true;
        config.upstreams[2].duty = Duty::Draining;
        let pool = healthy(config);
        assert!((0..10).all(|_| select(&pool, Tried::default(), 0) == Some(Place(0))));
        let mut tried = Tried::default();
        tried.add(Place(0));
        assert_eq!(select(&pool, tried, 0), Some(Place(1)));
        tried.add(Place(1));
        assert_eq!(select(&pool, tried, 0), None);
    }

    #[test]
    fn no_more_of_a_pool_is_ejected_than_it_allows_and_never_the_only_one() {
        for (upstreams, most) in [(1, 0), (2, 1), (3, 1), (4, 2), (5, 2)] {
            let pool = healthy(config(upstreams));
            for place in 0..usize::from(upstreams) {
                fail(&pool, place, 1_000);
            }
            let out = pool.upstreams.iter().filter(|upstream| upstream.ejected_for(at(1_000)) > 0).count();
            assert_eq!(out, most, "of {upstreams}");
        }
    }

    #[test]
    fn an_ejected_upstream_comes_back_by_itself_and_begins_slowly() {
        let pool = healthy(config(2));
        fail(&pool, 0, 1_000);
        assert!((0..10).all(|_| select(&pool, Tried::default(), 5_999) == Some(Place(1))));
        let share = |now: u64| {
            let chosen = |_: &u32| select(&pool, Tried::default(), now) == Some(Place(0));
            (0..1_100).filter(chosen).count()
        };
        assert_eq!(share(6_000), 100);
        assert!((360..=370).contains(&share(11_000)));
        assert_eq!(share(16_000), 550);
    }

    #[test]
    fn after_an_ejection_one_call_tries_and_the_others_wait_for_what_comes_of_it() {
        let pool = healthy(PoolConfig {
            settings: PoolSettings { slow_start: std::time::Duration::ZERO, ..PoolSettings::default() },
            ..config(2)
        });
        let take = |now| pool.take(KeyId::new([1; 12]), Tried::default(), at(now)).unwrap();
        let places = |now| (0..10).map(|_| take(now)).map(|(place, seat)| (place.0, seat)).unzip();
        fail(&pool, 0, 1_000);
        // While it is tried, all others go to the other one.
        let (taken, seats): (Vec<_>, Vec<_>) = places(6_000);
        assert_eq!(taken.iter().filter(|place| **place == 0).count(), 1);
        // The one that tried has left without a word: one more tries.
        drop(seats);
        let (taken, _seats): (Vec<_>, Vec<_>) = places(6_000);
        assert_eq!(taken.iter().filter(|place| **place == 0).count(), 1);
        // It went well: it is one like any other.
        pool.call_ended(pool.upstream(Place(0)).unwrap(), false, at(6_001));
        let (taken, _seats): (Vec<_>, Vec<_>) = places(6_001);
        assert_eq!(taken.iter().filter(|place| **place == 0).count(), 5);
    }

    #[test]
    fn who_has_no_other_goes_to_the_one_that_is_tried() {
        let pool = healthy(config(2));
        fail(&pool, 0, 1_000);
        let mut tried = Tried::default();
        tried.add(Place(1));
        let take = || pool.take(KeyId::new([1; 12]), tried, at(6_000)).map(|(place, seat)| (place.0, seat));
        let (first, second) = (take().unwrap(), take().unwrap());
        assert_eq!((first.0, second.0), (0, 0));
    }

    #[test]
    fn one_that_is_switched_off_is_known_to_need_no_probe() {
        let mut config = config(2);
        config.upstreams[1].duty = Duty::Off;
        let pool = Pool::new(config, None);
        assert!(!pool.is_known());
        pool.upstreams[0].observe(Evidence::ProbePassed, &pool.config.settings.probe, at(0));
        assert!(pool.is_known());
        assert!((0..10).all(|_| select(&pool, Tried::default(), 0) == Some(Place(0))));
    }

    #[test]
    fn what_is_known_of_an_upstream_outlives_its_configuration() {
        let old = healthy(config(2));
        fail(&old, 0, 1_000);
        let _seat = old.enter().unwrap();
        let new = Pool::new(config(3), Some(&old));
        let now = at(1_000);
        let known: Vec<_> = new.upstreams.iter().map(|one| (one.health(), one.ejected_for(now))).collect();
        assert_eq!(known, [(Health::Healthy, 5_000), (Health::Healthy, 0), (Health::Unknown, 0)]);
        assert_eq!(new.in_flight(), 1);
    }

    #[test]
    fn a_pool_takes_as_many_calls_at_once_as_it_was_told() {
        let pool = healthy(config(1));
        let mut seats: Vec<_> =
            (0..pool.config.settings.calls_in_flight).map_while(|_| pool.enter()).collect();
        assert_eq!(seats.len(), pool.config.settings.calls_in_flight);
        assert!(pool.enter().is_none());
        seats.pop();
        assert!(pool.enter().is_some());
    }
}
