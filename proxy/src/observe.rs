//! Observability: metrics, the access log, the diagnostic log and the admin server.

pub mod access_log;
pub mod admin;
pub mod diagnostic_log;
pub mod metrics;
pub(crate) mod refused_grants;
