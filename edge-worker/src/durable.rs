//! The Durable Objects: state with a single owner.

mod account;
mod json;
mod key_changes;
mod meter;
mod reports;
mod slug;
mod sql;
