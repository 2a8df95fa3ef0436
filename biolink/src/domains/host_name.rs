//! Host names of accounts.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, de::Error as _};
use thiserror::Error;

use crate::page::{host_to_ascii, is_domain_name, is_ip_address, is_private_name};

/// A public host name, in ASCII and lower case.
///
/// ```
/// use biolink::domains::HostName;
///
/// let host = HostName::parse("Links.M\u{fc}nchen.example").unwrap();
/// assert_eq!(host.as_str(), "links.xn--mnchen-3ya.example");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct HostName(String);

/// A text that is no host name which an account can have.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum HostError {
    /// It is a URL, or has a port or a path.
    #[error("must be a host name alone, such as links.example.com, without a scheme, port or path")]
    NotAlone,
    /// It has characters that are not read, or punycode that encodes none.
    #[error("has characters that are not read; write it as xn--…, as its registrar shows it")]
    International,
    /// It is an IP address.
    #[error("must be a host name, not the IP address `{0}`")]
    IpAddress(String),
    /// It has no dot.
    #[error("must have a dot, such as links.example.com; `{0}` is a single label")]
    SingleLabel(String),
    /// It means something else in each network.
    #[error("must be a public host name; `{0}` is private")]
    Private(String),
    /// It is no host name.
    #[error(
        "must have labels of 1 to 63 letters, digits and `-`, and at most {} characters",
        HostName::MAX_LEN
    )]
    Malformed,
    /// It is the service's own, or lies below it.
    #[error("`{0}` belongs to this service; use a domain of your own")]
    OwnHost(String),
}

impl HostName {
    /// The longest name, so that the name of its record is one too.
    pub const MAX_LEN: usize = 240;

    /// Reads a name as people type it. A dot at its end is dropped.
    ///
    /// # Errors
    /// Returns the first rule that it breaks.
    pub fn parse(text: &str) -> Result<Self, HostError> {
        let text = text.trim();
        if text.starts_with('[') {
            return Err(HostError::IpAddress(text.to_owned()));
        }
        if text.chars().any(|c| c.is_whitespace() || c.is_control() || "/:?#@\\".contains(c)) {
            return Err(HostError::NotAlone);
        }
        // First, because everything below compares ASCII: a wide dot or letter would get past it.
        let name = host_to_ascii(text.strip_suffix('.').unwrap_or(text)).ok_or(HostError::International)?;
        if is_ip_address(&name) {
            return Err(HostError::IpAddress(name));
        }
        if !name.is_empty() && !name.contains('.') {
            return Err(HostError::SingleLabel(name));
        }
        if is_private_name(&name) {
            return Err(HostError::Private(name));
        }
        // An underscore names records, such as the one of the proof, and no host.
        if name.len() > Self::MAX_LEN || name.contains('_') || !is_domain_name(&name) {
            return Err(HostError::Malformed);
        }
        Ok(Self(name))
    }

    /// Returns the name.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the name of the record that proves it.
    pub fn record(&self) -> String {
        format!("_utg-verify.{self}")
    }

    /// Returns the name of the object that says who has it, which no slug can be.
    pub fn object_name(&self) -> String {
        format!("host:{self}")
    }
}

impl fmt::Display for HostName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for HostName {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::parse(&String::deserialize(deserializer)?).map_err(D::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn host_is_read_as_people_type_it() {
        for (text, name) in [
            ("links.example.com", "links.example.com"),
            (" Links.Example.COM. ", "links.example.com"),
            ("b\u{fc}cher.example", "xn--bcher-kva.example"),
            ("xn--bcher-kva.example", "xn--bcher-kva.example"),
        ] {
            assert_eq!(HostName::parse(text).unwrap().as_str(), name, "{text}");
        }
        assert_eq!(HostName::parse("a.example").unwrap().record(), "_utg-verify.a.example");
    }

    #[test]
    fn host_that_no_account_can_have_is_refused_with_its_reason() {
        let label = "a".repeat(64);
        for (text, expected) in [
            ("https://example.com", "alone"),
            ("example.com/ada", "alone"),
            ("example.com:8443", "alone"),
            ("a b.example", "alone"),
            ("ada@example.com", "alone"),
            ("127.0.0.1", "IP address"),
            ("0x7f.1", "IP address"),
            ("[::1]", "IP address"),
            ("localhost", "single label"),
            ("printer.local", "private"),
            ("host.internal", "private"),
            ("xn--a.example", "xn--"),
            ("exa\u{2100}mple.com", "xn--"),
            ("", "labels"),
            ("a..example", "labels"),
            ("-a.example", "labels"),
            ("a_b.example", "labels"),
            (&format!("{label}.example"), "labels"),
            (&format!("{}example", "a.".repeat(120)), "labels"),
        ] {
            let error = HostName::parse(text).unwrap_err().to_string();
            assert!(error.contains(expected), "{text}: {error}");
        }
    }
}
