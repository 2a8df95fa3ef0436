//! A client's request, with its arrival time and its request id.

use shared::{request_id::RequestId, time::UnixMillis};
use worker::{Headers, web_sys};

use crate::entropy;

/// A client's request as the runtime delivers it.
pub(crate) struct ClientRequest {
    pub(crate) raw: web_sys::Request,
    pub(crate) id: RequestId,
    /// The arrival time.
    pub(crate) now: UnixMillis,
    /// The method token, unchanged: `worker::Method` reads an unknown one as GET.
    pub(crate) method: String,
    /// The URL. The runtime has resolved dot segments and backslashes.
    pub(crate) url: String,
    /// Header lines. The runtime joins repeated ones with a comma.
    pub(crate) headers: Vec<(String, String)>,
}

impl ClientRequest {
    /// Reads the request and draws its id.
    ///
    /// # Errors
    /// If the runtime has no randomness.
    pub(crate) fn read(raw: web_sys::Request, now: UnixMillis) -> worker::Result<Self> {
        Ok(Self {
            id: RequestId(entropy::random()?),
            now,
            method: raw.method(),
            url: raw.url(),
            headers: Headers(raw.headers()).entries().collect(),
            raw,
        })
    }

    /// Returns the header lines in the form that `shared` parses.
    pub(crate) fn lines(&self) -> impl Iterator<Item = (&str, &[u8])> {
        self.headers.iter().map(|(name, value)| (name.as_str(), value.as_bytes()))
    }

    /// Returns the first header line of this name, which must be in lower case.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(other, _)| other == name).map(|(_, value)| value.as_str())
    }
}
