//! The background services that work on the state of the whole process.

pub(crate) mod prober;
pub(crate) mod resolve;
pub(crate) mod trace_exporter;
