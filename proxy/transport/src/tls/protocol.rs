//! The names of the protocols that are negotiated in a TLS handshake (ALPN, RFC 7301).

pub(super) const HTTP2: &[u8] = b"h2";
pub(super) const HTTP1: &[u8] = b"http/1.1";
