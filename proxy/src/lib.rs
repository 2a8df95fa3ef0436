//! The origin proxy: verifies grants of the edge, or keys in direct mode, and forwards calls to healthy
//! upstreams.
//!
//! `shared` decides about keys, routes and problems. This crate owns upstreams, probes, retries, limits
//! and metrics. The crate `transport` carries the bytes.
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
