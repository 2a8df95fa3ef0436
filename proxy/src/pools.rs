//! The servers behind the tools.

mod balance;
mod budget;
mod choice;
mod ejection;
mod health;
mod idle;
mod names;
mod series;
mod trial;
mod upstream;

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use budget::Budget;
pub use choice::{Place, Tried};
pub use health::{Evidence, Health};
pub(crate) use idle::Taken;
pub use idle::{Home, Room};
pub use names::ResolvedNames;
use parking_lot::Mutex;
pub use series::{STATUS_CLASSES, Series};
use shared::tool::Tool;
pub use upstream::{Upstream, UpstreamSeat, Way};

use crate::{
    clock::Monotonic,
    config::{Config, Duty, PoolConfig},
    per_tool::PerTool,
};

/// One pool for each tool.
#[derive(Debug)]
pub struct Pools {
    pools: PerTool<Arc<Pool>>,
    names: ResolvedNames,
}

/// The servers of one tool.
#[derive(Debug)]
pub struct Pool {
    /// What it was configured as.
    pub config: PoolConfig,
    /// At least one: one for each address of each entry of the configuration.
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

impl Pools {
    /// Creates the pools of a configuration, with the addresses that its names resolved to. Servers that the pools
    /// `before` had keep their state.
    #[must_use]
    pub fn new(config: &Config, names: ResolvedNames, before: Option<&Self>) -> Self {
        let pools = PerTool::from_fn(|tool| {
            let before = before.map(|before| before.of(tool).as_ref());
            Arc::new(Pool::new(config.pools[tool].clone(), &names, before))
        });
        Self { pools, names }
    }

    /// Returns the pools with other addresses of names; `None` if no pool has other servers than before.
    #[must_use]
    pub fn with_names(&self, names: ResolvedNames) -> Option<Self> {
        let pools = PerTool::from_fn(|tool| {
            let pool = self.of(tool);
            match pool.is_resolved_by(&names) {
                true => Arc::clone(pool),
                false => Arc::new(Pool::new(pool.config.clone(), &names, Some(pool))),
            }
        });
        let is_same = pools.iter().all(|(tool, pool)| Arc::ptr_eq(pool, self.of(tool)));
        (!is_same).then_some(Self { pools, names })
    }

    /// Returns the addresses that names resolved to.
    #[must_use]
    pub const fn names(&self) -> &ResolvedNames {
        &self.names
    }

    /// The pool of a tool.
    #[must_use]
    pub fn of(&self, tool: Tool) -> &Arc<Pool> {
        &self.pools[tool]
    }

    /// Every pool.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<Pool>> {
        self.pools.iter().map(|(_, pool)| pool)
    }

    /// Whether every upstream has been probed at least once.
    #[must_use]
    pub fn are_known(&self) -> bool {
        self.iter().all(|pool| pool.is_known())
    }
}

impl Pool {
    /// Creates the pool, with the state of the pool `before` where it has the same servers.
    #[must_use]
    pub fn new(config: PoolConfig, names: &ResolvedNames, before: Option<&Self>) -> Self {
        let upstreams: Vec<_> = names::servers(&config.upstreams, names)
            .into_iter()
            .map(|(upstream, address)| {
                let name = upstream.identity(address);
                let before = before.and_then(|pool| pool.upstreams.iter().find(|other| other.name == name));
                Upstream::new(upstream, address, &config.settings, before)
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

    /// Returns true if these addresses give the pool the servers that it has.
    fn is_resolved_by(&self, names: &ResolvedNames) -> bool {
        let servers = names::servers(&self.config.upstreams, names);
        let ours = self.upstreams.iter().map(|upstream| (&upstream.config, upstream.address));
        servers.into_iter().eq(ours)
    }

    /// Whether every upstream that is to be probed was.
    #[must_use]
    pub fn is_known(&self) -> bool {
        let known = |upstream: &Upstream| upstream.health() != Health::Unknown;
        self.upstreams.iter().filter(|upstream| upstream.config.duty != Duty::Off).all(known)
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
            // The last one that can serve stays, also where the others are unhealthy, such as the address of a name
            // at which nothing listens.
            let has_other =
                self.upstreams.iter().any(|other| !std::ptr::eq(other, upstream) && other.is_available(now));
            has_other && (out + 1) * 100 <= self.upstreams.len() as u64 * settings.eject.most_percent
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{PoolSettings, UpstreamConfig};

    pub(super) fn config(upstreams: u16) -> PoolConfig {
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

    pub(super) fn healthy(config: PoolConfig) -> Pool {
        let pool = Pool::new(config, &ResolvedNames::default(), None);
        for upstream in &pool.upstreams {
            upstream.observe(Evidence::ProbePassed, &pool.config.settings.probe, at(0));
        }
        pool
    }

    pub(super) fn at(millis: u64) -> Monotonic {
        Monotonic::from_millis(millis)
    }

    pub(super) fn fail(pool: &Pool, place: usize, now: u64) {
        for _ in 0..5 {
            pool.call_ended(&pool.upstreams[place], true, at(now));
        }
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
    fn last_available_upstream_is_not_ejected_beside_unhealthy_ones() {
        let pool = Pool::new(config(2), &ResolvedNames::default(), None);
        let probe = &pool.config.settings.probe;
        pool.upstreams[0].observe(Evidence::ProbePassed, probe, at(0));
        pool.upstreams[1].observe(Evidence::ProbeFailed, probe, at(0));
        fail(&pool, 0, 1_000);
        assert!(pool.upstreams[0].is_available(at(1_000)));
    }

    #[test]
    fn what_is_known_of_an_upstream_outlives_its_configuration() {
        let old = healthy(config(2));
        fail(&old, 0, 1_000);
        let _seat = old.enter().unwrap();
        let new = Pool::new(config(3), &ResolvedNames::default(), Some(&old));
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
