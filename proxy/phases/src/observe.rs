//! Observability: metrics, the access log and the diagnostic log.

pub mod access_log;
pub mod diagnostic_log;
pub mod metrics;
pub(crate) mod refused_grants;
