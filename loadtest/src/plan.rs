//! The plan of a run: which request each call sends.

mod data;
mod error;
mod flow;
mod mix;
mod request;
mod response_check;
mod template;

pub(crate) use data::{DataError, DataSets, read_data};
pub(crate) use error::PlanError;
pub(crate) use flow::FlowState;
pub(crate) use mix::{CallPlan, PlannedCall, Verdict};
pub(crate) use template::{Fields, Variables, substitute};
