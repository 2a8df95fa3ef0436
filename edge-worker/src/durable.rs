//! The Durable Objects: state that has one owner.

mod meter;
