//! The plan of a run: which request each call sends.

mod error;
mod mix;
mod request;
mod template;

pub(crate) use error::PlanError;
pub(crate) use mix::CallPlan;
pub(crate) use template::{Variables, substitute};
