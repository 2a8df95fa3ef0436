//! The response behind an informational one (1xx).
//!
//! workerd takes the first head that it reads for the response, so a server that sends 103 Early Hints before
//! its 200 has the status 103 there, and the 200 is in the body: as bytes, and until the connection ends.
//!
//! Why: docs/decisions/webhooks.md, "An informational response is read past in its body".

use thiserror::Error;

/// The longest head of a response, in bytes. Informational responses before it are part of it.
pub const MAX_HEAD: usize = 16_384;
/// Most headers of one response.
const MAX_HEADERS: usize = 100;

/// The head of the response that counts, as it was found after an informational one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FinalHead {
    /// Its status, which is not informational.
    pub status: u16,
    /// Its headers.
    pub headers: Vec<(String, String)>,
    /// Bytes from the end of the informational response to the body.
    pub len: usize,
}

/// Bytes behind an informational response that are not a response.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum FinalHeadError {
    /// It is not the head of a response.
    #[error("what follows an informational response (1xx) is not the head of a response")]
    Malformed,
    /// It does not end.
    #[error("the heads after an informational response (1xx) are longer than {MAX_HEAD} bytes")]
    TooLong,
}

/// Returns true for a status that announces another one. A 101 does not: nothing of HTTP follows it
/// (RFC 9110, section 15.2).
pub const fn is_informational(status: u16) -> bool {
    matches!(status, 100 | 102..=199)
}

impl FinalHead {
    /// Finds the final head in the bytes after an informational response. Returns `None` if they end
    /// before it does.
    ///
    /// # Errors
    /// If they are not the beginning of a response.
    pub fn find(bytes: &[u8]) -> Result<Option<Self>, FinalHeadError> {
        let mut passed = 0;
        loop {
            let rest = bytes.get(passed..).unwrap_or_default();
            let mut headers = [httparse::EMPTY_HEADER; MAX_HEADERS];
            let mut response = httparse::Response::new(&mut headers);
            let parsed = response.parse(rest).map_err(|_| FinalHeadError::Malformed)?;
            let (httparse::Status::Complete(len), Some(status)) = (parsed, response.code) else {
                return if bytes.len() > MAX_HEAD { Err(FinalHeadError::TooLong) } else { Ok(None) };
            };
            passed = passed.saturating_add(len);
            if !is_informational(status) {
                return Ok(Some(Self { status, headers: owned(response.headers), len: passed }));
            }
        }
    }

    /// Returns the length of a body that can be read as it is; `None` for one in chunks, for one that is
    /// encoded, and for one whose length is not known.
    pub fn plain_len(&self) -> Option<usize> {
        let value = |name: &str| self.headers.iter().find(|(own, _)| own.eq_ignore_ascii_case(name));
        if value("transfer-encoding").or_else(|| value("content-encoding")).is_some() {
            return None;
        }
        value("content-length")?.1.trim().parse().ok()
    }
}

fn owned(headers: &[httparse::Header<'_>]) -> Vec<(String, String)> {
    let text = |value: &[u8]| String::from_utf8_lossy(value).into_owned();
    headers.iter().map(|header| (header.name.to_owned(), text(header.value))).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const FINAL: &str = "HTTP/1.1 503 Busy\r\nRetry-After: 60\r\nContent-Length: 4\r\n\r\n";

    fn found(text: &str) -> Option<(u16, usize)> {
        FinalHead::find(text.as_bytes()).unwrap().map(|head| (head.status, head.len))
    }

    #[test]
    fn head_is_found_behind_any_number_of_informational_ones() {
        let hint = "HTTP/1.1 103 Early Hints\r\nLink: </a.css>; rel=preload\r\n\r\n";
        for count in 0..4 {
            let before = hint.repeat(count);
            let text = format!("{before}{FINAL}busy");
            assert_eq!(found(&text), Some((503, before.len() + FINAL.len())));
            for end in 0..before.len() + FINAL.len() {
                assert_eq!(found(&text[..end]), None, "cut at {end}");
            }
        }
        let head = FinalHead::find(FINAL.as_bytes()).unwrap().unwrap();
        assert_eq!(head.headers[0], ("Retry-After".to_owned(), "60".to_owned()));
        assert_eq!(head.plain_len(), Some(4));
    }

    #[test]
    fn status_101_is_final() {
        assert_eq!(found("HTTP/1.1 101 Switching Protocols\r\n\r\nHTTP/1.1 200 OK\r\n\r\n"), Some((101, 36)));
        let informational: Vec<u16> = (99..=201).filter(|status| is_informational(*status)).collect();
        let expected: Vec<u16> = [100].into_iter().chain(102..=199).collect();
        assert_eq!(informational, expected);
    }

    #[test]
    fn body_whose_end_is_not_known_has_no_length() {
        for (headers, expected) in [
            ("", None),
            ("Content-Length: 12\r\n", Some(12)),
            ("content-length:  7 \r\n", Some(7)),
            ("Content-Length: -1\r\n", None),
            ("Content-Length: 5\r\nTransfer-Encoding: chunked\r\n", None),
            ("Content-Encoding: gzip\r\nContent-Length: 5\r\n", None),
        ] {
            let head = FinalHead::find(format!("HTTP/1.1 200 OK\r\n{headers}\r\n").as_bytes());
            assert_eq!(head.unwrap().unwrap().plain_len(), expected, "{headers}");
        }
    }

    #[test]
    fn what_is_no_head_or_has_no_end_is_an_error() {
        for text in ["ok", "\0", "HTTP/2 200\r\n\r\n", "HTTP/1.1 abc\r\n\r\n"] {
            assert_eq!(FinalHead::find(text.as_bytes()), Err(FinalHeadError::Malformed), "{text}");
        }
        let endless = format!("HTTP/1.1 200 OK\r\nA: {}", "a".repeat(MAX_HEAD));
        assert_eq!(FinalHead::find(endless.as_bytes()), Err(FinalHeadError::TooLong));
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            for before in ["", "HTTP/1.1 103 Early Hints\r\n\r\n", "HTTP/1.1 200 OK\r\n"] {
                let text = [before.as_bytes(), &bytes].concat();
                if let Ok(Some(head)) = FinalHead::find(&text) {
                    prop_assert!(head.len <= text.len() && !is_informational(head.status));
                }
            }
        }
    }
}
