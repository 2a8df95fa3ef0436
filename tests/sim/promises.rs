//! What the limits promise in worlds as they are met: the figures of the table, and clients that
//! obey headers.

use shared::{meter::Change, policy::LimitOverrides, tier::Tier};
use tests::sim::{
    Demand, Faults, Limiter, Outcome, Pace, Scenario, contended, costs, named, outages, priced, proxies, run,
    table,
};

/// The table that the simulator prints of the limiter.
const PRINTED: &str = include_str!("limits.txt");

/// Asserts that the table of the manual under a head has at least so many rows, all of which are printed.
fn assert_manual_shows_what_is_printed(head: &str, least: usize) {
    let manual = include_str!("../../docs/limits.md");
    let (_, table) = manual.split_once(head).unwrap();
    let shown: Vec<_> = table.lines().skip(1).take_while(|line| line.starts_with('|')).collect();
    assert!(shown.len() >= least, "{shown:?}");
    let other: Vec<_> = shown.iter().filter(|row| !PRINTED.contains(**row)).collect();
    assert!(other.is_empty(), "docs/limits.md has other rows: {other:?}");
}

/// The named scenarios in which nothing goes wrong.
fn standard() -> Vec<Scenario> {
    named().into_iter().take(12).collect()
}

fn lease(scenario: &Scenario, seed: u64) -> Outcome {
    run(scenario, Limiter::Lease, seed)
}

#[test]
fn named_scenarios_admit_no_call_over_a_limit() {
    for scenario in named().into_iter().chain(proxies()) {
        for limiter in [Limiter::CallPerRequest, Limiter::Lease] {
            let outcome = run(&scenario, limiter, table::SEED);
            let counted = outcome.worst_counted_minute().max(outcome.worst_counted_day());
            let lost = f64::from(outcome.lost) / f64::from(scenario.policy().minute.get());
            assert!(counted <= 1.0 + lost, "{} {}: {counted:.4}", scenario.name, limiter.name());
            let (all, bound) = (outcome.worst_minute().max(outcome.worst_day()), bound(&scenario) + lost);
            assert!(all <= bound, "{} {}: {all:.4}", scenario.name, limiter.name());
            let row = table::row(&scenario.name, limiter, &outcome);
            assert!(PRINTED.contains(&row), "tests/sim/limits.txt lacks this row: {row}");
        }
    }
    assert_manual_shows_what_is_printed(&table::head(), 11);
}

/// However many places share a key, none tells a client of calls that others have made meanwhile.
#[test]
fn no_call_is_told_of_more_than_is_left() {
    for scenario in standard().into_iter().chain(proxies().into_iter().take(3)).chain(contended()) {
        let scenario = Scenario { length: 150_000, ..scenario };
        let told = lease(&scenario, 1).told_too_much();
        assert_eq!(told, 0, "{}: {told} too many", scenario.name);
    }
}

/// However many proxies ask for a key at the same time, and however far from the server, each message is decided within
/// five trips, and four to a far one, so that no call goes without the meter.
#[test]
fn proxies_that_take_turns_decide_calls_in_five_trips() {
    for scenario in contended() {
        let mut trips = 0;
        for seed in 1..=2 {
            let outcome = lease(&scenario, seed);
            let name = format!("{} seed {seed}", scenario.name);
            assert!(outcome.worst_minute() <= 1.0, "{name}: {:.4}", outcome.worst_minute());
            assert_eq!((outcome.degraded, outcome.undecided), (0, 0), "{name}");
            let most = if scenario.sites[0].way > 0 { 4 } else { 5 };
            assert!(outcome.trips <= most, "{name}: {} trips", outcome.trips);
            assert!(outcome.goodput() >= 0.96, "{name}: {:.4}", outcome.goodput());
            trips = trips.max(outcome.trips);
        }
        println!("{}: {trips} trips", scenario.name);
        assert!(trips > 2, "{}: nobody has lost a turn", scenario.name);
    }
}

/// Returns the most calls that may pass in any window, as a part of the limit.
fn bound(scenario: &Scenario) -> f64 {
    if scenario.faults.reach_messages() { 1.25 } else { 1.0 }
}

/// The sum of the local budgets does not grow with the number of isolates.
#[test]
fn isolates_without_their_meter_admit_a_quarter_more_at_most() {
    for scenario in outages() {
        for seed in 1..=5 {
            let outcome = lease(&scenario, seed);
            let worst = outcome.worst_minute().max(outcome.worst_day());
            assert!(worst <= 1.25, "{} seed {seed}: {worst:.4}", scenario.name);
            let passed = f64::from(outcome.passed_in_outage) / f64::from(outcome.ideal_in_outage.max(1));
            assert!(passed >= 0.1, "{} seed {seed}: {passed:.4} of what the limit allows", scenario.name);
        }
        let row = table::outage_row(&scenario);
        assert!(PRINTED.contains(&row), "tests/sim/limits.txt lacks this row: {row}");
    }
    assert_manual_shows_what_is_printed(&table::outage_head(), 7);
}

/// Budgets in units hold with prices that are reported late, wrongly, not at all, or larger than declared.
#[test]
fn priced_calls_never_exceed_a_limit_in_units() {
    for scenario in priced() {
        for seed in 1..=5 {
            let outcome = lease(&scenario, seed);
            let (worst, units) = (outcome.worst_units(), outcome.units());
            assert!(worst <= 1.0, "{} seed {seed}: {worst:.4}", scenario.name);
            assert!(units > 0, "{} seed {seed}: nothing passed", scenario.name);
        }
        let row = table::priced_row(&scenario);
        assert!(PRINTED.contains(&row), "tests/sim/limits.txt lacks this row: {row}");
    }
    assert_manual_shows_what_is_printed(&table::priced_head(), 6);
}

#[test]
fn costs_by_isolates_are_those_of_the_manual() {
    let manual = include_str!("../../docs/performance.md");
    for (name, scenarios) in costs() {
        let row = table::cost_row(name, &scenarios);
        assert!(manual.contains(&row), "docs/performance.md has not this row: {row}");
    }
}

/// Outages that come and go while isolates crash, so that shares of the local budget pass from one to
/// the other.
#[test]
fn flapping_meter_and_crashing_isolates_keep_the_bound() {
    let mut degraded = 0;
    for seed in 1..=20 {
        let flapping = Faults { lost: 400, crashed: 1, ..Faults::default() };
        let scenario = Scenario::new("flapping", Tier::Enterprise, 4.0, 24, &[10, 60]);
        let outcome = lease(&Scenario { faults: flapping, length: 300_000, ..scenario }, seed);
        assert!(outcome.worst_minute() <= 1.25, "seed {seed}: {:.4}", outcome.worst_minute());
        degraded += outcome.degraded;
    }
    assert!(degraded > 1_000, "{degraded} calls on the local budget");
}

/// The worlds below lose the process of a meter between two messages. If its stored state did not show what
/// it has reserved for itself, they would exceed the limit.
#[test]
fn reserve_that_is_not_stored_exceeds_the_limit_and_one_that_is_does_not() {
    let worst = |forgets_reserve| {
        let faults =
            Faults { restarted_after_store: 30, machines_behind: 0, forgets_reserve, ..Faults::default() };
        let outcomes = (1..=20).map(|seed| {
            let scenario = Scenario::new("reserve", Tier::Pro, 2.0, 8, &[10]);
            lease(&Scenario { faults: faults.clone(), ..scenario }, seed).worst_counted_minute()
        });
        outcomes.fold(0.0, f64::max)
    };
    assert!(worst(false) <= 1.0, "{:.4}", worst(false));
    assert!(worst(true) > 1.02, "{:.4}", worst(true));
}

/// Between the meter and the client of the far site lies up to a second and more: a call that were
/// counted when the meter decides, and not when it may be let through, would exceed the limit here.
/// An object is evicted from memory some seconds after the last call. What it had reserved counted as spent, for
/// each pause, and the day of the key ended early.
#[test]
fn key_that_pauses_gets_its_whole_day() {
    for tier in [Tier::Pro, Tier::Enterprise] {
        let limits = LimitOverrides { day: 1_200.try_into().ok(), ..LimitOverrides::default() };
        let scenario = Scenario::new("pauses", tier, 1.0, 8, &[10, 25, 60, 100]);
        let scenario = Scenario { demand: Demand::Waves(4.0, 180.0), limits, length: 3_000_000, ..scenario };
        let outcome = lease(&scenario, 1);
        assert!(outcome.worst_day() <= 1.0, "{tier:?}: {:.4}", outcome.worst_day());
        assert!(outcome.goodput() >= 0.98, "{tier:?}: {:.4}", outcome.goodput());
    }
}

#[test]
fn far_and_slow_site_admits_no_call_over_a_limit() {
    for tier in Tier::ALL {
        for (way, faults) in [(250, Faults { delayed: 300, ..Faults::default() }), (1_200, Faults::default())]
        {
            let scenario = Scenario::new("far and slow", tier, 3.0, 4, &[5, way]);
            let outcome = lease(&Scenario { faults, length: 300_000, ..scenario }, 1);
            let (counted, all) = (outcome.worst_counted_minute(), outcome.worst_minute());
            assert!(counted <= 1.0 && all <= 1.25, "{tier} {way} ms: {counted:.4}, {all:.4}");
        }
    }
}

#[test]
fn goodput_is_within_2_percent_of_the_ideal_limiter() {
    for scenario in standard() {
        for seed in 1..=3 {
            let outcome = lease(&Scenario { length: 300_000, ..scenario.clone() }, seed);
            assert!(outcome.goodput() >= 0.98, "{} seed {seed}: {:.4}", scenario.name, outcome.goodput());
            assert_eq!(outcome.degraded, 0, "{} seed {seed}", scenario.name);
        }
    }
}

#[test]
fn paid_call_below_the_limit_rarely_waits_for_the_meter() {
    let bounds = [("Pro 100/min, 60 %", 0.06), ("Ent 500/min, 60 %", 0.01), ("Ent 5000/min, 80 %", 0.01)];
    for (name, bound) in bounds {
        let scenario = standard().into_iter().find(|scenario| scenario.name.starts_with(name)).unwrap();
        let outcomes: Vec<_> = (1..=3).map(|seed| lease(&scenario, seed)).collect();
        let worst = outcomes.iter().map(Outcome::waits_per_call).fold(0.0, f64::max);
        assert!(worst <= bound, "{name}: {worst:.4} of the calls wait");
    }
}

#[test]
fn flood_of_a_free_key_is_mostly_refused_without_the_meter() {
    let scenario = standard().into_iter().find(|scenario| scenario.name.contains("flood")).unwrap();
    for seed in 1..=5 {
        let waits = lease(&scenario, seed).waits_per_call();
        assert!(waits <= 0.5, "seed {seed}: {waits:.4} of the calls wait");
    }
}

/// A client of one key for ten minutes, through so many isolates.
fn client(tier: Tier, pace: Pace, isolates: usize) -> Scenario {
    let demand = Demand::Client(pace);
    Scenario { demand, length: 600_000, ..Scenario::new("one client", tier, 1.0, isolates, &[10, 40]) }
}

#[test]
fn client_paced_by_headers_gets_its_quota() {
    // Through several isolates each sees a part of the calls only, and what is lent to one is no
    // other's.
    for (isolates, share) in [(1, 0.99), (2, 0.98), (8, 0.94)] {
        for tier in Tier::ALL {
            for seed in 1..=3 {
                let scenario = client(tier, Pace::Eager, isolates);
                let outcome = lease(&scenario, seed);
                let quota = f64::from(10 * scenario.policy().minute.get());
                let got = f64::from(u32::try_from(outcome.admitted()).unwrap()) / quota;
                // What is left is that of the isolate that says so, and the next call may reach another one.
                let most = if isolates > 1 { quota / 100.0 } else { 0.0 };
                let refused = f64::from(outcome.refused);
                assert!(refused <= most, "{tier} through {isolates} isolates, seed {seed}: {refused}");
                assert!(
                    got >= share,
                    "{tier} through {isolates} isolates, seed {seed}: {got:.4} of its quota"
                );
            }
        }
    }
}

#[test]
fn client_that_spreads_calls_by_headers_gets_its_quota() {
    for tier in Tier::ALL {
        for isolates in [1, 4] {
            let outcome = lease(&client(tier, Pace::Even, isolates), 1);
            assert_eq!(outcome.refused, 0, "{tier} through {isolates} isolates");
            let scenario = client(tier, Pace::Even, isolates);
            let got = f64::from(u32::try_from(outcome.admitted()).unwrap())
                / f64::from(10 * scenario.policy().minute.get());
            assert!(got >= 0.85, "{tier} through {isolates} isolates: {got:.3} of its quota");
        }
    }
}

#[test]
fn call_at_the_time_of_retry_after_passes() {
    for tier in Tier::ALL {
        for isolates in [1, 2, 5] {
            let outcome = lease(&client(tier, Pace::Obedient, isolates), 1);
            assert!(outcome.refused >= 5, "{tier}: refused {} times only", outcome.refused);
            assert_eq!(outcome.misled, 0, "{tier} through {isolates} isolates");
        }
    }
}

#[test]
fn fresh_key_works_before_the_store_has_it() {
    for tier in Tier::ALL {
        let scenario = Scenario::new("fresh", tier, 0.4, 3, &[10, 60]);
        let faults = Faults { store_denies: true, ..Faults::default() };
        let outcome = lease(&Scenario { faults, length: 200_000, ..scenario }, 1);
        let passed = f64::from(u32::try_from(outcome.admitted()).unwrap()) / f64::from(outcome.ideal);
        assert!(passed >= 0.99, "{tier}: {passed:.3}");
    }
}

#[test]
fn revoked_key_ends_despite_leases_and_a_stale_store() {
    for tier in Tier::ALL {
        let scenario = Scenario::new("revoked", tier, 0.7, 6, &[10, 60]);
        let changes = vec![(60_000, Change::Revoke)];
        let outcome = lease(&Scenario { changes, length: 120_000, ..scenario }, 1);
        assert_eq!(outcome.after_the_end(), 0, "{tier}");
        assert!(outcome.ideal < outcome.calls * 6 / 10, "{tier}: calls went on after the end");
    }
}

#[test]
fn local_budget_is_a_quarter_minute_for_all_isolates_together() {
    for (tier, budget) in [(Tier::Free, 0), (Tier::Pro, 25), (Tier::Enterprise, 125)] {
        for isolates in [1, 3, 30_u32] {
            let scenario = Scenario::new("outage", tier, 3.0, isolates as usize, &[10]);
            let faults = Faults { outage: Some((100_000, 150_000)), ..Faults::default() };
            let outcome = lease(&Scenario { faults, length: 150_000, ..scenario }, 1);
            assert!(outcome.degraded <= budget, "{tier}: {} calls", outcome.degraded);
            // One part is for the next isolate.
            let least = budget * isolates / (isolates + 1) * 9 / 10;
            assert!(outcome.degraded >= least, "{tier}: {} calls", outcome.degraded);
        }
    }
}
