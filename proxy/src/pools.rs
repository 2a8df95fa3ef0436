//! The servers behind the tools.

mod budget;
mod health;
mod upstream;

use std::sync::atomic::{AtomicUsize, Ordering};

use budget::Budget;
pub use health::{Evidence, Health};
use parking_lot::Mutex;
use shared::tool::Tool;
pub use upstream::Upstream;

use crate::{
    clock::Monotonic,
    config::{Config, PoolConfig},
    per_tool::PerTool,
};

/// One pool for each tool.
#[derive(Debug)]
pub struct Pools(PerTool<Pool>);

/// The servers of one tool.
#[derive(Debug)]
pub struct Pool {
    /// What it was configured as.
    pub config: PoolConfig,
    /// At least one.
    pub upstreams: Vec<Upstream>,
    next: AtomicUsize,
    in_flight: AtomicUsize,
    budget: Mutex<Budget>,
}

/// Upstreams of one pool that a call has been refused by, so that it is not sent there again.
#[derive(Clone, Copy, Debug, Default)]
pub struct Tried(u64);

/// The place of an upstream in its pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place(usize);

impl Pools {
    /// The pools of a configuration, every upstream unknown.
    #[must_use]
    pub fn new(config: &Config) -> Self {
        Self(PerTool::from_fn(|tool| Pool::new(config.pools[tool].clone())))
    }

    /// The pool of a tool.
    #[must_use]
    pub fn of(&self, tool: Tool) -> &Pool {
        &self.0[tool]
    }

    /// Every pool.
    pub fn iter(&self) -> impl Iterator<Item = &Pool> {
        self.0.iter().map(|(_, pool)| pool)
    }

    /// Whether every upstream has been probed at least once.
    #[must_use]
    pub fn are_known(&self) -> bool {
        let known = |upstream: &Upstream| upstream.health() != Health::Unknown;
        self.iter().all(|pool| pool.upstreams.iter().all(known))
    }
}

impl Pool {
    fn new(config: PoolConfig) -> Self {
        let upstreams = config.upstreams.iter().map(|upstream| Upstream::new(upstream, &config.settings));
        Self {
            upstreams: upstreams.collect(),
            config,
            next: AtomicUsize::new(0),
            in_flight: AtomicUsize::new(0),
            budget: Mutex::new(Budget::new(Monotonic::now())),
        }
    }

    /// The next healthy upstream in turn that was not tried; `None` when there is none.
    #[must_use]
    pub fn select(&self, tried: Tried) -> Option<Place> {
        let count = self.upstreams.len();
        let start = self.next.fetch_add(1, Ordering::Relaxed);
        (0..count).map(|step| Place(start.wrapping_add(step) % count)).find(|place| {
            let healthy = |upstream: &Upstream| upstream.health() == Health::Healthy;
            !tried.contains(*place) && self.upstream(*place).is_some_and(healthy)
        })
    }

    /// Whether a healthy upstream was not tried yet.
    #[must_use]
    pub fn has_another(&self, tried: Tried) -> bool {
        let healthy = |upstream: &Upstream| upstream.health() == Health::Healthy;
        self.places().any(|place| !tried.contains(place) && self.upstream(place).is_some_and(healthy))
    }

    /// The place of each upstream.
    pub fn places(&self) -> impl Iterator<Item = Place> + use<> {
        (0..self.upstreams.len()).map(Place)
    }

    /// The upstream at a place.
    #[must_use]
    pub fn upstream(&self, place: Place) -> Option<&Upstream> {
        self.upstreams.get(place.0)
    }

    /// Milliseconds until a call may be served at the earliest: 0 while an upstream is healthy, else the end of the
    /// probes that one needs to be healthy again.
    #[must_use]
    pub fn back_in(&self, now: Monotonic) -> u64 {
        let probe = &self.config.settings.probe;
        self.upstreams.iter().map(|upstream| upstream.back_in(probe, now)).min().unwrap_or(0)
    }

    /// Counts a call as under way, unless as many are as the pool takes.
    #[must_use]
    pub fn enter(&self) -> bool {
        let entered = self.in_flight.fetch_add(1, Ordering::Relaxed) < self.config.settings.calls_in_flight;
        if !entered {
            self.leave();
            return false;
        }
        let mut budget = self.budget.lock();
        *budget = budget.after_call(self.config.settings.retry_percent);
        true
    }

    /// Takes a retry from the budget, if there is one.
    #[must_use]
    pub fn may_retry(&self, now: Monotonic) -> bool {
        let mut budget = self.budget.lock();
        let after = budget.after_retry(now);
        after.map(|after| *budget = after).is_some()
    }

    /// Ends a call that entered.
    pub fn leave(&self) {
        self.in_flight.fetch_sub(1, Ordering::Relaxed);
    }

    /// Calls under way.
    #[must_use]
    pub fn in_flight(&self) -> usize {
        self.in_flight.load(Ordering::Relaxed)
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

    fn pool(upstreams: u16) -> Pool {
        let upstream = |port| UpstreamConfig { host: "127.0.0.1".to_owned(), port };
        let upstreams = (1..=upstreams).map(upstream).collect();
        Pool::new(PoolConfig { tool: Tool::Qr, upstreams, settings: PoolSettings::default() })
    }

    #[test]
    fn no_call_goes_to_an_upstream_that_nobody_has_seen_healthy() {
        assert_eq!(pool(3).select(Tried::default()), None);
    }

    #[test]
    fn healthy_upstreams_take_turns_and_none_is_tried_twice() {
        let pool = pool(3);
        for upstream in &pool.upstreams {
            upstream.observe(Evidence::ProbePassed, &pool.config.settings.probe);
        }
        let turns: Vec<_> =
            (0..6).filter_map(|_| pool.select(Tried::default())).map(|place| place.0).collect();
        assert_eq!(turns, [0, 1, 2, 0, 1, 2]);
        let mut tried = Tried::default();
        while let Some(place) = pool.select(tried) {
            assert!(!tried.contains(place));
            tried.add(place);
        }
        assert_eq!(tried.0, 0b111);
    }

    #[test]
    fn a_pool_takes_as_many_calls_at_once_as_it_was_told() {
        let pool = pool(1);
        let most = pool.config.settings.calls_in_flight;
        assert!((0..most).all(|_| pool.enter()) && !pool.enter());
        pool.leave();
        assert!(pool.enter());
    }
}
