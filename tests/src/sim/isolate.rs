//! An isolate: a lease cache in memory that a crash clears, and a clock.

use shared::{
    key::{KeyRecord, VerifiedKey},
    lease_cache::LeaseCache,
    time::UnixMillis,
};

use super::{Rng, Scenario, Site, Step, clock::MachineClock, turns::Lane};

pub(super) struct Isolate {
    pub(super) holder: LeaseCache,
    /// Number of crashes. Work started before a crash ends with it.
    pub(super) life: u32,
    pub(super) site: Site,
    pub(super) lane: Lane,
    clock: MachineClock,
}

/// Longer than any lease. A larger step back is detected, because an isolate with a lease has read
/// its clock since.
const LONGER_THAN_A_LEASE: i64 = 15_000;

impl Isolate {
    pub(super) fn new(scenario: &Scenario, place: usize, rng: &mut Rng) -> Self {
        let off = i64::try_from(scenario.faults.isolates_off_by).unwrap();
        let offset = i64::try_from(rng.range(0, 2 * off.unsigned_abs() + 1)).unwrap() - off;
        let steps = steps(scenario, rng);
        Self {
            holder: LeaseCache::new(rng.next()),
            life: 0,
            site: scenario.sites[place % scenario.sites.len()],
            lane: Lane::default(),
            clock: MachineClock::new(offset, scenario.start, &steps),
        }
    }

    pub(super) fn now(&mut self, now: u64) -> UnixMillis {
        self.clock.read(now)
    }

    /// Replaces the isolate by a new one.
    pub(super) fn crash(&mut self, rng: &mut Rng) {
        self.holder = LeaseCache::new(rng.next());
        self.life += 1;
    }

    /// Looks the key up in the store, which still has the record of its issue.
    pub(super) fn look_up(&mut self, key: &VerifiedKey, scenario: &Scenario) {
        if !scenario.faults.store_denies && self.holder.record().is_none() {
            let issued = KeyRecord::provisional(key);
            self.holder.learn(KeyRecord {
                version: 1,
                tier: scenario.tier,
                limits: scenario.own_limits(),
                ..issued
            });
        }
    }
}

/// Draws a step: of any size forward, back by up to 200 ms, or back by more than a lease.
fn steps(scenario: &Scenario, rng: &mut Rng) -> Vec<Step> {
    let a_minute = scenario.faults.isolate_steps;
    let mut steps = Vec::new();
    let mut at = rng.range(0, 60_000);
    while a_minute > 0 && at < scenario.length {
        let far = i64::try_from(rng.range(0, 10_000_000)).unwrap();
        let by = match rng.range(0, 4) {
            0 => far,
            1 => far / 5_000,
            2 => -far / 50_000,
            _ => -far - LONGER_THAN_A_LEASE,
        };
        steps.push(Step { at, by });
        // One unseen step within a lease is what the margins are made for.
        at += LONGER_THAN_A_LEASE.unsigned_abs() + rng.range(0, 120_000 / a_minute);
    }
    steps
}
