//! The table of the named scenarios.

use std::fmt::Write;

use super::{Limiter, Outcome, Scenario, run};

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
