//! A request's URL: scheme, host and target. Read off its text once, which no other code parses a
//! second time.

use std::net::IpAddr;

use crate::problem::{Problem, codes};

/// A request's own URL, in parts. Nothing in it is decoded or normalized.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Address<'a> {
    /// Scheme and authority, such as `https://api.example.com`: what paths are relative to.
    pub base: &'a str,
    /// Path and query, from the first slash after the authority.
    pub target: &'a str,
    secure: bool,
    authority: &'a str,
}

impl<'a> Address<'a> {
    /// Parts an `http` or `https` URL; `None` for anything else.
    pub fn parse(url: &'a str) -> Option<Self> {
        let (scheme, rest) = url.split_once("://")?;
        let secure = match scheme {
            "https" => true,
            "http" => false,
            _ => return None,
        };
        // Each of the three ends it (RFC 3986, section 3.2).
        let authority = rest.split(['/', '?', '#']).next().filter(|authority| !authority.is_empty())?;
        let (base, target) = url.split_at_checked(scheme.len() + "://".len() + authority.len())?;
        let target = if target.is_empty() { "/" } else { target };
        Some(Self { base, target, secure, authority })
    }

    /// Returns true if scheme and authority hold nothing that has a meaning in JSON, HTML or a
    /// shell.
    pub fn is_plain(&self) -> bool {
        let plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'-' | b':' | b'[' | b']');
        self.authority.bytes().all(plain)
    }

    /// Returns the host, without a port.
    pub fn host(&self) -> &'a str {
        match self.authority.rsplit_once(':') {
            // Without a port, what follows the last colon of an IPv6 address ends with a bracket.
            Some((host, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => host,
            _ => self.authority,
        }
    }

    /// Returns true if the host is the loopback interface.
    pub fn is_loopback(&self) -> bool {
        is_loopback(self.host())
    }

    /// Returns true if the request came over TLS.
    pub const fn is_secure(&self) -> bool {
        self.secure
    }

    /// Returns true if a secret may be taken from the request: it came over TLS, `http_allowed` is
    /// set (local development behind another name), or the URL names this very machine. A caller
    /// must not rely on this if nothing routes by the URL's host, because the client can then
    /// choose it freely; [`is_confidential`] goes by the peer's address.
    pub fn is_confidential(&self, http_allowed: bool) -> bool {
        self.secure || http_allowed || self.is_loopback()
    }

    /// Refuses a request whose secret must not be taken: see [`Address::is_confidential`].
    ///
    /// # Errors
    /// Returns `https-required`.
    pub fn check_confidential(&self, http_allowed: bool) -> Result<(), Problem> {
        check_confidential(self.is_confidential(http_allowed))
    }
}

/// Returns true if a request could not be read on the way: it is `encrypted` with TLS, or comes
/// from a process of this machine. `peer` is the address of the connection's other end, if it is
/// known. What the request says of itself, such as its `Host`, decides nothing.
pub fn is_confidential(encrypted: bool, peer: Option<IpAddr>) -> bool {
    encrypted || peer.is_some_and(|peer| peer.to_canonical().is_loopback())
}

/// Refuses a request that carries a secret and is not `confidential`.
///
/// # Errors
/// Returns `https-required`. It is not a redirect, because a redirect would hide the mistake until
/// the secret is stolen.
pub fn check_confidential(confidential: bool) -> Result<(), Problem> {
    if confidential {
        return Ok(());
    }
    Err(Problem::new(
        codes::HTTPS_REQUIRED,
        "this request carries a secret and came over plain http; use https",
    ))
}

fn is_loopback(host: &str) -> bool {
    let in_127 = host.parse::<core::net::Ipv4Addr>().is_ok_and(|address| address.is_loopback());
    let name = host.to_ascii_lowercase();
    in_127 || matches!(name.as_str(), "localhost" | "[::1]") || name.ends_with(".localhost")
}

/// The names of Cloudflare below which every Worker may have a host. They are the operator's, and never a customer's.
pub const PLATFORM_HOSTS: [&str; 2] = ["workers.dev", "pages.dev"];

/// Returns true for a host of a Worker below a name of the platform, in any case.
pub fn is_below_platform(host: &str) -> bool {
    PLATFORM_HOSTS.iter().any(|name| host.len() > name.len() && is_at_or_below(host, name))
}

/// Returns true if a host is `parent` or lies below it, in any case.
pub fn is_at_or_below(host: &str, parent: &str) -> bool {
    let above = host.len().checked_sub(parent.len()).and_then(|length| host.split_at_checked(length));
    above.is_some_and(|(labels, end)| {
        end.eq_ignore_ascii_case(parent) && (labels.is_empty() || labels.ends_with('.'))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn confidential(url: &str) -> bool {
        Address::parse(url).unwrap().check_confidential(false).is_ok()
    }

    #[test]
    fn url_is_split_and_not_normalized() {
        let address = Address::parse("https://h.example:8443/v1//qr/%2e?a=/b?c").unwrap();
        assert_eq!((address.base, address.target), ("https://h.example:8443", "/v1//qr/%2e?a=/b?c"));
        assert_eq!(Address::parse("http://h?x").unwrap().target, "?x");
        assert_eq!(Address::parse("http://h").unwrap().target, "/");
        for url in ["", "/v1", "ftp://h/", "http:///x", "data:,x"] {
            assert_eq!(Address::parse(url), None, "{url}");
        }
    }

    #[test]
    fn host_that_needs_escaping_is_not_plain() {
        for (url, plain) in
            [("http://[::1]:8787/", true), ("https://a-b.example/", true), ("http://a\"b/", false)]
        {
            assert_eq!(Address::parse(url).unwrap().is_plain(), plain, "{url}");
        }
    }

    #[test]
    fn secret_is_accepted_over_https_or_loopback() {
        for url in [
            "https://api.example.com/",
            "http://localhost:8787/",
            "http://app.localhost/",
            "http://127.0.0.1:1/",
            "http://127.9.9.9/",
            "http://[::1]:8787/",
        ] {
            assert!(confidential(url), "{url}");
        }
        for url in [
            "http://api.example.com/",
            "http://localhost.example.com/",
            "http://127.0.0.1.example.com/",
            "http://192.168.0.4:8787/",
            "http://notlocalhost/",
        ] {
            assert!(!confidential(url), "{url}");
            assert!(Address::parse(url).unwrap().check_confidential(true).is_ok(), "{url}");
        }
    }

    #[test]
    fn only_tls_and_loopback_peers_are_confidential() {
        for (encrypted, peer, confidential) in [
            (true, "198.51.100.7", true),
            (false, "198.51.100.7", false),
            (false, "10.0.0.1", false),
            (false, "::", false),
            (false, "127.0.0.1", true),
            (false, "127.9.9.9", true),
            (false, "::1", true),
            (false, "::ffff:127.0.0.1", true),
            (false, "::ffff:10.0.0.1", false),
        ] {
            assert_eq!(is_confidential(encrypted, Some(peer.parse().unwrap())), confidential, "{peer}");
        }
        assert!(!is_confidential(false, None) && is_confidential(true, None));
    }
}
