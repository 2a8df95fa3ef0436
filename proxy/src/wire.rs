//! The head of an HTTP/1 request as it came over the wire. Pingora's parser repairs what it can and drops what
//! contradicts itself; what another parser might read differently is refused here instead.

use shared::problem::{Code, Problem};

/// A head that can be read in one way only.
#[derive(Clone, Copy, Debug)]
pub struct WireHead<'a> {
    /// The request line's method, as sent.
    pub method: &'a str,
    /// Whether the request is HTTP/1.0.
    pub is_old: bool,
    /// The request line's target, as sent.
    pub target: &'a str,
    lines: &'a [u8],
}

impl<'a> WireHead<'a> {
    /// Reads the head with its empty line. Values may hold bytes above ASCII; nothing else may.
    ///
    /// # Errors
    /// `header-malformed` for bare line ends, control characters, folded lines, spaces before a colon, a missing or
    /// second Host and any transfer encoding but `chunked`.
    pub fn parse(raw: &'a [u8]) -> Result<Self, Problem> {
        check_bytes(raw)?;
        let head = raw.strip_suffix(b"\r\n").ok_or_else(|| malformed("the headers do not end"))?;
        let end =
            head.iter().position(|&b| b == b'\n').ok_or_else(|| malformed("there is no request line"))?;
        let (request_line, lines) = head.split_at_checked(end + 1).unwrap_or((head, &[]));
        let (method, target, version) = request_line_parts(without_end(request_line))?;
        let head = Self { method, is_old: version == "HTTP/1.0", target, lines };
        head.check_lines(version)?;
        Ok(head)
    }

    /// A head that [`Self::parse`] has accepted, read again without checking it again. Of one that it has not, nothing is
    /// promised.
    #[must_use]
    pub fn again(raw: &'a [u8]) -> Self {
        let head = raw.strip_suffix(b"\r\n").unwrap_or(raw);
        let end = memchr::memchr(b'\n', head).map_or(head.len(), |end| end + 1);
        let (request_line, lines) = head.split_at_checked(end).unwrap_or((head, &[]));
        let (method, target, version) = request_line_parts(without_end(request_line)).unwrap_or_default();
        Self { method, is_old: version == "HTTP/1.0", target, lines }
    }

    /// Each header line: its name and its value without the space around it.
    pub fn lines(self) -> impl Iterator<Item = (&'a str, &'a [u8])> {
        self.raw_lines().filter_map(|line| {
            let (name, value) = line.split_at_checked(memchr::memchr(b':', line)?)?;
            Some((std::str::from_utf8(name).ok()?, value.get(1..)?.trim_ascii()))
        })
    }

    /// The value of a header that may be there once.
    ///
    /// # Errors
    /// `header-malformed` when it is there twice.
    pub fn only(self, name: &str) -> Result<Option<&'a [u8]>, Problem> {
        let mut values =
            self.lines().filter(|(other, _)| other.eq_ignore_ascii_case(name)).map(|(_, value)| value);
        match (values.next(), values.next()) {
            (value, None) => Ok(value),
            (_, Some(_)) => {
                Err(Problem::new(Code::HeaderMalformed, format!("`{name}` is sent more than once")))
            }
        }
    }

    fn raw_lines(self) -> impl Iterator<Item = &'a [u8]> {
        self.lines.split_inclusive(|&b| b == b'\n').map(without_end)
    }

    fn check_lines(self, version: &str) -> Result<(), Problem> {
        let (mut hosts, mut codings) = (0, 0);
        for line in self.raw_lines() {
            let Some((name, value)) = split_line(line) else {
                return Err(malformed("a header line is folded, or has no proper name and colon"));
            };
            if name.eq_ignore_ascii_case("host") {
                hosts += 1;
            } else if name.eq_ignore_ascii_case("transfer-encoding") {
                codings += 1;
                if codings > 1 || version == "HTTP/1.0" || !value.eq_ignore_ascii_case(b"chunked") {
                    return Err(malformed("the only transfer encoding is `chunked`, once, in HTTP/1.1"));
                }
            }
        }
        match (version, hosts) {
            (_, 1) | ("HTTP/1.0", 0) => Ok(()),
            (_, 0) => Err(malformed("Host is missing")),
            _ => Err(malformed("Host is sent more than once")),
        }
    }
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

fn without_end(line: &[u8]) -> &[u8] {
    line.strip_suffix(b"\r\n").unwrap_or(line)
}

/// Line ends are CR LF together, and nothing else is a control character save the tab.
fn check_bytes(raw: &[u8]) -> Result<(), Problem> {
    let plain = raw
        .iter()
        .fold(true, |plain, &byte| plain & (byte >= b' ' || byte == b'\t' || byte == b'\r' || byte == b'\n'));
    let whole = |line: &[u8]| {
        let end = line.strip_suffix(b"\r\n");
        end.is_some_and(|line| memchr::memchr(b'\r', line).is_none())
    };
    if plain && !raw.contains(&0x7f) && raw.split_inclusive(|&byte| byte == b'\n').all(whole) {
        return Ok(());
    }
    Err(malformed("the headers hold a control character or a bare line end"))
}

/// RFC 9110, section 5.6.2.
const fn is_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric()
        || matches!(
            byte,
            b'!' | b'#'
                | b'$'
                | b'%'
                | b'&'
                | b'\''
                | b'*'
                | b'+'
                | b'-'
                | b'.'
                | b'^'
                | b'_'
                | b'`'
                | b'|'
                | b'~'
        )
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
        ] {
            let code = WireHead::parse(raw.as_bytes()).err().map(|problem| problem.code());
            assert_eq!(code, Some(Code::HeaderMalformed), "{raw:?}");
        }
        assert!(WireHead::parse(b"GET / HTTP/1.0\r\n\r\n").is_ok());
    }
}
