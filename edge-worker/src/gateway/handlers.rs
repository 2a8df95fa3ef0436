//! Handlers of tool calls and of the keys API: one file for each endpoint or group of similar ones.

pub(crate) mod call_tool;
pub(crate) mod change_key;
pub(crate) mod direct_mode;
pub(crate) mod incidents;
pub(crate) mod issue_key;
pub(crate) mod read_own_key;
pub(crate) mod secrets;
pub(crate) mod status;
pub(crate) mod tools;
