//! A deterministic simulator of the limits: isolates, networks and one key's meter, over the very code that runs
//! in production ([`shared::lease_cache`], [`shared::meter`]), in simulated time.
//!
//! Everything random comes from one seed, so that a run is repeated by its number. What is simulated beside the two
//! state machines is what their shells and the world do: messages that are late, lost, doubled or overtaken, a
//! retry and a deadline, timers, isolates that vanish, an object that restarts from its last stored row, clocks
//! that disagree and step, records that change, tools that fail.
//!
//! `cargo run --release -p tests --bin sim` prints the table of the named scenarios; `tests/sim` holds thousands of
//! random ones to the promises.

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
pub mod table;
mod world;

pub use client::Pace;
pub use clock::Step;
pub use faults::Faults;
pub use outcome::Outcome;
pub use random::random;
pub use rng::Rng;
pub use scenario::{Demand, Scenario, Site, named};

/// Who decides on calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limiter {
    /// The meter, on each call.
    CallPerRequest,
    /// The isolate's holder, which asks the meter when it must.
    Lease,
}

impl Limiter {
    /// The limiter's name in the table.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::CallPerRequest => "call per request",
            Self::Lease => "lease",
        }
    }
}

/// Plays `scenario` from its seed to its end.
#[must_use]
pub fn run(scenario: &Scenario, limiter: Limiter, seed: u64) -> Outcome {
    world::World::new(scenario, limiter, seed).play()
}
