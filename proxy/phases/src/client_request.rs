//! A client and its request, in its own words.

use std::net::IpAddr;

use transport::hooks::ClientConnection;
use transport::request_head::RawHead;

/// A client and its request, in its own words. It is kept only if lines of the access log have it.
#[derive(Debug)]
pub struct ClientRequest {
    /// The address of the client.
    pub(crate) address: Option<IpAddr>,
    /// The method. Empty until a head was read.
    pub(crate) method: Box<str>,
    /// The target without its query, which may hold what the tool alone should know.
    pub(crate) path: Box<str>,
    /// The version of HTTP.
    pub(crate) protocol: &'static str,
    /// The value of `Referer`, without a query.
    pub(crate) referer: Option<Box<[u8]>>,
    /// The value of `User-Agent`.
    pub(crate) user_agent: Option<Box<[u8]>>,
}

/// Maximum number of bytes of a text.
const MAX_TEXT: usize = 1_024;

impl ClientRequest {
    /// Returns what is known of a request before its head was read.
    pub(crate) fn new(connection: &ClientConnection<'_>) -> Self {
        Self {
            address: (connection.address)(),
            method: Box::default(),
            path: Box::default(),
            protocol: if connection.is_http2 { "HTTP/2.0" } else { "HTTP/1.1" },
            referer: None,
            user_agent: None,
        }
    }

    /// Records what the head says.
    pub(crate) fn record_head(&mut self, raw: &RawHead<'_>) {
        let header = |name| raw.all(name).next();
        self.method = limited(raw.method).into();
        // A query may have a secret of the tool. It must not stand in a log.
        self.path = limited(raw.target.split('?').next().unwrap_or_default()).into();
        if raw.is_http10 {
            self.protocol = "HTTP/1.0";
        }
        let referer = header("referer").and_then(|value| value.split(|byte| *byte == b'?').next());
        self.referer = referer.map(limited_bytes);
        self.user_agent = header("user-agent").map(limited_bytes);
    }

    /// Returns true if the head was read.
    pub(crate) fn has_head(&self) -> bool {
        !self.method.is_empty()
    }
}

fn limited_bytes(bytes: &[u8]) -> Box<[u8]> {
    bytes.get(..MAX_TEXT).unwrap_or(bytes).into()
}

/// Returns the beginning of a text, which is ASCII.
fn limited(text: &str) -> &str {
    text.get(..MAX_TEXT).unwrap_or(text)
}
