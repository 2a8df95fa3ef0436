//! The Model Context Protocol (revision 2025-11-25) over streamable HTTP, without sessions: each
//! request is a POST with one JSON-RPC message, and each response is JSON.
//!
//! Tools are made of the OpenAPI descriptions when the worker is built ([`tools`], [`requests`]). A
//! call of a tool becomes a request of the API ([`ToolRequest`]) and its response the tool's result.

mod hints;
mod message;
mod outcome;
mod request;
mod table;

pub use message::{Message, Method, PROTOCOL_VERSION, RpcError, check_version, initialized};
pub use outcome::{ToolOutcome, failed, listed};
pub use request::ToolRequest;
pub use table::{requests, tools};

/// The largest message of a client, in bytes.
pub const MAX_MESSAGE: usize = 1024 * 1024;
/// The largest response of a tool that becomes a result, in bytes.
pub const MAX_RESULT: usize = 4 * 1024 * 1024;
/// The header with the revision that was negotiated.
pub const VERSION_HEADER: &str = "mcp-protocol-version";
