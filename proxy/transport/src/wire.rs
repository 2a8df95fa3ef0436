//! The head of an HTTP/1 request as it came over the wire. Pingora's parser repairs what it can and drops what
//! contradicts itself; what another parser might read differently is refused here instead.

use memchr::memchr;
use shared::problem::{Code, Problem};

/// A head that can be read in one way only, in its parts.
#[derive(Clone, Debug)]
pub struct WireHead<'a> {
    /// The request line's method, as sent.
    pub method: &'a str,
    /// Whether the request is HTTP/1.0.
    pub is_http10: bool,
    /// The request line's target, as sent.
    pub target: &'a str,
    lines: Vec<(&'a str, &'a [u8])>,
}

/// Requests of most clients have no more header lines.
const USUAL_LINES: usize = 24;

impl<'a> WireHead<'a> {
    /// Reads the head with its empty line. Values may hold bytes above ASCII; nothing else may.
    ///
    /// # Errors
    /// `header-malformed` for bare line ends, control characters, folded lines, spaces before a colon, a missing or
    /// second Host and any transfer encoding but `chunked`.
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
        head.check_lines()?;
        Ok(head)
    }

    /// Each header line: its name and its value without the space around it.
    pub fn lines(&self) -> impl Iterator<Item = (&'a str, &'a [u8])> {
        self.lines.iter().copied()
    }

    /// The values of a header, in the order of its lines.
    pub fn all(&self, name: &str) -> impl Iterator<Item = &'a [u8]> {
        self.lines().filter(move |(other, _)| other.eq_ignore_ascii_case(name)).map(|(_, value)| value)
    }

    /// The value of a header that may be there once.
    ///
    /// # Errors
    /// `header-malformed` when it is there twice.
    pub fn only(&self, name: &str) -> Result<Option<&'a [u8]>, Problem> {
        let mut values = self.all(name);
        match (values.next(), values.next()) {
            (value, None) => Ok(value),
            (_, Some(_)) => {
                Err(Problem::new(Code::HeaderMalformed, format!("`{name}` is sent more than once")))
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
                if codings > 1 || self.is_http10 || !value.eq_ignore_ascii_case(b"chunked") {
                    return Err(malformed("the only transfer encoding is `chunked`, once, in HTTP/1.1"));
                }
            }
        }
        match (self.is_http10, hosts) {
            (_, 1) | (true, 0) => Ok(()),
            (_, 0) => Err(malformed("Host is missing")),
            _ => Err(malformed("Host is sent more than once")),
        }
    }
}

/// Takes a line from the beginning of `rest`, without its end; `None` when nothing is left.
fn next_line<'a>(rest: &mut &'a [u8]) -> Result<Option<&'a [u8]>, Problem> {
    if rest.is_empty() {
        return Ok(None);
    }
    let bare = || malformed("the headers hold a control character or a bare line end");
    let (line, after) = rest.split_at_checked(memchr(b'\n', rest).ok_or_else(bare)? + 1).ok_or_else(bare)?;
    *rest = after;
    let line = line.strip_suffix(b"\r\n").ok_or_else(bare)?;
    if memchr(b'\r', line).is_some() { Err(bare()) } else { Ok(Some(line)) }
}

fn request_line_parts(line: &[u8]) -> Result<(&str, &str, &str), Problem> {
    let shape = || malformed("the request line is not method, target and version");
    let text = std::str::from_utf8(line).map_err(|_| shape())?;
    let mut words = text.split(' ');
    match (words.next(), words.next(), words.next(), words.next()) {
        (Some(method), Some(target), Some(version @ ("HTTP/1.1" | "HTTP/1.0")), None) => {
            Ok((method, target, version))
        }
        (Some(_), Some(_), Some(_), None) => Err(malformed("the version is neither HTTP/1.1 nor HTTP/1.0")),
        _ => Err(shape()),
    }
}

/// Name and trimmed value; `None` for a line that is not both.
fn split_line(line: &[u8]) -> Option<(&str, &[u8])> {
    let colon = line.iter().position(|&b| b == b':')?;
    let (name, value) = line.split_at_checked(colon)?;
    if name.is_empty() || !name.iter().copied().all(is_token) {
        return None;
    }
    Some((std::str::from_utf8(name).ok()?, value.get(1..)?.trim_ascii()))
}

/// Nothing is a control character save the tab and line ends, which are looked at where lines are told apart.
fn check_bytes(raw: &[u8]) -> Result<(), Problem> {
    let end_or_tab = |byte: u8| (byte == b'\t') | (byte == b'\r') | (byte == b'\n');
    let plain = |byte: u8| ((byte >= b' ') & (byte != 0x7f)) | end_or_tab(byte);
    // Without an early end, so that it is done for many bytes at once.
    if raw.iter().fold(true, |all, &byte| all & plain(byte)) {
        return Ok(());
    }
    Err(malformed("the headers hold a control character or a bare line end"))
}

/// RFC 9110, section 5.6.2.
const fn is_token(byte: u8) -> bool {
    byte.is_ascii() && TOKEN >> byte & 1 == 1
}

/// A bit for each byte that may be part of a token.
const TOKEN: u128 = bits(b"!#$%&'*+-.^_`|~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz");

const fn bits(mut bytes: &[u8]) -> u128 {
    let mut bits = 0;
    while let [byte, rest @ ..] = bytes {
        bits |= 1 << *byte;
        bytes = rest;
    }
    bits
}

fn malformed(detail: &'static str) -> Problem {
    Problem::new(Code::HeaderMalformed, detail)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plain_head_gives_its_target_and_lines() {
        let raw = b"POST /v1/qr/generate?a=b HTTP/1.1\r\nHost: x\r\nX-A:  b \xfc\t\r\nx-a: d\r\n\r\n";
        let head = WireHead::parse(raw).unwrap();
        assert_eq!(head.target, "/v1/qr/generate?a=b");
        let lines: Vec<_> = head.lines().collect();
        assert_eq!(lines, [("Host", &b"x"[..]), ("X-A", b"b \xfc"), ("x-a", b"d")]);
        assert_eq!(head.only("host").unwrap(), Some(&b"x"[..]));
        assert!(head.only("x-a").is_err());
    }

    #[test]
    fn what_another_parser_could_read_differently_is_refused() {
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
            "GET / HTTP/1.2\r\nHost: x\r\n\r\n",
            "GET / HTTP/1.1\r\n\r\n",
            "PRI * HTTP/2.0\r\n\r\n",
            "x\r\n\r\n",
        ] {
            let code = WireHead::parse(raw.as_bytes()).err().map(|problem| problem.code());
            assert_eq!(code, Some(Code::HeaderMalformed), "{raw:?}");
        }
        assert!(WireHead::parse(b"GET / HTTP/1.0\r\n\r\n").is_ok());
    }
}
