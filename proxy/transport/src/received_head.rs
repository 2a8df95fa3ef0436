//! The head of a request as its client has sent it.

use std::sync::Arc;

use bytes::Bytes;
use shared::problem::Problem;

use crate::http2::RequestFields;
use crate::request_head::RawHead;

/// The head of a request: the text of HTTP/1.1, or the fields of HTTP/2.
#[derive(Clone)]
pub(crate) enum ReceivedHead<T = Vec<u8>> {
    /// The text, with its empty line.
    Text(T),
    /// The fields.
    Fields(Arc<RequestFields>),
}

impl<T: AsRef<[u8]>> ReceivedHead<T> {
    /// Parses the head.
    ///
    /// # Errors
    /// Returns `header-malformed` for a head that parsers can read differently.
    pub(crate) fn parse(&self) -> Result<RawHead<'_>, Problem> {
        match self {
            Self::Text(text) => RawHead::parse(text.as_ref()),
            Self::Fields(fields) => fields.raw(),
        }
    }
}

impl ReceivedHead {
    /// Returns the same head, of which parts can be shared.
    pub(crate) fn into_shared(self) -> ReceivedHead<Bytes> {
        match self {
            Self::Text(text) => ReceivedHead::Text(text.into()),
            Self::Fields(fields) => ReceivedHead::Fields(fields),
        }
    }
}

impl ReceivedHead<Bytes> {
    /// Returns a part of the parsed head without a copy, if the head is one piece.
    pub(crate) fn share(&self, part: &[u8]) -> Bytes {
        match self {
            Self::Text(text) => text.slice_ref(part),
            Self::Fields(_) => Bytes::copy_from_slice(part),
        }
    }
}
