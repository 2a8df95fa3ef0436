//! The events of a scenario, and its requests before and after the run.

mod error;
mod player;
mod step;
mod truth;
mod validate;

pub(crate) use error::EventError;
pub(crate) use player::{Player, plan_events};
pub(crate) use step::run_steps;
pub(crate) use truth::{await_truths, check_truths};
pub(crate) use validate::check_events;
