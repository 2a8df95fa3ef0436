//! The Durable Objects: state with a single owner.

mod key_changes;
mod meter;
