//! Handlers of tool calls and of the keys API: one file for each endpoint or group of similar ones.

pub(crate) mod call_tool;
pub(crate) mod change_key;
#[cfg(feature = "gateway")]
pub(crate) mod direct_mode;
#[cfg(feature = "gateway")]
pub(crate) mod incidents;
#[cfg(feature = "gateway")]
pub(crate) mod issue_key;
pub(crate) mod read_own_key;
pub(crate) mod secrets;
#[cfg(feature = "gateway")]
pub(crate) mod status;
pub(crate) mod tools;
