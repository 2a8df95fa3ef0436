//! Scenarios: calls, isolates, networks and faults.

use shared::{
    meter::Change,
    policy::{LimitOverrides, Policy, UnitLimits},
    tier::Tier,
};

use super::{Faults, Pace, Step, UnitDemand};

/// The calls of one key and their world.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// The name in the table.
    pub name: String,
    /// The key's tier at the start.
    pub tier: Tier,
    /// The key's own limits.
    pub limits: LimitOverrides,
    /// The rate and pattern of calls.
    pub demand: Demand,
    /// The number of isolates. The first one takes the most calls.
    pub isolates: usize,
    /// Whether every third isolate gets its first call after the outage has begun.
    pub has_new_isolates: bool,
    /// The data centers the isolates are in, in turn.
    pub sites: Vec<Site>,
    /// The start in milliseconds since the epoch.
    pub start: u64,
    /// The length in milliseconds.
    pub length: u64,
    /// The time in milliseconds in which the object is created with the first message.
    pub creation: u64,
    /// Whether isolates are proxies with a server that only stores and compares.
    pub takes_turns: bool,
    /// The faults.
    pub faults: Faults,
    /// Changes of the record, in milliseconds from the start.
    pub changes: Vec<(u64, Change)>,
    /// The limits of the key in units, and the prices of its calls.
    pub units: Option<UnitDemand>,
}

/// The rate and pattern of calls.
#[derive(Clone, Copy, Debug)]
pub enum Demand {
    /// At random, so many times a minute.
    Random(f64),
    /// Regularly, with a gap of so many milliseconds.
    Regular(u64),
    /// In bursts of so many calls at the same time, so many times a minute.
    Bursts(u64, f64),
    /// At random, in stretches of twenty seconds that are quiet and busy in turn: so many times a
    /// minute each.
    Waves(f64, f64),
    /// One client in a closed loop that obeys headers.
    Client(Pace),
}

/// A data center.
#[derive(Clone, Copy, Debug)]
pub struct Site {
    /// The minimum one-way delay to the object in milliseconds.
    pub way: u64,
    /// The maximum additional delay.
    pub jitter: u64,
}

/// The start of outages, in milliseconds.
const OUTAGE_FROM: u64 = 300_000;

/// Noon of a day.
const NOON: u64 = 1_763_726_400_000;
/// The midnight after it.
const MIDNIGHT: u64 = 1_763_769_600_000;

impl Scenario {
    /// Returns a key of `tier` called at `load` times its limit from `isolates` isolates in data
    /// centres this far away.
    #[must_use]
    pub fn new(name: &str, tier: Tier, load: f64, isolates: usize, ways: &[u64]) -> Self {
        let limit = f64::from(Policy::for_tier(tier).minute.get());
        Self {
            name: name.to_owned(),
            tier,
            limits: LimitOverrides::default(),
            demand: Demand::Random(limit * load),
            isolates,
            has_new_isolates: false,
            sites: ways.iter().map(|&way| Site { way, jitter: 4 + way / 5 }).collect(),
            start: NOON,
            length: 900_000,
            creation: 0,
            takes_turns: false,
            faults: Faults::default(),
            changes: Vec::new(),
            units: None,
        }
    }

    fn with_minute(self, limit: u32, load: f64) -> Self {
        let minute = limit.try_into().ok();
        let demand = Demand::Random(f64::from(limit) * load);
        Self { limits: LimitOverrides { minute, ..self.limits }, demand, ..self }
    }

    fn with_day(self, day: u32) -> Self {
        Self { limits: LimitOverrides { day: day.try_into().ok(), ..self.limits }, ..self }
    }

    fn every(self, gap_ms: u64) -> Self {
        Self { demand: Demand::Regular(gap_ms), ..self }
    }

    fn lasting(self, length: u64) -> Self {
        Self { length, ..self }
    }

    fn with(self, faults: Faults) -> Self {
        Self { faults, ..self }
    }

    fn created_in(self, creation: u64) -> Self {
        Self { creation, ..self }
    }

    /// Returns this scenario with the meter out of reach for so many seconds, from the fifth minute on.
    /// Every third isolate is new by then.
    fn cut_off_for(self, seconds: u64) -> Self {
        let outage = Some((OUTAGE_FROM, OUTAGE_FROM + seconds * 1_000));
        let length = OUTAGE_FROM + seconds * 1_000 + 120_000;
        Self { has_new_isolates: true, length, ..self.with(Faults { outage, ..Faults::default() }) }
    }

    /// Returns true if no message reaches the object at a time.
    pub(super) fn is_in_outage(&self, now: u64) -> bool {
        let since = now - self.start;
        self.faults.outage.is_some_and(|(from, to)| (from..to).contains(&since))
    }

    /// Returns the key's own limits at the start.
    pub(super) fn own_limits(&self) -> LimitOverrides {
        let units = self.units.map_or(UnitLimits::NONE, |demand| demand.limits);
        LimitOverrides { units, ..self.limits }
    }

    /// Returns the policy of the key at the start.
    #[must_use]
    pub fn policy(&self) -> Policy {
        Policy::for_tier(self.tier).with(self.limits)
    }
}

/// The numbers of isolates in the table of costs.
pub const COST_ISOLATES: [usize; 5] = [1, 2, 4, 8, 16];

/// Returns the scenarios of the table of costs: keys that call at fixed gaps, by name. Each comes with
/// every number of [`COST_ISOLATES`].
#[must_use]
pub fn costs() -> Vec<(&'static str, Vec<Scenario>)> {
    let keys = [
        ("Free, every 7 s", Tier::Free, 7_000, None),
        ("Pro, every 12 s", Tier::Pro, 12_000, None),
        ("Pro, every 2 s", Tier::Pro, 2_000, None),
        ("Pro, every 0.7 s", Tier::Pro, 700, None),
        ("Enterprise, every 1 s", Tier::Enterprise, 1_000, None),
        ("Enterprise, every 0.7 s", Tier::Enterprise, 700, None),
        ("Enterprise, every 0.15 s", Tier::Enterprise, 150, None),
        ("Enterprise, every 0.02 s", Tier::Enterprise, 20, Some(6_000)),
    ];
    let with = |name: &str, tier: Tier, gap_ms: u64, limit: Option<u32>, isolates: usize| {
        let scenario = Scenario::new(name, tier, 0.0, isolates, &[10]).with_day(1_000_000).every(gap_ms);
        let minute = limit.and_then(|limit| limit.try_into().ok());
        Scenario { limits: LimitOverrides { minute, ..scenario.limits }, ..scenario }
    };
    keys.map(|(name, tier, gap_ms, limit)| {
        (name, COST_ISOLATES.map(|isolates| with(name, tier, gap_ms, limit, isolates)).into())
    })
    .into()
}

/// Returns the scenarios of the table of outages.
#[must_use]
pub fn outages() -> Vec<Scenario> {
    let far: &[u64] = &[10, 25, 60, 100];
    let with = |tier: Tier, limit: u32, load: f64, isolates: usize, seconds: u64| {
        let load_name = if load < 1.0 { format!("{:.0} % used", load * 100.0) } else { format!("{load}x") };
        let span = if seconds < 600 { format!("{seconds} s") } else { format!("{} min", seconds / 60) };
        let name = format!(
            "{} {limit}/min, {load_name}, {isolates} isolates, {span}",
            if tier == Tier::Pro { "Pro" } else { "Ent" }
        );
        Scenario::new(&name, tier, load, isolates, far).with_minute(limit, load).cut_off_for(seconds)
    };
    let mut scenarios = Vec::new();
    for (tier, limit) in [(Tier::Pro, 100), (Tier::Enterprise, 500)] {
        for isolates in [12, 24, 100] {
            scenarios.push(with(tier, limit, 4.0, isolates, 60));
        }
        scenarios.push(with(tier, limit, 4.0, 24, 600));
        for isolates in [2, 12] {
            scenarios.push(with(tier, limit, 0.6, isolates, 60));
            scenarios.push(with(tier, limit, 0.1, isolates, 60));
        }
    }
    scenarios
}

/// Returns the scenarios of the table. The first twelve have no faults.
#[must_use]
pub fn named() -> Vec<Scenario> {
    let lossy = Faults { lost: 20, doubled: 20, delayed: 10, ..Faults::default() };
    let crashes = Faults { crashed: 2, ..Faults::default() };
    let skew = Faults { isolates_off_by: 3_600_000, isolate_steps: 2, ..Faults::default() };
    let restarts = Faults {
        restarted_before_store: 10,
        restarted_after_store: 10,
        machines_behind: 200,
        ..Faults::default()
    };
    let back = vec![Step { at: 200_000, by: -1_500 }, Step { at: 500_000, by: -3_600_000 }];
    let near_midnight = |scenario: Scenario| Scenario { start: MIDNIGHT - 450_000, ..scenario };
    let free = |name, load, isolates, ways| {
        // A day's quota would end the run.
        Scenario::new(name, Tier::Free, load, isolates, ways).with_day(1_000)
    };
    let far: &[u64] = &[10, 30, 50, 70];
    vec![
        free("Free 10/min, half used, 2 isolates", 0.5, 2, &[10]),
        free("Free 10/min, flood of 5x, 4 isolates", 5.0, 4, &[10, 60]),
        Scenario::new("Pro 100/min, 60 % used, 2 isolates", Tier::Pro, 0.6, 2, &[10]),
        Scenario::new("Pro 100/min, 2x, 6 isolates, 3 sites", Tier::Pro, 2.0, 6, &[10, 45, 80]),
        Scenario::new("Ent 500/min, 60 % used, 4 isolates", Tier::Enterprise, 0.6, 4, &[10, 60]),
        Scenario::new(
            "Ent 500/min, 1.5x, 12 isolates, 4 sites",
            Tier::Enterprise,
            1.5,
            12,
            &[10, 25, 60, 100],
        ),
        Scenario::new(
            "Ent 5000/min, 80 % used, 24 isolates",
            Tier::Enterprise,
            0.8,
            24,
            &[10, 25, 45, 60, 80, 100],
        )
        .with_minute(5_000, 0.8)
        .lasting(300_000),
        free("Free 10/min, flood of 5x, 4 isolates, 150 to 200 ms", 5.0, 4, &[150, 200]).created_in(500),
        Scenario::new("Pro 100/min, 60 % used, 2 isolates, 200 ms", Tier::Pro, 0.6, 2, &[200])
            .created_in(500),
        Scenario::new("Pro 100/min, 2x, 6 isolates, 10 to 200 ms", Tier::Pro, 2.0, 6, &[10, 150, 200])
            .created_in(500),
        Scenario::new(
            "Ent 500/min, 1.5x, 12 isolates, 10 to 200 ms",
            Tier::Enterprise,
            1.5,
            12,
            &[10, 100, 150, 200],
        )
        .created_in(500),
        Scenario::new("Pro 100/min, 2x, 24 isolates, 10 to 200 ms", Tier::Pro, 2.0, 24, &[10, 100, 150, 200])
            .created_in(500),
        Scenario::new("Pro, isolates crash", Tier::Pro, 0.8, 6, far).with(crashes.clone()),
        Scenario::new("Ent, isolates crash", Tier::Enterprise, 1.5, 12, far).with(crashes),
        Scenario::new("Pro, lossy network", Tier::Pro, 2.0, 6, far).with(lossy.clone()),
        Scenario::new("Ent, lossy network", Tier::Enterprise, 0.6, 12, far).with(lossy),
        Scenario::new("Ent, clocks off by hours, stepping", Tier::Enterprise, 1.5, 12, far).with(skew),
        Scenario::new("Ent, meter restarts, other machines", Tier::Enterprise, 1.5, 12, far).with(restarts),
        Scenario::new("Ent, meter's clock set back twice", Tier::Enterprise, 1.5, 12, far)
            .with(Faults { meter_steps: back, ..Faults::default() }),
        near_midnight(Scenario::new("Pro over midnight, day of 500", Tier::Pro, 2.0, 6, far).with_day(500)),
        Scenario::new("Pro, a fifth of the calls end in 503", Tier::Pro, 0.9, 4, far)
            .with(Faults { tool_failed: 200, ..Faults::default() }),
        Scenario::new("Pro, meter out of reach for 20 s", Tier::Pro, 0.6, 2, far)
            .with(Faults { outage: Some((300_000, 320_000)), ..Faults::default() }),
        Scenario::new("Free, a call every 12 s", Tier::Free, 0.5, 1, far).with_day(1_000).every(12_000),
        Scenario::new("Pro, a call every 12 s", Tier::Pro, 0.05, 1, far).every(12_000),
        Scenario::new("Pro, a call every 5 s", Tier::Pro, 0.12, 1, far).every(5_000),
        Scenario::new("Pro, 5 calls a minute at random", Tier::Pro, 0.05, 1, far),
    ]
}

/// Returns the scenarios of the table in which proxies hold leases, beside isolates or alone.
#[must_use]
pub fn proxies() -> Vec<Scenario> {
    let failovers = [200_000, 400_000, 600_000].map(|at| (at, Faults::MAX_LAG)).into();
    let failing_over = Faults { failovers, ..Faults::default() };
    vec![
        // A proxy is a holder like an isolate. With Valkey the authority is beside it.
        Scenario::new("Ent 500/min, 80 % used, 4 proxies, 1 ms", Tier::Enterprise, 0.8, 4, &[1]),
        Scenario::new("Pro 100/min, 2x, 4 proxies, 1 ms", Tier::Pro, 2.0, 4, &[1]),
        // Of each data center, one isolate and one proxy, whose way leads through the edge.
        Scenario::new("Pro 100/min, 2x, 4 isolates and 4 proxies", Tier::Pro, 2.0, 8, &[10, 25, 60, 75]),
        Scenario::new("Pro 100/min, 2x, 4 proxies, fail-overs lose 1 s", Tier::Pro, 2.0, 4, &[1])
            .with(failing_over.clone()),
        Scenario::new("Ent 500/min, 1.5x, 8 proxies, fail-overs lose 1 s", Tier::Enterprise, 1.5, 8, &[1])
            .with(failing_over),
    ]
}

/// Returns the scenarios in which proxies far from their server ask for one key at the same time: those numbers of them,
/// at these round trips.
#[must_use]
pub fn contended() -> Vec<Scenario> {
    let mut scenarios = Vec::new();
    for (tier, load) in [(Tier::Free, 20.0), (Tier::Pro, 4.0)] {
        for proxies in [3, 16] {
            for round_trip in [0, 60, 200] {
                let name = format!("{tier}, {load}x, {proxies} proxies, {round_trip} ms");
                let scenario = Scenario::new(&name, tier, load, proxies, &[round_trip / 2]);
                // A day's quota would end the run.
                scenarios.push(Scenario { takes_turns: true, ..scenario.with_day(10_000).lasting(300_000) });
            }
        }
    }
    scenarios
}

/// Returns the scenarios of the table of units: keys whose calls have prices of up to 60 units, which
/// responses report.
#[must_use]
pub fn priced() -> Vec<Scenario> {
    let far: &[u64] = &[10, 25, 60, 100];
    let limits = |minute: u32, day: u32| UnitLimits {
        minute: minute.try_into().ok(),
        day: day.try_into().ok(),
        ..UnitLimits::NONE
    };
    let with = |name: &str, calls: f64, isolates: usize, units: UnitDemand| {
        let scenario = Scenario::new(name, Tier::Enterprise, 0.0, isolates, far).lasting(600_000);
        Scenario { demand: Demand::Random(calls), units: Some(units), ..scenario }
    };
    let honest = UnitDemand { limits: limits(600, 0), most: 60, misreported: 0, known_after: 3_000 };
    let slow = UnitDemand { known_after: 50_000, ..honest };
    let wrong = UnitDemand { misreported: 500, ..honest };
    let lossy = Faults { lost: 20, doubled: 20, delayed: 10, ..Faults::default() };
    vec![
        with("600/min, 60 % used, 4 isolates", 14.0, 4, honest),
        with("600/min, 3x, 4 isolates", 70.0, 4, honest),
        with("600/min, 3x, 4 isolates, known after up to 50 s", 70.0, 4, slow),
        with("600/min, 3x, 12 isolates, half misreported", 70.0, 12, wrong),
        with("2,000/day, 3x, 4 isolates", 70.0, 4, UnitDemand { limits: limits(0, 2_000), ..honest }),
        with("600/min, 3x, 6 isolates, lossy network", 70.0, 6, wrong).with(lossy),
        with("600/min, 3x, 6 isolates, a fifth of the calls end in 503", 70.0, 6, wrong)
            .with(Faults { tool_failed: 200, ..Faults::default() }),
        with("600/min, 3x, 6 isolates, isolates crash", 70.0, 6, wrong)
            .with(Faults { crashed: 20, ..Faults::default() }),
        with("600/min, 3x, 6 isolates, meter out of reach for 60 s", 70.0, 6, wrong)
            .with(Faults { outage: Some((300_000, 360_000)), ..Faults::default() }),
    ]
}
