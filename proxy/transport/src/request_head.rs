//! The parser of HTTP/1 request heads. Pingora's parser repairs some errors and drops
//! contradictions. This one refuses everything that parsers can read differently.

use memchr::{memchr, memchr_iter};
use shared::problem::{Problem, codes};

/// The head of a request, split into its parts as sent.
#[derive(Clone, Debug)]
pub struct RawHead<'a> {
    /// The method.
    pub method: &'a str,
    /// Whether the request is HTTP/1.0.
    pub is_http10: bool,
    /// The request target.
    pub target: &'a str,
    lines: Vec<(&'a str, &'a [u8])>,
}

/// Number of header lines for which memory is reserved. Most requests have fewer.
const USUAL_LINES: usize = 24;

impl<'a> RawHead<'a> {
    /// Parses a head with its empty line. Only header values can have bytes above ASCII.
    ///
    /// # Errors
    /// Returns `header-malformed` for bare line ends, control characters, folded lines, spaces
    /// before a colon, a missing or repeated Host, and any transfer encoding except `chunked`.
    pub fn parse(raw: &'a [u8]) -> Result<Self, Problem> {
        check_bytes(raw)?;
        let mut rest = raw.strip_suffix(b"\r\n").ok_or_else(|| malformed("the headers do not end"))?;
        let request_line = next_line(&mut rest)?.ok_or_else(|| malformed("there is no request line"))?;
        let (method, target, version) = request_line_parts(request_line)?;
        let mut head =
            Self { method, is_http10: version == "HTTP/1.0", target, lines: Vec::with_capacity(USUAL_LINES) };
        while let Some(line) = next_line(&mut rest)? {
            head.lines.push(
                split_line(line)
                    .ok_or_else(|| malformed("a header line is folded, or has no proper name and colon"))?,
            );
        }
        // Each line ends with one, as do the request line and the empty line. Another one is within a line.
        if raw.iter().filter(|&&byte| byte == b'\r').count() != head.lines.len() + 2 {
            return Err(control());
        }
        head.check_lines()?;
        Ok(head)
    }

    /// Checks a head that was received in parts, as HTTP/2 sends it.
    ///
    /// # Errors
    /// Returns `header-malformed` for all that [`Self::parse`] refuses as well.
    pub(crate) fn of_parts(
        method: &'a str,
        target: &'a str,
        lines: impl Iterator<Item = (&'a str, &'a [u8])>,
    ) -> Result<Self, Problem> {
        let mut head = Self { method, is_http10: false, target, lines: Vec::with_capacity(USUAL_LINES) };
        check_text(method.as_bytes())?;
        check_text(target.as_bytes())?;
        for (name, value) in lines {
            check_text(value)?;
            // The `http` crate takes quotes in names.
            if !is_name(name.as_bytes()) {
                return Err(malformed("a header line has no proper name"));
            }
            head.lines.push((name, value.trim_ascii()));
        }
        head.check_lines()?;
        Ok(head)
    }

    /// Returns the name and the trimmed value of each header line.
    pub fn lines(&self) -> impl Iterator<Item = (&'a str, &'a [u8])> {
        self.lines.iter().copied()
    }

    /// Returns the values of a header, in the order of its lines.
    pub fn all(&self, name: &str) -> impl Iterator<Item = &'a [u8]> {
        self.lines().filter(move |(other, _)| other.eq_ignore_ascii_case(name)).map(|(_, value)| value)
    }

    /// Returns the value of a header that must not be repeated.
    ///
    /// # Errors
    /// Returns `header-malformed` if it is repeated.
    pub fn only(&self, name: &str) -> Result<Option<&'a [u8]>, Problem> {
        let mut values = self.all(name);
        match (values.next(), values.next()) {
            // Of two values, a parser may take the first and another one the last.
            (value, None) => Ok(value),
            (_, Some(_)) => {
                Err(Problem::new(codes::HEADER_MALFORMED, format!("`{name}` is sent more than once")))
            }
        }
    }

    fn check_lines(&self) -> Result<(), Problem> {
        let (mut hosts, mut codings) = (0, 0);
        for (name, value) in self.lines() {
            if name.eq_ignore_ascii_case("host") {
                hosts += 1;
            } else if name.eq_ignore_ascii_case("transfer-encoding") {
                codings += 1;
                // With one, the framing of an HTTP/1.0 message is faulty (RFC 9112, section 6.1): a
                // server that ignores it reads the body as the next request.
                if codings > 1 || self.is_http10 || !value.eq_ignore_ascii_case(b"chunked") {
                    return Err(malformed("the only transfer encoding is `chunked`, once, in HTTP/1.1"));
                }
            }
        }
        match (self.is_http10, hosts) {
            // Without exactly one Host, a request is 400 (RFC 9112, section 3.2).
            (_, 1) | (true, 0) => Ok(()),
            (_, 0) => Err(malformed("Host is missing")),
            _ => Err(malformed("Host is sent more than once")),
        }
    }
}

/// Takes the first line of `rest`, without its end. It may hold a bare carriage return. Returns `None` if `rest`
/// is empty.
fn next_line<'a>(rest: &mut &'a [u8]) -> Result<Option<&'a [u8]>, Problem> {
    if rest.is_empty() {
        return Ok(None);
    }
    let (line, after) =
        rest.split_at_checked(memchr(b'\n', rest).ok_or_else(control)? + 1).ok_or_else(control)?;
    *rest = after;
    Ok(Some(line.strip_suffix(b"\r\n").ok_or_else(control)?))
}

fn request_line_parts(line: &[u8]) -> Result<(&str, &str, &str), Problem> {
    let shape = || malformed("the request line is not method, target and version");
    let text = std::str::from_utf8(line).map_err(|_| shape())?;
    let mut spaces = memchr_iter(b' ', line);
    let (Some(first), Some(second), None) = (spaces.next(), spaces.next(), spaces.next()) else {
        return Err(shape());
    };
    let parts = (text.get(..first), text.get(first + 1..second), text.get(second + 1..));
    match parts {
        // A tab is allowed in the lines of headers. The URL standard drops it from a target.
        (_, Some(target), _) if target.contains('\t') => Err(malformed("the request target has a tab")),
        (Some(method), Some(target), Some(version @ ("HTTP/1.1" | "HTTP/1.0"))) => {
            Ok((method, target, version))
        }
        (Some(_), Some(_), Some(_)) => Err(malformed("the version is neither HTTP/1.1 nor HTTP/1.0")),
        _ => Err(shape()),
    }
}

/// Splits a header line into name and trimmed value. Returns `None` if it is malformed.
pub(crate) fn split_line(line: &[u8]) -> Option<(&str, &[u8])> {
    // The name ends with its first byte that no name has. A space before the colon is refused, which some
    // servers drop and others keep (RFC 9112, section 5.1).
    let end = line.iter().position(|&byte| !is_token(byte)).filter(|end| *end > 0)?;
    let (name, value) = line.split_at_checked(end)?;
    Some((std::str::from_utf8(name).ok()?, value.strip_prefix(b":")?.trim_ascii()))
}

/// Checks that there are no control characters except tabs and line ends, which are checked with
/// the lines.
fn check_bytes(raw: &[u8]) -> Result<(), Problem> {
    let end = |byte: u8| (byte == b'\r') | (byte == b'\n');
    // No early exit, so that the compiler vectorizes the loop.
    match raw.iter().fold(true, |all, &byte| all & (is_plain(byte) | end(byte))) {
        true => Ok(()),
        false => Err(control()),
    }
}

/// Checks that there are no control characters except tabs.
fn check_text(text: &[u8]) -> Result<(), Problem> {
    match text.iter().fold(true, |all, &byte| all & is_plain(byte)) {
        true => Ok(()),
        false => Err(control()),
    }
}

/// Returns true for bytes that are no control characters, and for tabs.
const fn is_plain(byte: u8) -> bool {
    ((byte >= b' ') & (byte != 0x7f)) | (byte == b'\t')
}

fn control() -> Problem {
    malformed("the headers hold a control character or a bare line end")
}

/// Returns true for the name of a header.
fn is_name(name: &[u8]) -> bool {
    !name.is_empty() && name.iter().copied().all(is_token)
}

/// Returns true for the bytes of a token (RFC 9110, section 5.6.2).
const fn is_token(byte: u8) -> bool {
    // Not a shift of 128 bits, which takes several instructions.
    let bits = if byte & 64 == 0 { TOKEN[0] } else { TOKEN[1] };
    byte.is_ascii() & (bits >> (byte & 63) & 1 == 1)
}

/// A bitmap of the bytes of a token, below 64 and from there on.
const TOKEN: [u64; 2] =
    bits(b"!#$%&'*+-.^_`|~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz");

const fn bits(mut bytes: &[u8]) -> [u64; 2] {
    let (mut low, mut high) = (0, 0);
    while let [byte, rest @ ..] = bytes {
        match *byte {
            byte @ ..64 => low |= 1 << byte,
            byte => high |= 1 << (byte & 63),
        }
        bytes = rest;
    }
    [low, high]
}

fn malformed(detail: &'static str) -> Problem {
    Problem::new(codes::HEADER_MALFORMED, detail)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn head_is_split_into_target_and_lines() {
        let raw = b"POST /v1/qr/generate?a=b HTTP/1.1\r\nHost: x\r\nX-A:  b \xfc\t\r\nx-a: d\r\n\r\n";
        let head = RawHead::parse(raw).unwrap();
        assert_eq!(head.target, "/v1/qr/generate?a=b");
        let lines: Vec<_> = head.lines().collect();
        assert_eq!(lines, [("Host", &b"x"[..]), ("X-A", b"b \xfc"), ("x-a", b"d")]);
        assert_eq!(head.only("host").unwrap(), Some(&b"x"[..]));
        assert!(head.only("x-a").is_err());
    }

    #[test]
    fn head_in_parts_is_refused_as_text_is() {
        let host = ("host", &b"x"[..]);
        let code = |target, lines: [(&str, &[u8]); 2]| {
            RawHead::of_parts("GET", target, lines.into_iter()).err().map(|problem| problem.code())
        };
        assert_eq!(code("/", [host, ("a", b" b\t\xfc")]), None);
        for (target, lines) in [
            ("/\u{7f}", [host, ("a", &b"b"[..])]),
            ("/", [host, ("a", b"b\r\nc: d")]),
            ("/", [host, ("a", b"b\0")]),
            ("/", [host, ("a\"b", b"c")]),
            ("/", [host, ("", b"c")]),
            ("/", [host, host]),
            ("/", [("a", b"b"), ("c", b"d")]),
            ("/", [host, ("transfer-encoding", b"gzip")]),
        ] {
            assert_eq!(code(target, lines), Some(codes::HEADER_MALFORMED), "{target:?} {lines:?}");
        }
    }

    #[test]
    fn ambiguous_heads_are_refused() {
        for raw in [
            "GET / HTTP/1.1\nHost: x\r\n\r\n",
            "GET / HTTP/1.1\r\nHost: x\n\r\n",
            "GET / HTTP/1.1\r\nHost: x\r\n folded\r\n\r\n",
            "GET / HTTP/1.1\r\nHost: x\r\nA : b\r\n\r\n",
            "GET / HTTP/1.1\r\nHost: x\r\n: b\r\n\r\n",
            "GET / HTTP/1.1\r\nHost: x\r\nA: b\rc\r\n\r\n",
            "GET / HTTP/1.1\r\nHost: x\r\nA: b\0c\r\n\r\n",
            "GET / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: gzip, chunked\r\n\r\n",
            "GET / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n",
            "GET / HTTP/1.0\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n",
            "GET / HTTP/1.1\r\nHost: x\r\nhost: y\r\n\r\n",
            "GET / HTTP/1.1\r\nA: b\r\n\r\n",
            "GET /a b HTTP/1.1\r\nHost: x\r\n\r\n",
            "GET  / HTTP/1.1\r\nHost: x\r\n\r\n",
            "GET /a?\tb HTTP/1.1\r\nHost: x\r\n\r\n",
            "GET / HTTP/1.2\r\nHost: x\r\n\r\n",
            "GET / HTTP/1.1\r\n\r\n",
            "PRI * HTTP/2.0\r\n\r\n",
            "x\r\n\r\n",
        ] {
            let code = RawHead::parse(raw.as_bytes()).err().map(|problem| problem.code());
            assert_eq!(code, Some(codes::HEADER_MALFORMED), "{raw:?}");
        }
        assert!(RawHead::parse(b"GET / HTTP/1.0\r\n\r\n").is_ok());
    }
}
