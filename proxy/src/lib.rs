//! The origin proxy: verifies grants of the edge, or keys in direct mode, and forwards calls to
//! healthy upstreams.
//!
//! **What belongs here**: upstreams, probes, retries, limits on clients, configuration, direct mode,
//! upgrades and metrics. **What does not**: decisions about keys, quotas, routes and problems, which are in
//! `shared` because the edge makes the same ones; bytes of connections, which the crate `transport`
//! carries; and anything of `biolink` or `portal`.
#![deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod admin;
mod call;
mod certificate;
pub mod check;
mod client_request;
pub mod control;
pub mod ctl;
pub mod last_good;
mod mirror;
pub mod observe;
mod phases;
pub mod ready;
mod reload;
mod request_id;
pub mod server;
mod services;
mod shutdown;
mod sockets;
pub mod state;
pub mod trace;
mod upgrade;
pub mod version;
