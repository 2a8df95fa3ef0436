//! Thousands of random scenarios. `SIM_SEED=n` plays one of them and prints it; `SIM_SEEDS=n` plays
//! so many.

use std::{env, thread};

use tests::sim::{self, Demand, Limiter, Outcome, Scenario};

const SEEDS: u64 = 4_000;

/// What a run broke; nothing when it kept every promise.
fn broken(scenario: &Scenario, outcome: &Outcome) -> Vec<String> {
    let mut broken = Vec::new();
    let mut check = |kept: bool, what: String| {
        if !kept {
            broken.push(what);
        }
    };
    let policy = scenario.policy();
    // A replica that took over repeats at most what was lent with the writes that it does not have.
    let repeated = |limit: u32| f64::from(outcome.lost) / f64::from(limit);
    for (window, counted, all, lost) in [
        ("minute", outcome.worst_counted_minute(), outcome.worst_minute(), repeated(policy.minute.get())),
        (
            "day",
            outcome.worst_counted_day(),
            outcome.worst_day(),
            policy.day.map_or(0.0, |day| repeated(day.get())),
        ),
    ] {
        let within = |share: f64, bound: f64| share - lost <= bound + 1e-9;
        check(within(counted, 1.0), format!("worst {window} {counted:.4} of the limit, {lost:.4} lost"));
        check(within(all, 1.25), format!("worst {window} {all:.4} of the limit, with the local budget"));
    }
    let (units, lost) = (outcome.worst_units(), repeated_units(scenario, outcome));
    check(
        units - lost <= 1.0 + 1e-9,
        format!("worst window of units {units:.4} of the limit, {lost:.4} lost"),
    );
    check(
        !is_calm(scenario) || outcome.degraded == 0,
        format!("{} calls on the local budget without a fault", outcome.degraded),
    );
    check(outcome.after_the_end() == 0, format!("{} calls after the key's end", outcome.after_the_end()));
    broken
}

/// Returns the units that were reserved with lost writes, as a part of the smallest limit.
fn repeated_units(scenario: &Scenario, outcome: &Outcome) -> f64 {
    let limits = scenario.units.iter().flat_map(|units| units.limits.each());
    let smallest = limits.map(|(_, limit)| limit.get()).min().unwrap_or(1);
    f64::from(outcome.lost_units) / f64::from(smallest)
}

/// Returns true if nothing happens to messages and clocks, and the meter is on this planet.
fn is_calm(scenario: &Scenario) -> bool {
    let Scenario { faults, sites, .. } = scenario;
    let steps = faults.isolate_steps > 0 || !faults.meter_steps.is_empty();
    !faults.reach_messages() && !steps && sites.iter().all(|site| site.way <= 500)
}

fn play(seed: u64) -> (Scenario, Outcome) {
    let scenario = sim::random(seed);
    let outcome = sim::run(&scenario, Limiter::Lease, seed);
    (scenario, outcome)
}

/// The seeds to play: all, or the one that was asked for.
fn seeds() -> Vec<u64> {
    match (env::var("SIM_SEED"), env::var("SIM_SEEDS")) {
        (Ok(seed), _) => vec![seed.parse().unwrap()],
        (Err(_), Ok(count)) => (0..count.parse().unwrap()).collect(),
        (Err(_), Err(_)) => (0..SEEDS).collect(),
    }
}

#[test]
fn random_world_admits_no_call_over_limit_or_after_key_end() {
    let seeds = seeds();
    let shares: Vec<&[u64]> = seeds.chunks(seeds.len().div_ceil(4)).collect();
    let faults: Vec<String> = thread::scope(|scope| {
        let run = |share: &[u64]| -> Vec<String> {
            let judged = share.iter().map(|&seed| {
                let (scenario, outcome) = play(seed);
                (seed, broken(&scenario, &outcome))
            });
            let faults = judged.filter(|(_, broken)| !broken.is_empty());
            faults.map(|(seed, broken)| format!("SIM_SEED={seed}: {}", broken.join(", "))).collect()
        };
        let threads: Vec<_> = shares.iter().map(|share| scope.spawn(move || run(share))).collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    });
    if let [seed] = seeds[..] {
        let (scenario, outcome) = play(seed);
        println!("{scenario:#?}\n{outcome:#?}");
    }
    assert!(faults.is_empty(), "{} seeds\n{}", faults.len(), faults.join("\n"));
}

#[test]
fn seed_reproduces_its_world() {
    let (one, other) = (play(7).1, play(7).1);
    assert_eq!(format!("{one:?}"), format!("{other:?}"));
}

#[test]
fn random_worlds_are_busy_and_hold_every_fault() {
    let worlds: Vec<_> = (0..200).map(|seed| (play(seed), sim::random(seed).faults)).collect();
    let at_the_limit = worlds.iter().filter(|((_, outcome), _)| outcome.worst_minute() > 0.98).count();
    assert!(at_the_limit > 60, "{at_the_limit} of 200 reach the limit: the rest could not break it");
    let at_the_day = worlds.iter().filter(|((_, outcome), _)| outcome.worst_day() > 0.9).count();
    assert!(at_the_day > 20, "{at_the_day} of 200 reach the day's limit");
    let degraded = worlds.iter().filter(|((_, outcome), _)| outcome.degraded > 0).count();
    assert!((1..100).contains(&degraded), "{degraded} of 200 fall back to the local budget");
    let at_units = worlds.iter().filter(|((_, outcome), _)| outcome.worst_units() > 0.9).count();
    assert!(at_units > 20, "{at_units} of 200 reach a limit in units");
    for (name, has) in [
        ("lost", worlds.iter().any(|(_, faults)| faults.lost > 0)),
        ("doubled", worlds.iter().any(|(_, faults)| faults.doubled > 0)),
        ("crashed", worlds.iter().any(|(_, faults)| faults.crashed > 0)),
        ("restarted", worlds.iter().any(|(_, faults)| faults.restarted_before_store > 0)),
        ("steps", worlds.iter().any(|(_, faults)| !faults.meter_steps.is_empty())),
        ("failovers", worlds.iter().any(|(_, faults)| !faults.failovers.is_empty())),
        ("outage", worlds.iter().any(|(_, faults)| faults.outage.is_some())),
        ("bursts", worlds.iter().any(|((scenario, _), _)| matches!(scenario.demand, Demand::Bursts(..)))),
        ("changes", worlds.iter().any(|((scenario, _), _)| !scenario.changes.is_empty())),
    ] {
        assert!(has, "no world of 200 has {name}");
    }
}
