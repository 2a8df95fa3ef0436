//! Which server of a pool a call goes to.

use std::sync::atomic::Ordering;

use shared::key::KeyId;

use super::{Pool, Upstream, UpstreamPermit, balance};
use crate::config::Balance;
use transport::clock::Monotonic;

/// Upstreams of one pool that a call has been refused by, so that it is not sent there again.
#[derive(Clone, Copy, Debug, Default)]
pub struct TriedSet(u64);

/// The place of an upstream in its pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UpstreamIndex(usize);

impl Pool {
    /// A place for the next call of a key at an upstream that can take it and was not tried; `None` when there is none.
    #[must_use]
    pub fn take(
        &self,
        key: KeyId,
        tried: TriedSet,
        now: Monotonic,
    ) -> Option<(UpstreamIndex, UpstreamPermit)> {
        loop {
            let (place, has_other) = self.select(key, tried, now)?;
            // Another call may have begun to try it meanwhile: then this one is for another.
            if let Some(seat) = self.upstream(place)?.try_acquire(has_other) {
                return Some((place, seat));
            }
        }
    }

    /// The upstream that the next call goes to, and whether it could go to another. Backups are asked only when no other
    /// is left, and last of all those that a call is trying after an ejection.
    fn select(&self, key: KeyId, tried: TriedSet, now: Monotonic) -> Option<(UpstreamIndex, bool)> {
        let ranks = [(false, false), (true, false), (false, true), (true, true)];
        ranks.into_iter().find_map(|(backup, being_tried)| {
            let candidates = || {
                let slow_start = self.config.settings.slow_start;
                let upstreams = self.upstreams.iter().enumerate();
                upstreams
                    .filter(move |(place, upstream)| {
                        upstream.config.backup == backup
                            && upstream.has_trial_call() == being_tried
                            && !tried.contains(UpstreamIndex(*place))
                            && upstream.is_available(now)
                    })
                    .map(move |(place, upstream)| upstream.candidate(place, slow_start, now))
            };
            self.choose(key, candidates).map(|place| (UpstreamIndex(place), !being_tried))
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
                let turn = self.state.next.fetch_add(1, Ordering::Relaxed).checked_rem(count)?;
                // Between counting and taking one may have gone.
                candidates().nth(turn).or_else(|| candidates().next()).map(|candidate| candidate.place)
            }
            Balance::RoundRobin => balance::in_turn(&mut self.owed.lock(), candidates()),
            Balance::LeastConnections => {
                let turn = self.state.next.fetch_add(1, Ordering::Relaxed);
                balance::least_busy(turn, self.upstreams.len(), candidates())
            }
            Balance::KeyHash => balance::by_key(key.as_bytes(), candidates()),
        }
    }

    fn is_any_slow<I: Iterator<Item = balance::Candidate>>(&self, candidates: impl Fn() -> I) -> bool {
        let first = candidates().next().map(|candidate| candidate.weight);
        candidates().any(|candidate| Some(candidate.weight) != first)
    }

    /// Whether an upstream that can take a call was not tried yet.
    #[must_use]
    pub fn has_untried(&self, tried: TriedSet, now: Monotonic) -> bool {
        let mut places = self.upstreams.iter().enumerate();
        places.any(|(place, upstream)| !tried.contains(UpstreamIndex(place)) && upstream.is_available(now))
    }

    /// The upstream at a place.
    #[must_use]
    pub fn upstream(&self, place: UpstreamIndex) -> Option<&Upstream> {
        self.upstreams.get(place.0)
    }
}

impl TriedSet {
    /// Adds an upstream. The configuration bounds a pool to 64.
    pub fn add(&mut self, place: UpstreamIndex) {
        self.0 |= bit(place);
    }

    fn contains(self, place: UpstreamIndex) -> bool {
        self.0 & bit(place) != 0
    }
}

fn bit(place: UpstreamIndex) -> u64 {
    1u64.checked_shl(u32::try_from(place.0).unwrap_or(u32::MAX)).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        config::{AdminState, PoolConfig, PoolSettings},
        upstreams::{
            Evidence, ResolvedNames,
            pool::tests::{at, config, fail, healthy},
        },
    };

    fn select(pool: &Pool, tried: TriedSet, now: u64) -> Option<UpstreamIndex> {
        pool.select(KeyId::new([1; 12]), tried, at(now)).map(|(place, _)| place)
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
            (0..6).filter_map(|_| select(&pool, TriedSet::default(), 0)).map(|place| place.0).collect();
        assert_eq!(turns, [0, 1, 2, 0, 1, 2]);
        let mut tried = TriedSet::default();
        while let Some(place) = select(&pool, tried, 0) {
            assert!(!tried.contains(place));
            tried.add(place);
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
        let take = |now| pool.take(KeyId::new([1; 12]), TriedSet::default(), at(now)).unwrap();
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
        pool.record_outcome(pool.upstream(UpstreamIndex(0)).unwrap(), false, at(6_001));
        let (taken, _seats): (Vec<_>, Vec<_>) = places(6_001);
        assert_eq!(taken.iter().filter(|place| **place == 0).count(), 5);
    }

    #[test]
    fn call_without_alternative_joins_the_trial() {
        let pool = healthy(config(2));
        fail(&pool, 0, 1_000);
        let mut tried = TriedSet::default();
        tried.add(UpstreamIndex(1));
        let take = || pool.take(KeyId::new([1; 12]), tried, at(6_000)).map(|(place, seat)| (place.0, seat));
        let (first, second) = (take().unwrap(), take().unwrap());
        assert_eq!((first.0, second.0), (0, 0));
    }

    #[test]
    fn upstream_off_needs_no_probe() {
        let mut config = config(2);
        config.upstreams[1].admin_state = AdminState::Off;
        let pool = Pool::new(config, &ResolvedNames::default(), None);
        assert!(!pool.is_known());
        pool.upstreams[0].observe(Evidence::ProbePassed, &pool.config.settings.probe, at(0));
        assert!(pool.is_known());
        assert!((0..10).all(|_| select(&pool, TriedSet::default(), 0) == Some(UpstreamIndex(0))));
    }
}
