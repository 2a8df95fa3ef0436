//! Changes that an operator makes while the proxy runs, without a file: servers are drained, enabled,
//! weighted and ejected, tools switched off and on.
//!
//! Why: docs/decisions/proxy.md, "An operator's changes are a layer over the configuration".

pub(crate) mod controller;
pub(crate) mod service;
