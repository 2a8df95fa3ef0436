//! A random scenario, reproduced by its seed.

use std::num::NonZeroU32;

use shared::{
    meter::Change,
    policy::{LimitOverrides, Policy, UnitLimits},
    tier::Tier,
};

use super::{Demand, Faults, Rng, Scenario, Site, Step, UnitDemand};

/// 2025-11-21T00:00:00Z.
const MIDNIGHT: u64 = 1_763_683_200_000;

/// Returns the scenario of a seed: short and busy, with no fault, a few, or many at the same time.
#[must_use]
pub fn random(seed: u64) -> Scenario {
    let mut rng = Rng::new(seed ^ 0x5eed);
    let tier = *rng.pick(&[Tier::Free, Tier::Pro, Tier::Pro, Tier::Pro, Tier::Enterprise]);
    let length = 140_000;
    let faults = faults(&mut rng, length);
    // A key's own limits are in its record: before that is seen, its tier's hold.
    let limits = if faults.store_denies { LimitOverrides::default() } else { own_limits(&mut rng) };
    let minute = Policy::for_tier(tier).with(limits).minute.get().min(100);
    let farthest = *rng.pick(&[110, 110, 250, 1_200]);
    let sites = (0..rng.range(1, 4))
        .map(|_| Site { way: rng.range(1, farthest), jitter: rng.range(0, 120) })
        .collect();
    let creation = if rng.chance(200) { rng.range(0, 2_000) } else { 0 };
    let start = if rng.chance(500) { MIDNIGHT - rng.range(5_000, 80_000) } else { MIDNIGHT + 40_000_000 };
    let mut scenario = Scenario {
        name: format!("seed {seed}"),
        tier,
        limits,
        demand: demand(&mut rng, minute),
        isolates: usize::try_from(rng.range(1, 9)).unwrap(),
        has_new_isolates: false,
        sites,
        start,
        length,
        creation,
        takes_turns: false,
        faults,
        changes: changes(&mut rng, minute, length),
        units: None,
    };
    // A change of the record that is lost is no question of limits.
    if scenario.changes.is_empty() {
        scenario.faults.failovers = failovers(seed, length);
    }
    // Limits in units are in the record too.
    if !scenario.faults.store_denies {
        scenario.units = units(seed, minute);
    }
    scenario
}

/// Draws prices and limits in units for every second world, so that some of the limits are reached.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a few thousand, never below 0")]
fn units(seed: u64, minute: u32) -> Option<UnitDemand> {
    let mut rng = Rng::new(seed ^ 0x0b0e);
    if !rng.chance(500) {
        return None;
    }
    let most = u32::try_from(rng.range(1, 100)).unwrap();
    let mut limit = |share: f64| {
        let units = f64::from(minute) * f64::from(most) * share * (0.1 + rng.unit());
        // At least the dearest call passes.
        rng.chance(600).then(|| NonZeroU32::new(units as u32 + most)).flatten()
    };
    let limits = UnitLimits { minute: limit(0.2), day: limit(0.4), month: limit(0.5) };
    let (misreported, known_after) = (*rng.pick(&[0, 100, 800]), *rng.pick(&[100, 3_000, 90_000]));
    Some(UnitDemand { limits, most, misreported, known_after })
}

fn own_limits(rng: &mut Rng) -> LimitOverrides {
    let minute = *rng.pick(&[1, 2, 3, 5, 10, 30, 60, 100]);
    let day = if rng.chance(500) { u32::try_from(rng.range(2, 5)).unwrap() * minute / 2 } else { 100_000 };
    LimitOverrides { minute: minute.try_into().ok(), day: day.try_into().ok(), ..LimitOverrides::NONE }
}

fn demand(rng: &mut Rng, minute: u32) -> Demand {
    let minute = f64::from(minute);
    match rng.range(0, 3) {
        0 => Demand::Random(minute * (0.4 + 2.6 * rng.unit())),
        1 => Demand::Waves(minute * (0.2 + 0.8 * rng.unit()), minute * (1.0 + 2.0 * rng.unit())),
        _ => {
            let burst = u32::try_from(rng.range(2, 12)).unwrap();
            Demand::Bursts(u64::from(burst), minute * (0.5 + 2.0 * rng.unit()) / f64::from(burst))
        }
    }
}

fn faults(rng: &mut Rng, length: u64) -> Faults {
    let density = *rng.pick(&[0, 150, 500]);
    let mut some = |most: u64| if rng.chance(density) { rng.range(0, most) } else { 0 };
    let mut faults = Faults {
        lost: some(60),
        doubled: some(200),
        delayed: some(100),
        crashed: some(20),
        restarted_before_store: some(30),
        restarted_after_store: some(30),
        tool_failed: some(500),
        isolates_off_by: some(1_000_000_000_000),
        isolate_steps: some(4),
        machines_behind: some(250),
        ..Faults::default()
    };
    faults.store_denies = rng.chance(density / 2);
    if rng.chance(density / 2) {
        let small = -i64::try_from(rng.range(1, 2_000)).unwrap();
        let large = -i64::try_from(rng.range(2_000, 10_000_000)).unwrap();
        faults.meter_steps =
            vec![Step { at: rng.range(0, length), by: small }, Step { at: rng.range(0, length), by: large }];
    }
    if rng.chance(density / 5) {
        let from = rng.range(0, length);
        faults.outage = Some((from, from + rng.range(0, 20_000)));
    }
    faults
}

/// Draws fail-overs of the authority in every fifth world.
fn failovers(seed: u64, length: u64) -> Vec<(u64, u64)> {
    let mut rng = Rng::new(seed ^ 0xfa11);
    let count = if rng.chance(200) { rng.range(1, 4) } else { 0 };
    let mut failovers: Vec<_> =
        (0..count).map(|_| (rng.range(2_000, length), rng.range(0, Faults::MAX_LAG + 1))).collect();
    failovers.sort_unstable();
    failovers
}

fn changes(rng: &mut Rng, minute: u32, length: u64) -> Vec<(u64, Change)> {
    let patch = |tier, limits, disabled| Change::Patch {
        tier,
        limits,
        limits_kept: Vec::new(),
        expires_at: None,
        disabled,
        biolink_plan: None,
        when_meter_unreachable: None,
        holder: None,
    };
    let at = rng.range(0, length);
    let own =
        |minute: u32| Some(LimitOverrides { minute: minute.max(1).try_into().ok(), ..LimitOverrides::NONE });
    match rng.range(0, 15) {
        0 | 1 => vec![(at, Change::Revoke)],
        2 => vec![(at, patch(None, None, Some(true)))],
        3 => vec![(at, patch(Some(Tier::Free), own(minute / 4), None))],
        4 => vec![(at, patch(Some(Tier::Enterprise), own(minute * 2), None))],
        5 => vec![(at, patch(None, own(minute / 2), None)), (at + 20_000, patch(None, own(minute), None))],
        _ => Vec::new(),
    }
}
