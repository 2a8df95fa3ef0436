//! The Durable Objects of bio-link: state with a single owner.

mod account;
mod product_source;
mod reports;
mod salt;
mod slug;
mod stats;
mod webhooks;
