//! Observability: metrics, the access log and the admin server.

pub mod access_log;
pub mod admin;
pub mod metrics;
