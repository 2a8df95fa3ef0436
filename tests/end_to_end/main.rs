//! All parts together over real sockets.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic, reason = "tests fail by panicking")]

mod access_log;
mod direct;
mod docs;
mod health;
mod leaving;
mod local_ports;
mod media_types;
mod mtls;
mod passage;
mod qr;
mod secrecy;
mod smoke;
mod streams;
mod targets;
mod traces;
mod units;
mod uploads;
mod ways;
mod whole_bodies;
