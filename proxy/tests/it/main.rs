//! The proxy's binary over real sockets, with fake tools.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a test that cannot go on is to fail; its helpers are no test functions to the lints"
)]

mod aborted;
mod access_log;
mod admin;
mod alert_rules;
mod bad_files;
mod bad_servers;
mod bodies;
mod buffering;
mod check;
mod command;
mod configuration;
mod ctl;
mod describe;
mod differential;
mod direct;
mod ejections;
mod failures;
mod frozen;
mod grants;
mod health;
mod http2;
mod leaving;
mod limits;
mod log_file;
mod mirror;
mod open_files;
mod operations;
mod pools;
mod proxy_protocol;
mod relay;
mod reload;
mod responses;
mod retries;
mod routing;
mod secrecy;
mod servers_file;
mod shutdown;
mod silent_peers;
mod splice;
mod srv_records;
mod streams;
mod tls;
mod traces;
mod transport;
mod upgrade;
mod upstream_http2;
mod upstream_tls;
mod valkey;
mod vectors;
mod waits;
mod whole_bodies;
