//! The origin half of the gateway: verifies the edge's grants and passes calls on to healthy tools.
//!
//! It decides nothing about keys, routes or problems: that is `shared`. What it owns is the work of a proxy: pools,
//! probes, timeouts, bounds and what operators see.
#![deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

pub mod call;
pub mod check;
pub mod config;
pub mod direct;
pub mod limits;
pub mod observe;
pub mod per_tool;
pub mod phases;
pub mod reload;
pub mod replay;
pub mod request_id;
pub mod server;
pub mod state;
mod upgrade;
pub mod upstreams;
pub mod version;
