//! The pool of one tool: its upstreams, its limit of calls in flight and its retry budget.

use std::borrow::Cow;
use std::fmt;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use pingora_limits::inflight::{Guard, Inflight};
use pingora_limits::rate::Rate;
use shared::key::KeyId;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::call_rate::CallRate;
use super::ejection::{CallFailure, Ejection, Returned};
use super::last_description::LastDescription;
use super::queue::Queue;
use super::response_times::{self, Speed, TimedResponse};
use super::retry_budget::RetryBudget;
use super::{Evidence, Health, ResolvedNames, Upstream, resolved_names};
use config::{AdminState, PoolConfig};
use transport::clock::Monotonic;

/// Maximum number of copies of calls in flight. Further calls are not copied.
const MAX_MIRRORED: usize = 64;

/// A limit on the calls of a pool that was exceeded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exceeded {
    /// The rate of the pool. The next call passes after so many milliseconds.
    Rate(u64),
    /// The rate of one key.
    RateOfKey,
    /// The calls in flight of one key.
    InFlightOfKey,
}

/// The upstreams of one tool.
#[derive(Debug)]
pub struct Pool {
    /// The configuration of the pool.
    pub config: PoolConfig,
    /// One for each address of each configured entry, or for each host of its SRV records. None if the file
    /// of servers is faulty and there were none before.
    pub upstreams: Vec<Upstream>,
    /// Whether all weights are equal, so that round robin needs no lock.
    pub(super) equal_weights: bool,
    /// The credit of each upstream in smooth weighted round robin.
    pub(super) credits: Mutex<Vec<i64>>,
    pub(super) state: Arc<SharedState>,
}

/// The state of a pool that outlives its configuration.
pub(super) struct SharedState {
    pub(super) next: AtomicUsize,
    in_flight: AtomicUsize,
    /// The copies of calls in flight.
    mirroring: Arc<Semaphore>,
    /// The calls that wait for a permit.
    pub(super) queue: Queue,
    call_rate: Mutex<CallRate>,
    /// The estimated rates of keys, if the pool limits them. Under a mutex, because `Rate` loses counts
    /// if two threads end a second at the same time.
    key_rates: OnceLock<Mutex<Rate>>,
    /// The calls in flight of each key, if the pool limits them.
    in_flight_by_key: OnceLock<Inflight>,
    budget: Mutex<RetryBudget>,
    /// Number of responses whose times were recorded.
    timed: AtomicU64,
    /// Held while an ejection is decided, so that two cannot exceed the limit together.
    ejecting: Mutex<()>,
    /// What the tool says of itself.
    pub(super) description: Mutex<LastDescription>,
}

/// A permit for one call in flight in a pool. Dropping it releases the permit, also on a panic.
#[derive(Debug)]
pub struct PoolPermit(Arc<SharedState>);

impl Pool {
    /// Creates the pool. Upstreams that are also in the pool `before` keep their state.
    pub fn new(config: PoolConfig, names: &ResolvedNames, before: Option<&Self>) -> Self {
        let upstreams: Vec<_> = resolved_names::servers(&config, names)
            .into_iter()
            .map(|(upstream, address)| {
                let name = upstream.identity(address);
                let before = before.and_then(|pool| pool.upstreams.iter().find(|other| other.name == name));
                Upstream::new(&upstream, address, &config.settings, before)
            })
            .collect();
        let weight = upstreams.first().map(|first: &Upstream| first.config.weight);
        Self {
            equal_weights: upstreams.iter().all(|upstream| Some(upstream.config.weight) == weight),
            credits: Mutex::new(vec![0; upstreams.len()]),
            upstreams,
            config,
            state: before.map_or_else(|| Arc::new(SharedState::new()), |before| Arc::clone(&before.state)),
        }
    }

    /// Returns true if these addresses give the pool the upstreams that it has.
    pub(super) fn is_resolved_by(&self, names: &ResolvedNames) -> bool {
        let resolved = resolved_names::servers(&self.config, names);
        let ours = self.upstreams.iter().map(|upstream| (Cow::Borrowed(&upstream.config), upstream.address));
        resolved.into_iter().eq(ours)
    }

    /// Returns true if every upstream that is not switched off has been probed.
    pub fn is_known(&self) -> bool {
        let known = |upstream: &Upstream| upstream.health() != Health::Unknown;
        self.upstreams.iter().filter(|upstream| upstream.config.admin_state != AdminState::Off).all(known)
    }

    /// Records a probe or a failed connection of an upstream, and logs if its health has changed.
    pub fn record_evidence(
        &self,
        upstream: &Upstream,
        evidence: Evidence,
        reason: impl fmt::Display,
        now: Monotonic,
    ) {
        if let Some(health) = upstream.record_evidence(evidence, &self.config.settings.probe, now) {
            // The reason can be an expired certificate, which no other line names.
            let level = if health == Health::Unhealthy { log::Level::Warn } else { log::Level::Info };
            let (tool, name, health) = (self.config.tool, &upstream.name, health.into_str());
            log::log!(
                level,
                "upstream health changed: tool={tool} upstream={name} health={health} reason=\"{reason}\""
            );
        }
        if let Some(returned) = upstream.take_return(now) {
            self.log_return(upstream, returned);
        }
    }

    /// Records the outcome of a call. Returns the ejection by it.
    pub fn record_outcome(
        &self,
        upstream: &Upstream,
        failure: Option<CallFailure>,
        now: Monotonic,
    ) -> Option<Ejection> {
        let settings = &self.config.settings;
        // Only for a failure: a lock for each success would serialize all calls of the pool.
        let _guard = failure.map(|_| self.state.ejecting.lock());
        let (returned, ejection) = upstream.record_outcome(failure, settings, now, || {
            let ejected =
                self.upstreams.iter().filter(|upstream| upstream.ejected_for(now) > 0).count() as u64;
            // The last available upstream is never ejected, also if the others are unhealthy, such
            // as an address of a name at which nothing listens.
            let has_other =
                self.upstreams.iter().any(|other| !std::ptr::eq(other, upstream) && other.is_available(now));
            has_other && (ejected + 1) * 100 <= self.upstreams.len() as u64 * settings.eject.max_percent
        });
        if let Some(returned) = returned {
            self.log_return(upstream, returned);
        }
        ejection
    }

    #[cold]
    fn log_return(&self, upstream: &Upstream, Returned { ejection, by, after_ms }: Returned) {
        let (tool, name, reason) = (self.config.tool, &upstream.name, ejection.reason.into_str());
        let by = by.into_str();
        log::info!(
            "upstream returned: tool={tool} upstream={name} after_ms={after_ms} ended_by={by} reason={reason}"
        );
    }

    /// Records the time of a response to a call that was sent at `sent`. Returns what it says of the upstream
    /// beside the other available ones.
    pub fn record_time(&self, upstream: &Upstream, sent: Instant, took: Duration, now: Monotonic) -> Speed {
        let rules = &self.config.settings.eject;
        // Before anything is recorded: a counter that all threads share would cost each call for
        // nothing.
        if rules.slow_factor == 0 {
            return Speed::Usual;
        }
        let number = self.state.timed.fetch_add(1, Ordering::Relaxed) + 1;
        let response = TimedResponse { sent, took, number };
        let before = upstream.record_time(response);
        let medians = self.peers(upstream, now).filter_map(Upstream::median_time);
        let last = self.peers(upstream, now).filter_map(Upstream::last_response);
        response_times::judge(&response, before, medians, last, rules)
    }

    /// Returns the median of the other available upstreams, in milliseconds. 0 if it is not known.
    pub fn typical_ms(&self, upstream: &Upstream, now: Monotonic) -> u64 {
        let medians = self.peers(upstream, now).filter_map(Upstream::median_time);
        response_times::typical(medians).map_or(0, |micros| u64::from(micros) / 1_000)
    }

    /// Returns the other available upstreams.
    fn peers(&self, upstream: &Upstream, now: Monotonic) -> impl Iterator<Item = &Upstream> {
        self.upstreams.iter().filter(move |other| !std::ptr::eq(*other, upstream) && other.is_available(now))
    }

    /// Returns the milliseconds until an upstream can take a call: 0 if one is healthy, else the time
    /// until the first one has passed the probes that it needs.
    pub fn recovers_in(&self, now: Monotonic) -> u64 {
        if self.is_panicking(now) {
            return 0;
        }
        let probe = &self.config.settings.probe;
        self.upstreams.iter().filter_map(|upstream| upstream.recovers_in(probe, now)).min().unwrap_or(0)
    }

    /// Acquires a permit for one call in flight and credits the retry budget. Returns `None` if the
    /// pool is at its limit.
    pub fn try_acquire(&self) -> Option<PoolPermit> {
        let limit = self.config.settings.calls_in_flight;
        // Sequentially consistent: a permit is released before the queue is looked at, and a call
        // joins the queue before it looks for a permit.
        if self.state.in_flight.fetch_add(1, Ordering::SeqCst) >= limit {
            // Another call may have been refused because this one was counted.
            if self.state.in_flight.fetch_sub(1, Ordering::SeqCst) <= limit {
                self.state.queue.wake_next();
            }
            return None;
        }
        let permit = PoolPermit(Arc::clone(&self.state));
        let mut budget = self.state.budget.lock();
        *budget = budget.after_call(self.config.settings.retry_percent);
        Some(permit)
    }

    /// Counts a call of a key towards the limits on rates, and reserves one of the key's slots for calls in
    /// flight, if they are limited. Dropping the guard releases it.
    ///
    /// # Errors
    /// Returns the limit that is exceeded. Those of a key are estimates, which collisions can raise.
    pub fn admit(&self, key: KeyId, now: Monotonic) -> Result<Option<Guard>, Exceeded> {
        let settings = &self.config.settings;
        let most = isize::try_from(settings.calls_in_flight_per_key).unwrap_or(isize::MAX);
        // Counted first and compared after: two calls at once could both find the last slot free.
        let slot = (most > 0).then(|| self.state.in_flight_by_key.get_or_init(Inflight::new).incr(key, 1));
        if slot.as_ref().is_some_and(|(_, count)| *count > most) {
            return Err(Exceeded::InFlightOfKey);
        }
        if settings.calls_per_second_per_key > 0 {
            let rates = self.state.key_rates.get_or_init(|| {
                Mutex::new(Rate::new_with_estimator_config(Duration::from_secs(1), 4, 1 << 12))
            });
            let limit = isize::try_from(settings.calls_per_second_per_key).unwrap_or(isize::MAX);
            if rates.lock().observe(&key, 1) > limit {
                return Err(Exceeded::RateOfKey);
            }
        }
        // Last, so that a call which a limit of its key refuses takes nothing from the others.
        if settings.calls_per_second > 0 {
            let mut rate = self.state.call_rate.lock();
            *rate = rate.after_call(settings.calls_per_second, now).map_err(Exceeded::Rate)?;
        }
        Ok(slot.map(|(guard, _)| guard))
    }

    /// Reserves one of the slots for copies of calls. Returns `None` if all are in use. Dropping the permit
    /// releases it.
    pub fn try_mirror(&self) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.state.mirroring).try_acquire_owned().ok()
    }

    /// Spends one retry from the budget. Returns false if the budget is empty.
    pub fn try_spend_retry(&self, now: Monotonic) -> bool {
        let mut budget = self.state.budget.lock();
        let after = budget.after_retry(now);
        after.map(|after| *budget = after).is_some()
    }

    /// Returns the number of calls that wait for a permit.
    pub fn queued(&self) -> usize {
        self.state.queue.len()
    }

    /// Returns the number of calls in flight.
    pub fn in_flight(&self) -> usize {
        self.state.in_flight.load(Ordering::Relaxed)
    }
}

impl fmt::Debug for SharedState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SharedState").field("in_flight", &self.in_flight).finish_non_exhaustive()
    }
}

impl SharedState {
    fn new() -> Self {
        Self {
            next: AtomicUsize::new(0),
            in_flight: AtomicUsize::new(0),
            mirroring: Arc::new(Semaphore::new(MAX_MIRRORED)),
            queue: Queue::default(),
            call_rate: Mutex::new(CallRate::new(Monotonic::now())),
            key_rates: OnceLock::new(),
            in_flight_by_key: OnceLock::new(),
            budget: Mutex::new(RetryBudget::new(Monotonic::now())),
            timed: AtomicU64::new(0),
            ejecting: Mutex::new(()),
            description: Mutex::default(),
        }
    }
}

impl Drop for PoolPermit {
    fn drop(&mut self) {
        // Before the wake: a call that is woken first would find no permit, and sleep on.
        self.0.in_flight.fetch_sub(1, Ordering::SeqCst);
        self.0.queue.wake_next();
    }
}

#[cfg(test)]
pub(super) mod tests {
    use shared::tool::Tool;

    use super::*;
    use config::{PoolSettings, UpstreamConfig};

    pub(crate) fn config(upstreams: u16) -> PoolConfig {
        let upstream = |port| UpstreamConfig {
            host: "127.0.0.1".to_owned(),
            port,
            weight: 1,
            backup: false,
            admin_state: AdminState::Active,
        };
        let upstreams = (1..=upstreams).map(upstream).collect();
        let (settings, upstreams_file_error) = (PoolSettings::default(), None);
        PoolConfig {
            tool: Tool::Qr,
            upstreams,
            by_server: Default::default(),
            upstreams_file_error,
            settings,
            mirror: None,
        }
    }

    pub(crate) fn healthy(config: PoolConfig) -> Pool {
        let pool = Pool::new(config, &ResolvedNames::default(), None);
        for upstream in &pool.upstreams {
            upstream.record_evidence(Evidence::ProbePassed, &pool.config.settings.probe, at(0));
        }
        pool
    }

    pub(crate) fn at(millis: u64) -> Monotonic {
        Monotonic::from_millis(millis)
    }

    pub(crate) fn fail(pool: &Pool, index: usize, now: u64) {
        for _ in 0..5 {
            pool.record_outcome(&pool.upstreams[index], Some(CallFailure::NoResponse), at(now));
        }
    }

    #[test]
    fn ejections_are_limited_to_eject_percent_and_never_the_last() {
        for (upstreams, max) in [(1, 0), (2, 1), (3, 1), (4, 2), (5, 2)] {
            let pool = healthy(config(upstreams));
            for index in 0..usize::from(upstreams) {
                fail(&pool, index, 1_000);
            }
            let ejected =
                pool.upstreams.iter().filter(|upstream| upstream.ejected_for(at(1_000)) > 0).count();
            assert_eq!(ejected, max, "of {upstreams}");
        }
    }

    #[test]
    fn last_available_upstream_is_not_ejected_beside_unhealthy_ones() {
        let pool = Pool::new(config(2), &ResolvedNames::default(), None);
        let probe = &pool.config.settings.probe;
        pool.upstreams[0].record_evidence(Evidence::ProbePassed, probe, at(0));
        pool.upstreams[1].record_evidence(Evidence::ProbeFailed, probe, at(0));
        fail(&pool, 0, 1_000);
        assert!(pool.upstreams[0].is_available(at(1_000)));
    }

    #[test]
    fn slow_upstream_is_an_outlier_unless_all_are_slow() {
        let slow_after = |times: &dyn Fn(usize) -> u64| {
            let world = World::new();
            let calls = (0..60_usize).map(|at| (200 + at as u64 * 400, times(at % 4), at % 4));
            calls.filter(|call| world.ends(*call)).map(|call| call.2).collect::<Vec<_>>()
        };
        assert_eq!(slow_after(&|index| if index == 1 { 300 } else { 30 }), [1]);
        assert_eq!(slow_after(&|_| 300), [0; 0]);
        assert_eq!(slow_after(&|index| if index == 1 { 140 } else { 30 }), [0; 0]);
    }

    /// A call: when it was sent, in milliseconds, how long it took, and its upstream.
    type Timed = (u64, u64, usize);

    /// Four upstreams whose calls took 30 ms until now.
    struct World {
        pool: Pool,
        begun: Instant,
    }

    impl World {
        fn new() -> Self {
            let mut config = config(4);
            config.settings.eject.slow_factor = 5;
            let world = Self { pool: healthy(config), begun: Instant::now() };
            (0..40_usize).for_each(|at| assert!(!world.ends((at as u64 * 5, 30, at % 4))));
            world
        }

        /// Records the end of a call. Returns true if its upstream was ejected.
        fn ends(&self, (sent, took, index): Timed) -> bool {
            let (sent, took) = (self.begun + Duration::from_millis(sent), Duration::from_millis(took));
            let upstream = &self.pool.upstreams[index];
            match self.pool.record_time(upstream, sent, took, at(1_000)) {
                Speed::Unknown => false,
                speed => {
                    let failure = (speed == Speed::Slow).then_some(CallFailure::NoResponse);
                    self.pool.record_outcome(upstream, failure, at(1_000)).is_some()
                }
            }
        }
    }

    /// The responses of one come before those of the others, as after a burst, in any mixture, or there are
    /// more of them.
    #[test]
    fn upstreams_that_become_slow_together_are_not_ejected() {
        let mut random = fastrand::Rng::with_seed(1);
        for number in 0..500 {
            let world = World::new();
            let burst = [1, 5, 20, 50][number % 4];
            let shares = [[1, 1, 1, 1], [10, 1, 1, 1], [10, 10, 1, 0]][number % 3];
            for round in 0..20 {
                let is_mixed = random.bool();
                let mut calls: Vec<Timed> = Vec::new();
                for (index, share) in shares.into_iter().enumerate() {
                    let delay = if is_mixed { 0 } else { 60 * index as u64 };
                    let sent = |random: &mut fastrand::Rng| 200 + round * 1_000 + delay + random.u64(..50);
                    calls
                        .extend((0..share * burst).map(|_| (sent(&mut random), random.u64(280..320), index)));
                }
                calls.sort_by_key(|(sent, took, _)| sent + took);
                for call in calls {
                    assert!(!world.ends(call), "world {number}, round {round}: {call:?} ejects");
                }
            }
        }
    }

    /// However many callers there are: soon all of them wait for it.
    #[test]
    fn one_slow_upstream_is_ejected_within_ten_calls() {
        for callers in [1, 2, 5, 16, 50] {
            let world = World::new();
            let mut turns = (0..4).cycle();
            let mut send = |at: u64| -> Timed {
                let index = turns.next().unwrap();
                (at, if index == 1 { 300 } else { 30 }, index)
            };
            let mut in_flight: Vec<_> = (0..callers).map(|caller| send(200 + caller)).collect();
            let mut ended = 0;
            loop {
                in_flight.sort_by_key(|(sent, took, _)| std::cmp::Reverse(sent + took));
                let call = in_flight.pop().unwrap();
                ended += usize::from(call.2 == 1);
                if world.ends(call) {
                    break assert_eq!(call.2, 1, "{callers} callers");
                }
                assert!(ended < 10, "{callers} callers: it had {ended} calls");
                in_flight.push(send(call.0 + call.1));
            }
        }
    }

    #[test]
    fn reload_keeps_upstream_state() {
        let old = healthy(config(2));
        fail(&old, 0, 1_000);
        let _permit = old.try_acquire().unwrap();
        let new = Pool::new(config(3), &ResolvedNames::default(), Some(&old));
        let now = at(1_000);
        let known: Vec<_> = new.upstreams.iter().map(|one| (one.health(), one.ejected_for(now))).collect();
        assert_eq!(known, [(Health::Healthy, 5_000), (Health::Healthy, 0), (Health::Unknown, 0)]);
        assert_eq!(new.in_flight(), 1);
    }

    #[test]
    fn pool_at_calls_in_flight_limit_refuses() {
        let pool = healthy(config(1));
        let mut permits: Vec<_> =
            (0..pool.config.settings.calls_in_flight).map_while(|_| pool.try_acquire()).collect();
        assert_eq!(permits.len(), pool.config.settings.calls_in_flight);
        assert!(pool.try_acquire().is_none());
        permits.pop();
        assert!(pool.try_acquire().is_some());
    }
}
