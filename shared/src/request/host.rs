//! The grammar of `Host` (RFC 9112, section 3.2; RFC 3986, section 3.2.2).

use std::net::Ipv6Addr;

use super::{malformed, shown};
use crate::problem::Problem;

/// Refuses a `Host` that is not one host with an optional port.
///
/// An empty one is accepted: the gateway does not choose by host, so its own name applies (RFC
/// 9112, section 3.3). A comma is refused although RFC 3986 has it in names, because it also joins
/// the values of two headers.
///
/// # Errors
/// Returns `header-malformed`.
pub(super) fn check(value: &[u8]) -> Result<(), Problem> {
    if value.is_empty() || is_authority(value) {
        return Ok(());
    }
    let shown = shown(&String::from_utf8_lossy(value));
    Err(malformed(format!(
        "Host `{shown}` is invalid: expected one host name or address, with an optional port"
    )))
}

/// Returns true for one host name or address with an optional port.
pub(crate) fn is_authority(value: &[u8]) -> bool {
    let host_length = match value {
        [b'[', rest @ ..] => rest.iter().position(|&byte| byte == b']').map(|end| end + 2),
        _ => value.iter().position(|&byte| byte == b':').or(Some(value.len())),
    };
    match host_length.and_then(|length| value.split_at_checked(length)) {
        Some((host, [])) => is_host(host),
        Some((host, [b':', port @ ..])) => is_host(host) && is_port(port),
        _ => false,
    }
}

fn is_host(host: &[u8]) -> bool {
    match host {
        [b'[', address @ .., b']'] => {
            std::str::from_utf8(address).is_ok_and(|address| address.parse::<Ipv6Addr>().is_ok())
        }
        [] => false,
        _ => is_name(host),
    }
}

/// Returns a registered name or an IPv4 address.
fn is_name(mut name: &[u8]) -> bool {
    while let [byte, rest @ ..] = name {
        name = match (byte, rest) {
            (b'%', [high, low, rest @ ..]) if high.is_ascii_hexdigit() && low.is_ascii_hexdigit() => rest,
            (b'-' | b'.' | b'_' | b'~' | b'!' | b'$' | b'&' | b'\'' | b'(' | b')', _) => rest,
            (b'*' | b'+' | b';' | b'=', _) => rest,
            _ if byte.is_ascii_alphanumeric() => rest,
            _ => return false,
        };
    }
    true
}

fn is_port(port: &[u8]) -> bool {
    let digits = port.iter().all(u8::is_ascii_digit);
    // RFC 3986 allows a port without digits.
    digits && (port.is_empty() || std::str::from_utf8(port).is_ok_and(|port| port.parse::<u16>().is_ok()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn host_with_an_optional_port_is_valid() {
        for host in [
            "",
            "localhost",
            "api.example.com",
            "api.example.com.",
            "API.Example.com:8443",
            "my_service:80",
            "xn--bcher-kva.example",
            "b%C3%BCcher.example",
            "127.0.0.1:8080",
            "[::1]",
            "[2001:db8::1]:443",
            "example.com:",
        ] {
            assert!(check(host.as_bytes()).is_ok(), "{host}");
        }
    }

    #[test]
    fn host_that_is_not_one_authority_is_invalid() {
        for host in [
            "a.example, b.example",
            "a.example,b.example",
            "a b",
            "user@example.com",
            "user:password@example.com",
            "example.com/path",
            "example.com?a",
            "example.com#a",
            "http://example.com",
            "example.com:80:80",
            "example.com:http",
            "example.com:65536",
            "example.com:-1",
            "example.com:+1",
            ":80",
            "::1",
            "[::1",
            "[::1]80",
            "[]",
            "[127.0.0.1]",
            "[fe80::1%25eth0]",
            "b\u{fc}cher.example",
            "a\\b",
            "a%zz",
            "a%2",
            "\"a\"",
            "<a>",
        ] {
            let problem = check(host.as_bytes()).err().map(|problem| problem.detail().to_owned());
            assert!(problem.is_some_and(|detail| detail.starts_with("Host `")), "{host}");
        }
    }
}
