//! The table of the named scenarios.

use std::fmt::Write;

use serde_json::Value;

use super::{COST_ISOLATES, Limiter, Outcome, Scenario, run};

/// The seed of the table's runs.
pub const SEED: u64 = 1;

/// The header of the table in Markdown.
#[must_use]
pub fn head() -> String {
    "| scenario | limiter | waits per call | hops per call | worst window / limit | goodput | degraded |\n\
     |---|---|---:|---:|---:|---:|---:|"
        .to_owned()
}

/// Returns the rows of a scenario, one per limiter.
#[must_use]
pub fn rows(scenario: &Scenario) -> String {
    let mut rows = String::new();
    for limiter in [Limiter::CallPerRequest, Limiter::Lease] {
        let outcome = run(scenario, limiter, SEED);
        writeln!(rows, "{}", row(&scenario.name, limiter, &outcome)).unwrap();
    }
    rows.trim_end().to_owned()
}

/// The header of the table of costs in Markdown.
#[must_use]
pub fn cost_head() -> String {
    let isolates = COST_ISOLATES.map(|isolates| match isolates {
        1 => " 1 isolate |".to_owned(),
        more => format!(" {more} |"),
    });
    format!("| keys that call |{}\n|---|{}", isolates.concat(), "---|".repeat(COST_ISOLATES.len()))
}

/// Returns a row of it: requests to the object for each call, and dollars for a million calls.
#[must_use]
pub fn cost_row(name: &str, scenarios: &[Scenario]) -> String {
    let cell = |scenario: &Scenario| {
        let outcome = run(scenario, Limiter::Lease, SEED);
        format!(" {:.2}, ${:.2} |", outcome.hops_per_call(), dollars(&outcome))
    };
    format!("| {name} |{}", scenarios.iter().map(cell).collect::<String>())
}

/// Returns the list price of a million calls: the requests to the object, its alarms, and the rows that it
/// writes.
fn dollars(outcome: &Outcome) -> f64 {
    let prices: Value = serde_json::from_str(include_str!("../../../loadtest/prices.json")).unwrap();
    let price = |name: &str| prices["dollars_per_million"][name].as_f64().unwrap();
    let of_object = |name: &str| prices["object_request"][name].as_f64().unwrap();
    let duration = price("object_gb_seconds") * of_object("seconds") * of_object("gb");
    let cpu = price("worker_cpu_ms") * 0.3;
    let per_call = |number: u32| f64::from(number) / f64::from(outcome.calls.max(1));
    price("worker_requests")
        + cpu
        + per_call(outcome.hops + outcome.alarms) * (price("object_requests") + duration)
        + per_call(outcome.rows) * price("object_rows_written")
}

/// The header of the table of outages in Markdown.
#[must_use]
pub fn outage_head() -> String {
    "| key, load, isolates (a third of them new), meter out of reach for | worst window / limit | \
     passed of the calls made | passed of what the limit allows |\n\
     |---|---:|---:|---:|"
        .to_owned()
}

/// Returns the row of a scenario in which the meter is out of reach: the fullest window of ten runs, and
/// the calls of all of them.
#[must_use]
pub fn outage_row(scenario: &Scenario) -> String {
    let (mut worst, mut passed, mut made, mut ideal) = (0.0f64, 0, 0, 0);
    for seed in SEED..SEED + 10 {
        let outcome = run(scenario, Limiter::Lease, seed);
        worst = worst.max(outcome.worst_minute()).max(outcome.worst_day());
        passed += outcome.passed_in_outage;
        made += outcome.made_in_outage;
        ideal += outcome.ideal_in_outage;
    }
    let of = |whole: u32| 100.0 * f64::from(passed) / f64::from(whole.max(1));
    format!("| {} | {worst:.3} | {:.0} % | {:.0} % |", scenario.name, of(made), of(ideal))
}

/// The header of the table of units in Markdown.
#[must_use]
pub fn priced_head() -> String {
    "| key, load, isolates | hops per call | worst window / limit | charged afterwards | goodput in units |\n\
     |---|---:|---:|---:|---:|"
        .to_owned()
}

/// Returns the row of a scenario with prices.
#[must_use]
#[allow(clippy::cast_precision_loss, reason = "a few million units")]
pub fn priced_row(scenario: &Scenario) -> String {
    let outcome = run(scenario, Limiter::Lease, SEED);
    let minute = scenario.units.and_then(|units| units.limits.minute);
    let afterwards = minute.map_or_else(
        || "-".to_owned(),
        |limit| format!("{:.3}", f64::from(outcome.minute_charged_afterwards) / f64::from(limit.get())),
    );
    let goodput = outcome.units() as f64 / outcome.ideal_units.max(1) as f64;
    format!(
        "| {} | {:.3} | {:.3} | {afterwards} | {goodput:.3} |",
        scenario.name,
        outcome.hops_per_call(),
        outcome.worst_units(),
    )
}

/// Returns a row. It shows the worse ratio of minute and day.
#[must_use]
pub fn row(name: &str, limiter: Limiter, outcome: &Outcome) -> String {
    format!(
        "| {name} | {} | {:.3} | {:.3} | {:.3} | {:.3} | {} |",
        limiter.name(),
        outcome.waits_per_call(),
        outcome.hops_per_call(),
        outcome.worst_minute().max(outcome.worst_day()),
        outcome.goodput(),
        outcome.degraded,
    )
}
