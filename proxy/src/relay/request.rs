//! What is known of a request from its head, beside what it asks for.

use shared::{headers::tokens, request::Head};

use super::{
    exchange::Upload,
    framing::{Chunks, Framing},
};
use crate::wire::WireHead;

/// How a request is framed, and whether it is to be the connection's last.
#[derive(Clone, Copy, Debug)]
pub(super) struct Request {
    pub(super) body: Framing,
    pub(super) is_old: bool,
    pub(super) is_head: bool,
    pub(super) close: bool,
    /// How much of its body is read if nobody takes it.
    pub(super) max_body: u64,
}

impl Request {
    /// What a head says that can be read in one way only.
    pub(super) fn of(wire: &WireHead<'_>, head: &Head<'_>) -> Self {
        let body = match (head.chunked, head.content_length) {
            (true, _) => Framing::Chunked(Chunks::Size),
            (false, length) => length.map_or(Framing::NONE, Framing::Length),
        };
        let mut asked = wire.all("connection").flat_map(tokens);
        let close = wire.is_old || asked.any(|token| token.eq_ignore_ascii_case(b"close"));
        Self { body, is_old: wire.is_old, is_head: wire.method == "HEAD", close, max_body: 0 }
    }

    /// The same request, of whose body some was taken.
    pub(super) fn after(self, upload: Option<&Upload>) -> Self {
        upload.map_or(self, |upload| Self {
            body: if upload.is_read() { Framing::NONE } else { Framing::UntilClose },
            ..self
        })
    }
}
