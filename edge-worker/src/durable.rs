//! The Durable Objects: state that has one owner.

mod key_changes;
mod meter;
