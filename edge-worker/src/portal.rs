//! The interfaces of agents and of the console: the Model Context Protocol, OAuth, and sessions.

pub(crate) mod mcp;
pub(crate) mod oauth;
pub(crate) mod session;
