//! Prints what the limits cost and keep, scenario by scenario: `cargo run --release -p tests --bin
//! sim`. With `SIM_SEED=n`, the course of one random scenario instead.
#![allow(clippy::print_stdout, clippy::unwrap_used, reason = "printing is what it is for; a fault ends it")]

use std::env;

use tests::sim::{Limiter, costs, named, outages, priced, proxies, random, run, table};

fn main() {
    if let Ok(seed) = env::var("SIM_SEED") {
        let seed = seed.parse().unwrap();
        let scenario = random(seed);
        println!("{scenario:#?}\n{:#?}", run(&scenario, Limiter::Lease, seed));
        return;
    }
    println!("{}", table::head());
    for scenario in named().into_iter().chain(proxies()) {
        println!("{}", table::rows(&scenario));
    }
    println!("\n{}", table::outage_head());
    for scenario in outages() {
        println!("{}", table::outage_row(&scenario));
    }
    println!("\n{}", table::priced_head());
    for scenario in priced() {
        println!("{}", table::priced_row(&scenario));
    }
    println!("\n{}", table::cost_head());
    for (name, scenarios) in costs() {
        println!("{}", table::cost_row(name, &scenarios));
    }
}
