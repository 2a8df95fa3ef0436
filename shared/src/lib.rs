//! The decisions that edge and proxy share, as pure functions: keys, tiers, quotas, the meter and its
//! leases, grants, the gateway's routes, problems, and the vocabulary of HTTP around them.
//!
//! The edge worker and the proxy are shells around this crate. They do the I/O and leave every
//! decision to it. What only bio-link or the portal needs is not here: each has its own crate,
//! with its own routes and problem codes.
//!
//! **Invariants.** Nothing in here reads a clock, draws randomness, opens anything, waits, or keeps
//! a global: `now` and entropy are arguments, and every result is a return value. Status codes,
//! limit numbers and the meaning of a tier are spelled here and nowhere else. No input makes this
//! crate panic.
#![warn(missing_docs)]
#![deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

pub mod action;
pub mod base62;
pub mod bounded_json;
pub mod caller;
pub mod catalog;
pub mod catalog_cache;
pub mod counter;
pub mod crc32;
pub mod document;
pub mod fields;
pub mod grant;
pub mod headers;
mod hex;
mod id;
pub mod idempotency;
pub mod json;
pub mod key;
pub mod keys_api;
pub mod label;
pub mod lease_cache;
pub mod meter;
pub mod method;
pub mod minute_counters;
mod names;
pub mod origin;
pub mod origin_token;
pub mod policy;
pub mod prices;
pub mod problem;
pub mod proof;
pub mod query;
pub mod quota;
pub mod request;
pub mod request_id;
pub mod response;
pub mod route;
pub mod sampling;
pub mod secret;
pub mod sorted_map;
pub mod sorting;
pub mod status;
pub mod tier;
pub mod time;
pub mod tool;
pub mod trace;
pub mod url;
