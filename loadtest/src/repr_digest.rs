//! The digest of a whole body: `Repr-Digest` with SHA-256 (RFC 9530).

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use hyper::header::{HeaderMap, HeaderName};
use sha2::{Digest as _, Sha256};

/// The header.
pub(crate) const NAME: HeaderName = HeaderName::from_static("repr-digest");

/// A digest that a response states, and that of the body as far as it has come.
pub(crate) struct ReprDigest {
    stated: Vec<u8>,
    received: Sha256,
}

impl ReprDigest {
    /// Returns the digest that these headers state, or `None` if they state none with SHA-256.
    pub(crate) fn stated_in(headers: &HeaderMap) -> Option<Self> {
        let value = headers.get(NAME)?.to_str().ok()?;
        let mut digests = value.split(',').map(str::trim);
        // The header lists several algorithms; the tools always state this one.
        let text = digests.find_map(|digest| digest.strip_prefix("sha-256=:")?.strip_suffix(':'))?;
        // Text that is no Base64 is the digest of no body.
        Some(Self { stated: STANDARD.decode(text).unwrap_or_default(), received: Sha256::new() })
    }

    /// Adds bytes that have come.
    pub(crate) fn update(&mut self, bytes: &[u8]) {
        self.received.update(bytes);
    }

    /// Returns true if the body that has come is the stated one.
    pub(crate) fn matches(self) -> bool {
        self.received.finalize().as_slice() == self.stated
    }
}

/// Returns the value of the header for a body.
pub(crate) fn value(body: impl Iterator<Item = Bytes>) -> String {
    let mut hash = Sha256::new();
    body.for_each(|bytes| hash.update(&bytes));
    format!("sha-256=:{}:", STANDARD.encode(hash.finalize()))
}
