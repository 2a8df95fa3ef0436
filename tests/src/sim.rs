//! A deterministic simulator of the limits: isolates, networks and one key's meter, with the code
//! that runs in production ([`shared::lease_cache`], [`shared::meter`]), in simulated time.
//!
//! All randomness comes from one seed, so a run is reproduced by its number. Around the two state
//! machines the simulator plays their shells and the world: messages that are late, lost,
//! duplicated or overtaken, a retry and a deadline, timers, isolates that crash, an object that
//! restarts from its last stored row, clocks that disagree and step, records that change, and tools
//! that fail.
//!
//! `make sim` prints the table of the named scenarios. `tests/sim` checks the promises in thousands
//! of random ones.

mod client;
mod clock;
mod faults;
mod ideal;
mod isolate;
mod object;
mod outcome;
mod random;
mod rng;
mod scenario;
mod schedule;
pub mod table;
mod turns;
mod units;
mod world;

pub use client::Pace;
pub use clock::Step;
pub use faults::Faults;
pub use outcome::Outcome;
pub use random::random;
pub use rng::Rng;
pub use scenario::{
    COST_ISOLATES, Demand, Scenario, Site, contended, costs, named, outages, priced, proxies,
};
pub use units::{PricedCall, UnitDemand};

/// The part that decides on calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limiter {
    /// The meter, on each call.
    CallPerRequest,
    /// The lease cache of the isolate, which asks the meter if it must.
    Lease,
}

impl Limiter {
    /// Returns the limiter's name in the table.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::CallPerRequest => "call per request",
            Self::Lease => "lease",
        }
    }
}

/// Runs a scenario with this seed to its end.
#[must_use]
pub fn run(scenario: &Scenario, limiter: Limiter, seed: u64) -> Outcome {
    world::World::new(scenario, limiter, seed).run()
}
