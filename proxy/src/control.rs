//! Changes that an operator makes while the proxy runs, without a file: servers are drained, enabled,
//! weighted and ejected, tools switched off and on.
//!
//! Why: docs/decisions/proxy.md, "An operator's changes are a layer over the configuration".

mod action;
mod changes;
pub(crate) mod controller;
mod overrides;
pub(crate) mod service;

pub use action::{Action, ChangeError, ControlRequest, ControlResponse, Target};
pub(crate) use changes::Changes;
