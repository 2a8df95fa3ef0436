//! A client's request, with its arrival time and its request id.

use shared::request_id::RequestId;
use shared::time::UnixMillis;
use worker::web_sys;

use crate::runtime::entropy;

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
    /// Names and values of the headers, one a line. The runtime joins repeated ones with a comma.
    headers: String,
}

impl ClientRequest {
    /// Reads the head of a request: method, URL, and names and values of the headers, one a line.
    /// Draws its id.
    ///
    /// # Errors
    /// If the runtime has no randomness.
    pub(crate) fn new(head: String, raw: web_sys::Request, now: UnixMillis) -> worker::Result<Self> {
        let mut parts = head.splitn(3, '\n');
        let mut next = || parts.next().unwrap_or_default().to_owned();
        Ok(Self {
            method: next(),
            url: next(),
            headers: next(),
            id: RequestId(entropy::random_of_pool()?),
            now,
            raw,
        })
    }

    /// Returns a request that this one stands for, with the same id. `lines` has its headers.
    pub(crate) fn within(&self, raw: web_sys::Request, method: String, url: String, lines: String) -> Self {
        Self { raw, id: self.id, now: self.now, method, url, headers: lines }
    }

    /// Returns the header lines.
    pub(crate) fn headers(&self) -> impl Iterator<Item = (&str, &str)> {
        header_lines(&self.headers)
    }

    /// Returns the header lines in the form that `shared` parses.
    pub(crate) fn lines(&self) -> impl Iterator<Item = (&str, &[u8])> {
        self.headers().map(|(name, value)| (name, value.as_bytes()))
    }

    /// Returns the first header line of this name, which must be in lower case.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers().find(|(other, _)| *other == name).map(|(_, value)| value)
    }
}

/// Returns the headers of a text that has a name or a value on each line, in turns.
pub(crate) fn header_lines(text: &str) -> impl Iterator<Item = (&str, &str)> {
    let mut lines = text.split('\n');
    std::iter::from_fn(move || Some((lines.next().filter(|name| !name.is_empty())?, lines.next()?)))
}
