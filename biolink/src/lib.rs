//! The decisions of bio-link, as pure functions: pages, visitors, events, reports, webhooks and product
//! sync, with their routes, problem codes and limits.
//!
//! **Invariants.** Those of `shared`: nothing in here reads a clock, draws randomness, opens anything,
//! waits, or keeps a global, and no input makes it panic. What tool calls, keys and limits need is not
//! here but in `shared`; how the API is described is in `portal`.
#![warn(missing_docs)]
#![deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

pub mod analytics;
pub mod codes;
pub mod domains;
pub mod events;
pub mod fetch_url;
mod ids;
pub mod page;
pub mod pages_api;
pub mod policy;
pub mod product_feed;
pub mod product_sync;
pub mod route;
pub mod stats;
pub mod visitor;
pub mod webhooks;
pub mod webhooks_api;
