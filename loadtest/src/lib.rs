//! What a load test of the gateway needs: simulated tools to put behind it, and a driver to put before it.
//!
//! The binary is a thin shell over this; tests start the same parts in their own process.
#![warn(missing_docs)]

pub mod driver;
pub mod plan;
pub mod report;
pub mod run;
pub mod scenario;
pub mod target;
pub mod tools;
