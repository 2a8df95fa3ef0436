//! Addresses to which a browser goes back with a code.

use shared::url::Address;

/// The longest address, in bytes.
const MAX_LEN: usize = 512;
/// The hosts of a program on the holder's own machine (RFC 8252, section 7.3).
const LOOPBACK: [&str; 3] = ["localhost", "127.0.0.1", "[::1]"];

/// Returns true for an address that a client may register: `https`, or `http` on the holder's own machine.
pub(super) fn is_allowed(uri: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~:/?[]@!$&'()*+,;=%".contains(&byte);
    if uri.len() > MAX_LEN || !uri.bytes().all(is_plain) {
        return false;
    }
    let Some(address) = Address::parse(uri) else { return false };
    // A name before an `@` would be shown as if it was the host. Only the two schemes are parsed, so no script is run.
    let authority = address.base.split_once("://").map_or("", |(_, authority)| authority);
    let is_name = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b':' | b'[' | b']');
    authority.bytes().all(is_name) && !address.host().is_empty() && (address.is_secure() || is_loopback(uri))
}

/// Returns true if an address is the one that was registered: the same text, but for the port of the holder's own machine,
/// which a program does not know before it listens.
pub(super) fn is_same(registered: &str, given: &str) -> bool {
    if !is_loopback(registered) || !is_loopback(given) {
        return registered == given;
    }
    let parts = |uri| Address::parse(uri).map(|address| (address.host(), address.target));
    parts(registered) == parts(given)
}

/// Returns the host, for people.
pub(super) fn host(uri: &str) -> &str {
    Address::parse(uri).map_or("", |address| address.host())
}

/// Returns true for an address of the holder's own machine.
pub(super) fn is_loopback(uri: &str) -> bool {
    Address::parse(uri).is_some_and(|address| !address.is_secure() && LOOPBACK.contains(&address.host()))
}
