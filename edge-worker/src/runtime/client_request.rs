//! A client's request, with its arrival time and its request id.

use std::cell::Cell;

use shared::request_id::RequestId;
use shared::time::UnixMillis;
use worker::web_sys;

use crate::runtime::calls;
use crate::runtime::entropy;
use crate::runtime::header_text::HeaderText;

/// The header in which the platform names the client's address.
pub(crate) const CLIENT_ADDRESS: &str = "cf-connecting-ip";

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
    /// The runtime joins repeated ones with a comma.
    headers: HeaderText,
    /// Whether the body is being read, so that none is left to drain.
    pub(crate) is_body_taken: Cell<bool>,
}

impl ClientRequest {
    /// Reads the head of a request: method, URL, and names and values of the headers, one a line.
    /// Draws its id.
    ///
    /// # Errors
    /// If the runtime has no randomness.
    // Kept out of `fetch`, as `conclude` is.
    #[inline(never)]
    pub(crate) fn new(head: String, raw: web_sys::Request, now: UnixMillis) -> worker::Result<Self> {
        let mut parts = head.splitn(3, '\n');
        let mut next = || parts.next().unwrap_or_default().to_owned();
        Ok(Self {
            method: next(),
            url: next(),
            headers: HeaderText::new(next()),
            id: RequestId(entropy::random_of_pool()?),
            now,
            raw,
            is_body_taken: Cell::new(false),
        })
    }

    /// Returns a request that this one stands for, with the same id. `lines` has its headers.
    pub(crate) fn within(&self, raw: web_sys::Request, method: String, url: String, lines: String) -> Self {
        let (headers, is_body_taken) = (HeaderText::new(lines), Cell::new(false));
        Self { raw, id: self.id, now: self.now, method, url, headers, is_body_taken }
    }

    /// Returns true if the client has left. Of a request that stands for a message of MCP it is false: the end of a
    /// connection cancels no message there.
    pub(crate) fn has_left(&self) -> bool {
        calls::has_left(&self.raw)
    }

    /// Returns the header lines.
    pub(crate) fn headers(&self) -> impl Iterator<Item = (&str, &str)> {
        self.headers.iter()
    }

    /// Returns the header lines in the form that `shared` parses.
    pub(crate) fn lines(&self) -> impl Iterator<Item = (&str, &[u8])> {
        self.headers().map(|(name, value)| (name, value.as_bytes()))
    }

    /// Returns the first header line of this name, which must be in lower case.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)
    }
}
