//! The decisions of the gateway, as pure functions: keys, tiers, quotas, routes, grants and
//! problems.
//!
//! The edge worker and the proxy are shells around this crate. They do the I/O and leave every
//! decision to it.
//!
//! **Invariants.** Nothing in here reads a clock, draws randomness, opens anything, waits, or keeps
//! a global: `now` and entropy are arguments, and every result is a return value. Status codes,
//! limit numbers and the meaning of a tier are spelled here and nowhere else. No input makes this
//! crate panic.
#![warn(missing_docs)]
#![deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

pub mod action;
pub mod analytics;
pub mod asset;
mod base62;
pub mod caller;
pub mod console;
pub mod counter;
pub mod docs;
pub mod endpoint;
pub mod events;
pub mod fetch_url;
mod fields;
pub mod grant;
pub mod headers;
pub mod idempotency;
pub mod json;
pub mod key;
pub mod keys_api;
pub mod lease_cache;
pub mod mcp;
pub mod meter;
pub mod method;
pub mod openapi;
pub mod origin;
pub mod origin_token;
pub mod page;
pub mod pages_api;
pub mod policy;
pub mod problem;
pub mod product_feed;
pub mod product_sync;
pub mod proof;
pub mod quota;
pub mod request;
pub mod request_id;
pub mod response;
pub mod route;
pub mod sampling;
pub mod secret;
pub mod site;
pub mod stats;
pub mod status;
pub mod tier;
pub mod time;
pub mod tool;
pub mod trace;
pub mod transport;
pub mod visitor;
pub mod webhooks;
pub mod webhooks_api;
