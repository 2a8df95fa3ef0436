//! What people and agents read: the static assets, and the Model Context Protocol.

pub(crate) mod assets;
pub(crate) mod mcp;
pub(crate) mod oauth;
pub(crate) mod session;
