//! The origin proxy: verifies grants of the edge, or keys in direct mode, and forwards calls to
//! healthy upstreams.
//!
//! `shared` decides about keys, routes and problems. This crate owns upstreams, probes, retries,
//! limits and metrics. The crate `transport` carries the bytes.
#![deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod call;
pub mod check;
pub mod config;
pub mod control;
pub mod ctl;
pub mod direct;
mod limits;
pub mod observe;
mod per_tool;
mod phases;
pub mod ready;
mod reload;
mod replay;
mod request_id;
pub mod server;
mod state;
mod upgrade;
mod upstreams;
mod valkey;
pub mod version;
