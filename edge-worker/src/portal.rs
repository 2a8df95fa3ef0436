//! What agents and the console call: the Model Context Protocol, OAuth, and sessions.

pub(crate) mod mcp;
pub(crate) mod oauth;
pub(crate) mod session;
