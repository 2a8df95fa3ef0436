//! Simulated tools to run behind the gateway, and a load driver to run in front of it.
//!
//! The binary is a thin shell over this library. Tests start the same parts in their own process.
#![warn(missing_docs)]

pub mod driver;
pub mod report;
pub mod run;
pub mod scenario;
pub mod schedule;
pub mod target;
pub mod tools;
