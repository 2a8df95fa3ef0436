//! The origin proxy: verifies grants of the edge, or keys in direct mode, and forwards calls to
//! healthy upstreams.
//!
//! **What belongs here**: how the process starts, reloads, hands over and ends, and what runs beside its calls. **What
//! does not**: decisions about calls, which `phases` makes; those about keys, quotas, routes and problems, which are in
//! `shared` because the edge makes the same ones; bytes of connections, which `transport` carries; and anything of
//! `biolink` or `portal`.
#![deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod admin;
mod certificate;
pub mod check;
pub mod control;
pub mod ctl;
pub mod ready;
mod reload;
pub mod server;
mod services;
mod shutdown;
mod sockets;
mod upgrade;
pub mod version;
