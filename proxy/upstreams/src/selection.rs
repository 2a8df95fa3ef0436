//! Selects the server of a pool for a call.
//!
//! Why: docs/decisions/proxy.md, "The last server is never out of its pool".

use std::sync::atomic::Ordering;

use shared::key::KeyId;

use super::upstream::Standing;
use super::{Pool, Upstream, UpstreamPermit, balance};
use config::Balance;
use transport::clock::Monotonic;

/// The upstreams of a pool that a call has tried, as a bit set. The call is not sent there again.
#[derive(Clone, Copy, Debug, Default)]
pub struct TriedSet(u64);

/// The index of an upstream in its pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UpstreamIndex(usize);

impl Pool {
    /// Selects a healthy upstream that was not tried for a call of `key`, and acquires a permit there.
    /// Returns `None` if there is none.
    #[must_use]
    pub fn acquire_upstream(
        &self,
        key: KeyId,
        tried: TriedSet,
        now: Monotonic,
    ) -> Option<(UpstreamIndex, UpstreamPermit)> {
        loop {
            let (index, has_other) = self.select(key, tried, now)?;
            // Fails if another call has become the trial call of the upstream since the selection.
            if let Some(permit) = self.upstream(index)?.try_acquire(has_other) {
                return Some((index, permit));
            }
        }
    }

    /// Returns the upstream for the next call, and whether the call could avoid it. The order of
    /// preference is: available upstreams, those with a trial call in flight, then ejected ones. Each
    /// time primary upstreams come before backups.
    fn select(&self, key: KeyId, tried: TriedSet, now: Monotonic) -> Option<(UpstreamIndex, bool)> {
        if self.is_panicking(now) {
            let candidates = || {
                self.candidates(now, move |index, upstream| upstream.is_active() && !tried.contains(index))
            };
            // Backups too: a panic is about all that is left.
            return self.choose(key, candidates).map(|index| (UpstreamIndex(index), false));
        }
        let ranks = Standing::ALL.into_iter().flat_map(|standing| [(standing, false), (standing, true)]);
        ranks.into_iter().find_map(|(standing, backup)| {
            let candidates = || {
                self.candidates(now, move |index, upstream| {
                    upstream.config.backup == backup
                        && !tried.contains(index)
                        && upstream.standing(now) == Some(standing)
                })
            };
            // A call that gets a server of a lower rank has no other, and takes it even during a
            // trial.
            let has_other = standing == Standing::Available;
            self.choose(key, candidates).map(|index| (UpstreamIndex(index), has_other))
        })
    }

    /// Returns the upstreams for which `is_candidate` returns true.
    fn candidates(
        &self,
        now: Monotonic,
        is_candidate: impl Fn(UpstreamIndex, &Upstream) -> bool,
    ) -> impl Iterator<Item = balance::Candidate> {
        let slow_start = self.config.settings.slow_start;
        let upstreams = self.upstreams.iter().enumerate();
        upstreams
            .filter(move |(index, upstream)| is_candidate(UpstreamIndex(*index), upstream))
            .map(move |(index, upstream)| upstream.candidate(index, slow_start, now))
    }

    fn choose<I: Iterator<Item = balance::Candidate>>(
        &self,
        key: KeyId,
        candidates: impl Fn() -> I,
    ) -> Option<usize> {
        match self.config.settings.balance {
            Balance::RoundRobin if self.equal_weights && has_equal_weights(&candidates) => {
                let count = candidates().count();
                let turn = self.state.next.fetch_add(1, Ordering::Relaxed).checked_rem(count)?;
                // A candidate may have become unavailable since it was counted.
                candidates().nth(turn).or_else(|| candidates().next()).map(|candidate| candidate.index)
            }
            Balance::RoundRobin => balance::round_robin(&mut self.credits.lock(), candidates()),
            Balance::LeastConnections => balance::least_connections(&mut self.credits.lock(), candidates),
            Balance::KeyHash => balance::key_hash(key.as_bytes(), candidates()),
        }
    }

    /// Returns true in panic mode: the share of available upstreams among the active ones is below
    /// `panic_percent`. Calls then go to all active ones, because probes or outlier detection are
    /// wrong rather than nearly all upstreams, or because the few that are left could not take all
    /// calls.
    pub fn is_panicking(&self, now: Monotonic) -> bool {
        let percent = self.config.settings.panic_percent;
        if percent == 0 {
            return false;
        }
        let active = self.upstreams.iter().filter(|upstream| upstream.is_active());
        let (total, available) = active.fold((0u64, 0u64), |(total, available), upstream| {
            (total + 1, available + u64::from(upstream.is_available(now)))
        });
        // Without a division, so that a pool without active servers is no case of its own.
        available * 100 < total * percent
    }

    /// Returns true if an available upstream was not tried.
    pub fn has_available(&self, tried: TriedSet, now: Monotonic) -> bool {
        self.untried(tried).any(|upstream| upstream.is_available(now))
    }

    /// Returns true if an upstream that can get the call was not tried.
    pub fn has_untried(&self, tried: TriedSet, now: Monotonic) -> bool {
        let is_panicking = self.is_panicking(now);
        self.untried(tried)
            .any(|upstream| upstream.standing(now).is_some() || is_panicking && upstream.is_active())
    }

    /// Returns true if the upstream gets new calls: it is available, ejected and no upstream of the
    /// pool is available, or active in panic mode.
    pub fn is_in_use(&self, upstream: &Upstream, now: Monotonic) -> bool {
        match upstream.standing(now) {
            Some(Standing::Available | Standing::InTrial) => true,
            Some(Standing::Ejected) => {
                self.is_panicking(now) || !self.has_available(TriedSet::default(), now)
            }
            None => self.is_panicking(now) && upstream.is_active(),
        }
    }

    fn untried(&self, tried: TriedSet) -> impl Iterator<Item = &Upstream> {
        let upstreams = self.upstreams.iter().enumerate();
        upstreams
            .filter(move |(index, _)| !tried.contains(UpstreamIndex(*index)))
            .map(|(_, upstream)| upstream)
    }

    /// Returns the upstream with this index.
    pub fn upstream(&self, index: UpstreamIndex) -> Option<&Upstream> {
        self.upstreams.get(index.0)
    }
}

/// Returns true unless a candidate is in its slow start, given upstreams of equal configured
/// weights.
fn has_equal_weights<I: Iterator<Item = balance::Candidate>>(candidates: impl Fn() -> I) -> bool {
    let first = candidates().next().map(|candidate| candidate.weight);
    candidates().all(|candidate| Some(candidate.weight) == first)
}

impl TriedSet {
    /// Adds an upstream. A pool has at most 64.
    pub fn add(&mut self, index: UpstreamIndex) {
        self.0 |= bit(index);
    }

    fn contains(self, index: UpstreamIndex) -> bool {
        self.0 & bit(index) != 0
    }
}

fn bit(index: UpstreamIndex) -> u64 {
    1u64.checked_shl(u32::try_from(index.0).unwrap_or(u32::MAX)).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pool::tests::{at, config, fail, healthy};
    use crate::{CallFailure, Evidence, ResolvedNames};
    use config::{AdminState, PoolConfig, PoolSettings};

    fn select(pool: &Pool, tried: TriedSet, now: u64) -> Option<UpstreamIndex> {
        pool.select(KeyId::new([1; 12]), tried, at(now)).map(|(index, _)| index)
    }

    #[test]
    fn unprobed_upstreams_are_not_selected() {
        assert_eq!(
            select(&Pool::new(config(3), &ResolvedNames::default(), None), TriedSet::default(), 0),
            None
        );
    }

    #[test]
    fn healthy_upstreams_take_turns_and_are_tried_once() {
        let pool = healthy(config(3));
        let turns: Vec<_> =
            (0..6).filter_map(|_| select(&pool, TriedSet::default(), 0)).map(|index| index.0).collect();
        assert_eq!(turns, [0, 1, 2, 0, 1, 2]);
        let mut tried = TriedSet::default();
        while let Some(index) = select(&pool, tried, 0) {
            assert!(!tried.contains(index));
            tried.add(index);
        }
        assert_eq!(tried.0, 0b111);
    }

    #[test]
    fn backup_is_selected_last_and_draining_never() {
        let mut config = config(3);
        config.upstreams[1].backup = true;
        config.upstreams[2].admin_state = AdminState::Draining;
        let pool = healthy(config);
        assert!((0..10).all(|_| select(&pool, TriedSet::default(), 0) == Some(UpstreamIndex(0))));
        let mut tried = TriedSet::default();
        tried.add(UpstreamIndex(0));
        assert_eq!(select(&pool, tried, 0), Some(UpstreamIndex(1)));
        tried.add(UpstreamIndex(1));
        assert_eq!(select(&pool, tried, 0), None);
    }

    #[test]
    fn ejected_upstream_returns_with_slow_start() {
        let pool = healthy(config(2));
        fail(&pool, 0, 1_000);
        assert!((0..10).all(|_| select(&pool, TriedSet::default(), 5_999) == Some(UpstreamIndex(1))));
        let share = |now: u64| {
            let chosen = |_: &u32| select(&pool, TriedSet::default(), now) == Some(UpstreamIndex(0));
            (0..1_100).filter(chosen).count()
        };
        assert_eq!(share(6_000), 100);
        assert!((360..=370).contains(&share(11_000)));
        assert_eq!(share(16_000), 550);
    }

    #[test]
    fn one_trial_call_at_a_time_after_an_ejection() {
        let pool = healthy(PoolConfig {
            settings: PoolSettings { slow_start: std::time::Duration::ZERO, ..PoolSettings::default() },
            ..config(2)
        });
        let acquire = |now| pool.acquire_upstream(KeyId::new([1; 12]), TriedSet::default(), at(now)).unwrap();
        let ten = |now| (0..10).map(|_| acquire(now)).map(|(index, permit)| (index.0, permit)).unzip();
        fail(&pool, 0, 1_000);
        // While the trial call is in flight, all other calls avoid the upstream.
        let (selected, permits): (Vec<_>, Vec<_>) = ten(6_000);
        assert_eq!(selected.iter().filter(|index| **index == 0).count(), 1);
        // The trial call ended without an outcome: there is one more.
        drop(permits);
        let (selected, _permits): (Vec<_>, Vec<_>) = ten(6_000);
        assert_eq!(selected.iter().filter(|index| **index == 0).count(), 1);
        // A success closes the circuit.
        pool.record_outcome(pool.upstream(UpstreamIndex(0)).unwrap(), None, at(6_001));
        let (selected, _permits): (Vec<_>, Vec<_>) = ten(6_001);
        assert_eq!(selected.iter().filter(|index| **index == 0).count(), 5);
    }

    #[test]
    fn call_without_alternative_joins_the_trial() {
        let pool = healthy(config(2));
        fail(&pool, 0, 1_000);
        let mut tried = TriedSet::default();
        tried.add(UpstreamIndex(1));
        let acquire = || pool.acquire_upstream(KeyId::new([1; 12]), tried, at(6_000)).unwrap();
        let (first, second) = (acquire(), acquire());
        assert_eq!((first.0, second.0), (UpstreamIndex(0), UpstreamIndex(0)));
    }

    #[test]
    fn ejected_upstream_is_selected_if_no_other_is_left() {
        let mut config = config(3);
        config.upstreams[2].admin_state = AdminState::Draining;
        let pool = healthy(config);
        fail(&pool, 0, 1_000);
        let (ejected, other) = (UpstreamIndex(0), UpstreamIndex(1));
        assert_eq!(select(&pool, TriedSet::default(), 1_000), Some(other));
        assert!(!pool.is_in_use(&pool.upstreams[0], at(1_000)));
        // A call that has tried the other one.
        let mut tried = TriedSet::default();
        tried.add(other);
        assert_eq!(select(&pool, tried, 1_000), Some(ejected));
        assert!(pool.has_untried(tried, at(1_000)) && !pool.has_available(tried, at(1_000)));
        // The other one dies.
        for _ in 0..3 {
            let probe = &pool.config.settings.probe;
            pool.upstreams[1].record_evidence(Evidence::ProbeFailed, probe, at(1_000));
        }
        assert_eq!(select(&pool, TriedSet::default(), 1_000), Some(ejected));
        assert!(pool.is_in_use(&pool.upstreams[0], at(1_000)) && pool.recovers_in(at(1_000)) == 0);
        // Its calls run at the same time, and neither extend nor end the ejection.
        let acquire = || pool.acquire_upstream(KeyId::new([1; 12]), TriedSet::default(), at(1_000)).unwrap();
        let (first, second) = (acquire(), acquire());
        assert_eq!((first.0, second.0), (ejected, ejected));
        for failure in [Some(CallFailure::NoResponse), None] {
            pool.record_outcome(&pool.upstreams[0], failure, at(1_000));
            assert_eq!(pool.upstreams[0].ejected_for(at(1_000)), 5_000);
        }
    }

    #[test]
    fn ejected_upstream_that_is_left_alone_by_a_reload_is_selected() {
        for mut config in [config(1), config(2)] {
            let before = healthy(self::config(2));
            fail(&before, 0, 1_000);
            for other in config.upstreams.iter_mut().skip(1) {
                other.admin_state = AdminState::Draining;
            }
            let after = Pool::new(config, &ResolvedNames::default(), Some(&before));
            assert_eq!(select(&after, TriedSet::default(), 1_000), Some(UpstreamIndex(0)));
        }
    }

    #[test]
    fn panic_mode_selects_unhealthy_and_ejected_upstreams() {
        let mut config = config(4);
        config.settings.panic_percent = 50;
        config.upstreams[3].admin_state = AdminState::Draining;
        let pool = healthy(config);
        let selected = |pool: &Pool| {
            let all: std::collections::BTreeSet<_> = (0..12)
                .filter_map(|_| select(pool, TriedSet::default(), 1_000))
                .map(|index| index.0)
                .collect();
            all.into_iter().collect::<Vec<_>>()
        };
        let die = |index: usize| {
            for _ in 0..3 {
                let probe = &pool.config.settings.probe;
                pool.upstreams[index].record_evidence(Evidence::ProbeFailed, probe, at(1_000));
            }
        };
        die(0);
        assert_eq!(
            (selected(&pool), pool.is_panicking(at(1_000))),
            (vec![1, 2], false),
            "two of three are left"
        );
        die(1);
        assert_eq!((selected(&pool), pool.is_panicking(at(1_000))), (vec![0, 1, 2], true));
        assert!(pool.is_in_use(&pool.upstreams[0], at(1_000)) && pool.recovers_in(at(1_000)) == 0);
        assert!(!pool.is_in_use(&pool.upstreams[3], at(1_000)), "one that is drained never gets calls");
        die(2);
        assert_eq!(selected(&pool), [0, 1, 2]);
        let mut tried = TriedSet::default();
        (0..3).for_each(|index| tried.add(UpstreamIndex(index)));
        assert!(select(&pool, tried, 1_000).is_none() && !pool.has_untried(tried, at(1_000)));
    }

    #[test]
    fn upstream_off_needs_no_probe() {
        let mut config = config(2);
        config.upstreams[1].admin_state = AdminState::Off;
        let pool = Pool::new(config, &ResolvedNames::default(), None);
        assert!(!pool.is_known());
        pool.upstreams[0].record_evidence(Evidence::ProbePassed, &pool.config.settings.probe, at(0));
        assert!(pool.is_known());
        assert!((0..10).all(|_| select(&pool, TriedSet::default(), 0) == Some(UpstreamIndex(0))));
    }
}
