//! How a request is framed, as its head says.

use shared::{headers::tokens, problem::Problem, request::Head};

use super::{
    exchange::Upload,
    framing::{Chunks, Framing},
};
use crate::wire::WireHead;

/// The framing of a request, and what it asks of the connection.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Framed {
    pub(crate) body: Framing,
    pub(crate) is_http10: bool,
    pub(crate) is_head: bool,
    pub(crate) is_idempotent: bool,
    /// Whether the request is the last of its connection.
    pub(crate) close: bool,
    /// Whether the client waits for a 100 before it sends its body.
    pub(crate) expects_continue: bool,
    /// Maximum number of bytes of its body that are dropped if it is refused.
    pub(crate) max_body: u64,
}

impl Framed {
    /// Reads the framing.
    ///
    /// # Errors
    /// Returns a problem if `Expect` is sent twice.
    pub(crate) fn read(wire: &WireHead<'_>, head: &Head<'_>) -> Result<Self, Problem> {
        let body = match (head.chunked, head.content_length) {
            (true, _) => Framing::Chunked(Chunks::Size),
            (false, length) => length.map_or(Framing::NONE, Framing::Length),
        };
        let mut asked = wire.all("connection").flat_map(tokens);
        Ok(Self {
            body,
            is_http10: wire.is_http10,
            is_head: wire.method == "HEAD",
            is_idempotent: is_idempotent(wire.method),
            close: wire.is_http10 || asked.any(|token| token.eq_ignore_ascii_case(b"close")),
            expects_continue: wire.only("expect")?.is_some(),
            max_body: 0,
        })
    }

    /// Returns the framing of what is left of the request once some of its body was taken.
    pub(crate) fn after(self, upload: Option<&Upload>) -> Self {
        upload.map_or(self, |upload| self.begun(upload.is_read()))
    }

    /// Returns the framing of a request whose client does not wait for a 100.
    pub(crate) const fn continued(self) -> Self {
        Self { expects_continue: false, ..self }
    }

    /// Returns the framing of what is left of the request once some of its body was taken, or all.
    pub(crate) const fn begun(self, is_read: bool) -> Self {
        Self { body: if is_read { Framing::NONE } else { Framing::UntilClose }, ..self }
    }
}

/// Returns true if a request can be made twice to the same effect (RFC 9110, section 9.2.2).
fn is_idempotent(method: &str) -> bool {
    matches!(method, "GET" | "HEAD" | "OPTIONS" | "TRACE" | "PUT" | "DELETE")
}
