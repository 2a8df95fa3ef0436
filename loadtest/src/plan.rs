//! The plan of a run: which request each call sends.

mod error;
mod mix;
mod request;
mod response_check;
mod template;

pub(crate) use error::PlanError;
pub(crate) use mix::{CallPlan, PlannedCall};
pub(crate) use response_check::{Observed, Wanted};
pub(crate) use template::{Variables, substitute};
