//! The Durable Objects: state with a single owner.

mod account;
mod alarm;
mod key_changes;
mod message;
mod meter;
mod product_source;
mod refusal_log;
mod reports;
mod salt;
mod slug;
mod sql;
mod stats;
mod webhooks;
