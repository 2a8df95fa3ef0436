//! What is known of a request from its head, beside what it asks for.

use super::{
    exchange::Upload,
    framing::{Chunks, Framing},
    head,
};
use crate::wire::WireHead;

/// How a request is framed, and whether it is to be the connection's last.
#[derive(Clone, Copy, Debug)]
pub(super) struct Request {
    pub(super) body: Framing,
    pub(super) is_old: bool,
    pub(super) is_head: bool,
    pub(super) close: bool,
}

impl Request {
    /// What a head says that can be read in one way only.
    pub(super) fn of(wire: &WireHead<'_>) -> Self {
        let (mut body, mut close) = (Framing::NONE, wire.is_old);
        for (name, value) in wire.lines() {
            if name.eq_ignore_ascii_case("content-length") {
                let length = std::str::from_utf8(value).ok().and_then(|text| text.parse().ok());
                body = Framing::Length(length.unwrap_or(u64::MAX));
            } else if name.eq_ignore_ascii_case("transfer-encoding") {
                body = Framing::Chunked(Chunks::Size);
            } else if name.eq_ignore_ascii_case("connection") {
                close |= head::tokens(value).any(|token| token.eq_ignore_ascii_case(b"close"));
            }
        }
        Self { body, is_old: wire.is_old, is_head: wire.method == "HEAD", close }
    }

    /// The same request, of whose body some was taken.
    pub(super) fn after(self, upload: Option<&Upload>) -> Self {
        upload.map_or(self, |upload| Self {
            body: if upload.is_read() { Framing::NONE } else { Framing::UntilClose },
            ..self
        })
    }
}
