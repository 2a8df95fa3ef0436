//! The request target: origin form or absolute form (RFC 9112, sections 3.2.1 and 3.2.2).

use super::refusal::malformed;
use crate::problem::{Problem, codes};
use crate::request::is_authority;

/// The longest path and query of a request target together, in bytes.
pub const MAX_TARGET: usize = 8_192;

/// The parts of a request target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Target<'a> {
    /// The host with its port, if the target is in absolute form. It replaces `Host` (RFC 9112,
    /// section 3.2.2).
    pub authority: Option<&'a str>,
    /// The path, from its first slash.
    pub path: &'a str,
    /// The query after the first `?`, which tools get unchanged.
    pub query: Option<&'a str>,
    /// Path and query exactly as sent.
    pub path_and_query: &'a str,
}

impl<'a> Target<'a> {
    /// The target of a preflight whose own is malformed: the asterisk form.
    pub const ASTERISK: Self = Self { authority: None, path: "*", query: None, path_and_query: "*" };

    /// Splits a request target. The scheme of an absolute form must be `http` or `https` and
    /// decides nothing, because the client can choose it freely.
    ///
    /// ```
    /// use shared::route::Target;
    ///
    /// let target = Target::parse("http://gateway.example:8080/v1/qr/generate?size=3").unwrap();
    /// assert_eq!(target.authority, Some("gateway.example:8080"));
    /// assert_eq!((target.path, target.query), ("/v1/qr/generate", Some("size=3")));
    /// assert_eq!(Target::parse("http://gateway.example").unwrap().path, "/");
    /// ```
    ///
    /// # Errors
    /// Returns `target-too-long`, or `path-malformed` if it is not visible ASCII, has a fragment, or
    /// is neither a path nor an `http` or `https` URL with a host and without user information.
    pub fn parse(target: &'a str) -> Result<Self, Problem> {
        let (authority, path_and_query) = match split_absolute(target) {
            Some((authority, rest)) => (Some(authority), rest),
            None => (None, target),
        };
        if path_and_query.len() > MAX_TARGET {
            let length = path_and_query.len();
            return Err(Problem::new(
                codes::TARGET_TOO_LONG,
                format!("path and query have {length} bytes of {MAX_TARGET} allowed"),
            ));
        }
        if !target.bytes().all(|b| b.is_ascii_graphic() && b != b'#') {
            return Err(malformed("the path and query may hold visible ASCII only, and no `#`"));
        }
        if authority.is_some_and(|authority| !is_authority(authority.as_bytes())) {
            return Err(malformed("the URL needs one host name or address, with an optional port"));
        }
        let (path, query) = match path_and_query.split_once('?') {
            Some((path, query)) => (path, Some(query)),
            None => (path_and_query, None),
        };
        match (path, authority) {
            ("", Some(_)) => Ok(Self { authority, path: "/", query, path_and_query }),
            _ if path.starts_with('/') => Ok(Self { authority, path, query, path_and_query }),
            _ => Err(malformed("the path does not begin with `/`")),
        }
    }
}

/// Splits a target in absolute form into the authority and the rest. Returns `None` for another
/// form.
fn split_absolute(target: &str) -> Option<(&str, &str)> {
    // Most targets are paths, and are not searched.
    let (scheme, rest) = Some(target).filter(|target| !target.starts_with('/'))?.split_once("://")?;
    if !scheme.eq_ignore_ascii_case("http") && !scheme.eq_ignore_ascii_case("https") {
        return None;
    }
    rest.split_at_checked(rest.find(['/', '?']).unwrap_or(rest.len()))
}
