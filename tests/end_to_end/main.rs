//! Everything together over real sockets, as a newcomer and an operator meet it.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic, reason = "tests fail by panicking")]

mod direct;
mod health;
mod mtls;
mod passage;
mod qr;
mod secrecy;
