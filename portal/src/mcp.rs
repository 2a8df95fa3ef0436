//! The Model Context Protocol (revisions 2026-07-28, 2025-11-25 and 2025-06-18) over streamable HTTP,
//! without sessions: each request is a POST with one JSON-RPC message, and each response is JSON.
//!
//! Tools are made of the OpenAPI descriptions when the worker is built ([`tools`], [`requests`]). A
//! call of a tool becomes a request of the API ([`ToolRequest`]) and its response the tool's result.
//!
//! Why: docs/decisions/portal.md, "MCP has no sessions and no streams".

mod action_list;
mod actions;
mod hints;
mod key_refused;
mod known_actions;
mod list_cursor;
mod message;
mod origin;
mod outcome;
mod outline;
mod request;
mod responder;
mod revision;
mod rpc_error;
mod schema;
mod selection;
mod table;
mod toolset;

pub use action_list::{ActionPage, action_page};
pub use actions::action_request;
pub use key_refused::key_refused;
pub use list_cursor::ListCursor;
pub use message::{Message, MessageHeaders, Method};
pub use origin::check_origin;
pub use outcome::ToolOutcome;
pub use request::{ArgumentError, ToolRequest};
pub use responder::Responder;
pub use rpc_error::RpcError;
pub use selection::{Permitted, select};
pub use table::{requests, tools};
pub use toolset::Toolsets;

/// The largest message of a client, in bytes.
pub const MAX_MESSAGE: usize = 1024 * 1024;
/// The largest response of a tool that becomes a result, in bytes. In base64 it is 4 MiB: the APIs
/// of models take images of 5 MB.
pub const MAX_RESULT: usize = 3 * 1024 * 1024;
/// `Accept` of a call: anything rather than SVG, which models do not take as an image.
pub const ACCEPT: &str = "*/*, image/svg+xml;q=0.1";
/// The headers that repeat a part of the message.
pub const REVISION_HEADER: &str = "mcp-protocol-version";
/// See [`REVISION_HEADER`].
pub const METHOD_HEADER: &str = "mcp-method";
/// See [`REVISION_HEADER`].
pub const NAME_HEADER: &str = "mcp-name";
/// How a client of MCP authenticates, beside `X-API-Key`.
pub const CHALLENGE: &str = r#"Bearer realm="tools""#;
