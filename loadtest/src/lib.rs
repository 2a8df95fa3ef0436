//! Simulated tools to run behind the gateway, and a load driver to run in front of it.
//!
//! The binary is a thin shell over this library. Tests start the same tools in their own process.
//!
//! **What belongs here**: scenarios, the plan of their requests, the driver that sends them, what is
//! recorded and judged of the responses, and the tools that respond. **What does not**: the limits, tiers,
//! routes and problems that it judges by, which are those of `shared`; the harness that starts a gateway,
//! which is the crate `tests`; and benchmarks of our own parts, which are in `tests/bench/`.
#![warn(missing_docs)]

mod books;
pub mod certify;
mod clock;
mod costs;
mod driver;
mod duration;
mod edge_counters;
mod events;
mod http;
mod keys;
mod live_metrics;
mod page;
mod plan;
mod random;
mod record;
mod report;
mod repr_digest;
pub mod run;
pub mod saved;
pub mod scenario;
mod schedule;
mod simulator;
mod summary;
mod target;
mod timeline;
pub mod tools;
mod verdict;
