//! The proxies behind the edge: the order in which they are tried, and what it means if one does
//! not respond.
//!
//! **Retries.** A call is sent to another origin only if no origin can have executed it: the
//! connection was refused, the proxy refused the grant, or the method is safe (RFC 9110, section
//! 9.2.2). The rule is [`OriginError::is_retryable`].
//!
//! **A tool without a server.** A proxy's own 503 says that the tool has no healthy server in its data
//! center, and that nothing was sent to a tool. Such a call moves on to another origin, whatever its
//! method, and [`ToolOutages`] sends the next ones there immediately.
//!
//! The runtime reports a refused connection and one that was lost later in the same words. So with
//! several origins a POST goes only to one that has responded within [`CONFIRMED_MS`], or that
//! responds to a probe first.
//!
//! Why: docs/decisions/edge.md, "With several origins, a POST goes to one that has just
//! responded".

mod error;
mod list;
mod reachability;
mod tool_outages;

pub use error::{Execution, OriginError, failure_detail};
pub use list::{Origin, Origins, OriginsError};
pub use reachability::{Reachability, has_other_origin};
pub use tool_outages::ToolOutages;

use crate::request::TOOL_RESPONSE_TIMEOUT_MS;

/// Timeout for the head of an origin's response once it has the whole request, in milliseconds: a
/// second more than the proxy gives a tool, so that the proxy's own, more specific response arrives
/// first.
pub const RESPONSE_TIMEOUT_MS: u64 = TOOL_RESPONSE_TIMEOUT_MS + 1_000;
/// Time after which a silent origin is probed if there is another one, and timeout of a probe, in
/// milliseconds.
pub const CONNECT_TIMEOUT_MS: u64 = 3_000;
/// Time for which an origin that has responded counts as reachable without a probe, in
/// milliseconds.
pub const CONFIRMED_MS: u64 = 5_000;
/// Maximum declared length, in bytes, of a request body that the edge buffers before it calls an
/// origin. Longer ones, and those of undeclared length, are streamed.
pub const MAX_BUFFERED_BODY_BYTES: u64 = 65_536;
/// Time for which an unreachable origin is tried last, in milliseconds.
const AVOID_MS: u64 = 5_000;
