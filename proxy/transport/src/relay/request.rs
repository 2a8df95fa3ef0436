//! A request that has just arrived: its framing and its log record.

use shared::headers::tokens;
use shared::problem::Problem;
use shared::request::Head;

use crate::client::ClientStream;
use crate::framing::{ChunkState, Framing};
use crate::hooks::{ClientConnection, Phases};
use crate::record::Record;
use crate::request_head::RawHead;

/// The framing of a request, and its requirements for the connection.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RequestFraming {
    pub(crate) body: Framing,
    pub(crate) is_http10: bool,
    pub(crate) is_head: bool,
    pub(crate) is_idempotent: bool,
    /// Whether the connection must be closed after the request.
    pub(crate) close: bool,
    /// Whether the client waits for `100 Continue` before it sends its body.
    pub(crate) expects_continue: bool,
    /// Maximum number of bytes of the body that are discarded if the request is refused.
    pub(crate) max_body: u64,
}

impl RequestFraming {
    /// Parses the framing of a request.
    ///
    /// # Errors
    /// Returns a problem if there are several `Expect` headers.
    pub(crate) fn parse(raw: &RawHead<'_>, head: &Head<'_>, is_http2: bool) -> Result<Self, Problem> {
        let body = match (head.chunked, head.content_length) {
            (true, _) if is_http2 => Framing::Stream { has_ended: false },
            (true, _) => Framing::Chunked(ChunkState::Size),
            (false, length) => length.map_or(Framing::NONE, Framing::Length),
        };
        let mut options = raw.all("connection").flat_map(tokens);
        Ok(Self {
            body,
            is_http10: raw.is_http10,
            is_head: raw.method == "HEAD",
            is_idempotent: is_idempotent(raw.method),
            close: raw.is_http10 || options.any(|token| token.eq_ignore_ascii_case(b"close")),
            expects_continue: raw.only("expect")?.is_some(),
            max_body: 0,
        })
    }

    /// Returns the framing of a request whose client does not wait for `100 Continue`.
    pub(crate) const fn continued(self) -> Self {
        Self { expects_continue: false, ..self }
    }

    /// Returns the framing of the rest of a request, a part of whose body was read. `is_read` means
    /// that all of it was.
    pub(crate) const fn after_read(self, is_read: bool) -> Self {
        Self { body: if is_read { Framing::NONE } else { Framing::UntilClose }, ..self }
    }
}

/// Returns true for idempotent methods (RFC 9110, section 9.2.2).
fn is_idempotent(method: &str) -> bool {
    matches!(method, "GET" | "HEAD" | "OPTIONS" | "TRACE" | "PUT" | "DELETE")
}

/// Returns the log record of a request that has just arrived.
pub(crate) fn new_record<P: Phases>(phases: &P, client: &ClientStream) -> Record<P::Log> {
    let connection = ClientConnection {
        is_tls: client.is_tls(),
        is_http2: client.is_http2_stream(),
        address: &|| client.address(),
    };
    Record::new(phases.new_log(&connection), client.max_body(), connection.is_http2)
}
