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
pub mod direct;
mod http_client;
pub mod last_good;
pub mod limits;
mod mirror;
pub mod observe;
mod phases;
pub mod ready;
mod reload;
mod replay;
mod request_id;
pub mod server;
mod services;
mod shutdown;
mod sockets;
pub mod state;
mod sync_record;
pub mod tool_catalog;
pub mod trace;
mod upgrade;
mod upstreams;
mod valkey;
pub mod version;
