//! The Durable Objects: state with a single owner.

mod account;
mod key_changes;
mod message;
mod meter;
mod reports;
mod slug;
mod sql;
