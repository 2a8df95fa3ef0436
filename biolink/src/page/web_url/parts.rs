//! The parts of an `http` or `https` URL, in the normal form of the URL standard.

use std::fmt;

use percent_encoding::{AsciiSet, CONTROLS, utf8_percent_encode};

use super::{UrlError, WebUrl, international};

/// The characters that browsers percent-encode in a path or a fragment, and some that they keep.
const ENCODED: &AsciiSet =
    &CONTROLS.add(b' ').add(b'"').add(b'<').add(b'>').add(b'`').add(b'{').add(b'}').add(b'|').add(b'^');
/// Those of a query.
const ENCODED_IN_QUERY: &AsciiSet = &ENCODED.add(b'\'');

/// A URL in parts. Its host is checked for its characters only: the caller decides which hosts it
/// takes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct UrlParts {
    /// Whether the scheme is `https`.
    pub(crate) is_https: bool,
    /// The host, ASCII in lower case. An IPv6 address keeps its brackets.
    pub(crate) host: String,
    /// The port; `None` for the usual one of the scheme.
    pub(crate) port: Option<u16>,
    /// Path, query and fragment, percent-encoded. Begins with a slash.
    pub(crate) path: String,
}

impl UrlParts {
    /// Reads a URL.
    ///
    /// # Errors
    /// Returns the first rule that it breaks.
    pub(crate) fn parse(text: &str) -> Result<Self, UrlError> {
        // Before all else, which takes time by the length of the text.
        if text.len() > WebUrl::MAX_LEN {
            return Err(UrlError::TooLong);
        }
        // The URL standard strips or replaces these, so that two readers could see two addresses.
        if text.chars().any(|c| c.is_control() || c.is_whitespace() || c == '\\') {
            return Err(UrlError::Characters);
        }
        if !["https://", "http://"].iter().any(|scheme| starts_with_ignoring_case(text, scheme)) {
            return Err(UrlError::Scheme);
        }
        let (scheme, rest) = text.split_once("://").ok_or(UrlError::Malformed)?;
        let is_https = scheme.eq_ignore_ascii_case("https");
        let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
        let (authority, path) = rest.split_at_checked(end).ok_or(UrlError::Malformed)?;
        if authority.contains('@') {
            return Err(UrlError::Credentials);
        }
        let (host, port) = split_authority(authority);
        let host = international::to_ascii(host).ok_or(UrlError::International)?;
        let port = port.map(|port| parse_port(port, is_https)).transpose()?.flatten();
        Ok(Self { is_https, host, port, path: normal_path(path) })
    }
}

impl fmt::Display for UrlParts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { is_https, host, port, path } = self;
        write!(f, "{}://{host}", if *is_https { "https" } else { "http" })?;
        if let Some(port) = port {
            write!(f, ":{port}")?;
        }
        f.write_str(path)
    }
}

fn starts_with_ignoring_case(text: &str, start: &str) -> bool {
    text.get(..start.len()).is_some_and(|head| head.eq_ignore_ascii_case(start))
}

/// Returns host and port. The colons of an IPv6 address stand in brackets.
fn split_authority(authority: &str) -> (&str, Option<&str>) {
    let host_end = if authority.starts_with('[') { authority.find(']').unwrap_or(0) } else { 0 };
    match authority.get(host_end..).and_then(|rest| rest.find(':')) {
        Some(colon) => {
            let (host, port) = authority.split_at_checked(host_end + colon).unwrap_or((authority, ""));
            (host, port.strip_prefix(':'))
        }
        None => (authority, None),
    }
}

/// Returns path, query and fragment, percent-encoded, and the path without dot segments.
fn normal_path(text: &str) -> String {
    let (text, fragment) = text.find('#').and_then(|at| text.split_at_checked(at)).unwrap_or((text, ""));
    let (path, query) = text.find('?').and_then(|at| text.split_at_checked(at)).unwrap_or((text, ""));
    let path = without_dot_segments(path);
    let path = utf8_percent_encode(&path, ENCODED);
    let query = utf8_percent_encode(query, ENCODED_IN_QUERY);
    format!("{path}{query}{}", utf8_percent_encode(fragment, ENCODED))
}

/// Removes the segments `.` and `..`, in each spelling, as the URL standard does in its path state. The
/// result begins with a slash.
fn without_dot_segments(path: &str) -> String {
    let mut kept: Vec<&str> = Vec::new();
    let mut segments = path.strip_prefix('/').unwrap_or(path).split('/').peekable();
    while let Some(segment) = segments.next() {
        // Browsers read an escaped dot as one. A check of the plain path would see another address.
        let dots = segment.to_ascii_lowercase().replace("%2e", ".");
        match dots.as_str() {
            "." => {}
            ".." => drop(kept.pop()),
            _ => {
                kept.push(segment);
                continue;
            }
        }
        if segments.peek().is_none() {
            kept.push("");
        }
    }
    format!("/{}", kept.join("/"))
}

/// Returns a port; `None` for the usual one of the scheme.
fn parse_port(text: &str, is_https: bool) -> Result<Option<u16>, UrlError> {
    // `parse` takes a plus sign too.
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let port = text.parse::<u16>().ok().filter(|port| digits && *port > 0).ok_or(UrlError::Malformed)?;
    let usual = if is_https { 443 } else { 80 };
    Ok((port != usual).then_some(port))
}
