//! Finds the end of a response, and faults in it, while another parser reads it.

use crate::framing::{Framing, Part};
use crate::hooks::Cause;
use crate::relay::head::{ResponseHead, read_response};

/// A scan of the responses to one request: informational ones, and the final one.
#[derive(Debug, Default)]
pub(super) struct ResponseScan {
    /// The beginning of a head that is not complete.
    held: Vec<u8>,
    /// The head of the final response, with the framing of the rest of its body.
    head: Option<ResponseHead>,
    /// The beginning of a line of the framing that is not complete.
    line: Vec<u8>,
    /// Whether bytes came after the end of the response.
    has_more: bool,
}

impl ResponseScan {
    /// Returns true if the response is complete and its connection can serve another call.
    pub(super) fn can_reuse_connection(&self) -> bool {
        let is_over = |head: &ResponseHead| head.body.is_over() && head.keep_alive;
        self.head.as_ref().is_some_and(is_over) && !self.has_more
    }

    /// Scans the next bytes. Returns the number of those before a fault, and the fault.
    pub(super) fn scan(&mut self, bytes: &[u8]) -> (usize, Option<Cause>) {
        let body = match self.scan_heads(bytes) {
            Ok(Some(start)) => start,
            Ok(None) => return (bytes.len(), None),
            Err(cause) => return (0, Some(cause)),
        };
        let (scanned, fault) = self.scan_body(bytes.get(body..).unwrap_or_default());
        (body + scanned, fault)
    }

    /// Scans up to the end of the final head. Returns the number of bytes up to there, or `None` if
    /// all of them belong to heads.
    fn scan_heads(&mut self, bytes: &[u8]) -> Result<Option<usize>, Cause> {
        let mut start = 0;
        while self.head.is_none() {
            let rest = bytes.get(start..).unwrap_or_default();
            let earlier = self.held.len();
            // A head that came at once is not copied.
            let text = if earlier == 0 {
                rest
            } else {
                self.held.extend_from_slice(rest);
                &self.held
            };
            if text.is_empty() {
                return Ok(None);
            }
            match read_response(text, |_, _| {})? {
                None => {
                    if earlier == 0 {
                        self.held.extend_from_slice(rest);
                    }
                    return Ok(None);
                }
                Some(head) => {
                    start += head.length.saturating_sub(earlier);
                    self.held = Vec::new();
                    self.head = Some(head).filter(|head| head.status >= 200);
                }
            }
        }
        Ok(Some(start))
    }

    /// Scans bytes of the body. Returns the number of those before a fault, and the fault.
    fn scan_body(&mut self, bytes: &[u8]) -> (usize, Option<Cause>) {
        let Some(head) = &mut self.head else { return (bytes.len(), None) };
        let mut scanned = 0;
        loop {
            let rest = bytes.get(scanned..).unwrap_or_default();
            let earlier = self.line.len();
            let text = if earlier == 0 {
                rest
            } else {
                self.line.extend_from_slice(rest);
                &self.line
            };
            let Ok(Part { skip, data }) = head.take_body(text) else {
                return (scanned, Some(Cause::Malformed));
            };
            let taken = (skip + data).saturating_sub(earlier);
            if skip + data > 0 {
                self.line = Vec::new();
            }
            scanned += taken;
            if data > 0 {
                continue;
            }
            let rest = bytes.get(scanned..).unwrap_or_default();
            if head.body.is_over() {
                // Bytes after a response would be taken for the next one, which is for another
                // client.
                self.has_more |= !rest.is_empty();
            } else if self.line.is_empty() && matches!(head.body, Framing::Chunked(_)) {
                self.line.extend_from_slice(rest);
            }
            return (bytes.len(), None);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Scans a response in pieces of so many bytes. Returns the number of bytes before a fault, the
    /// fault, and whether the connection can be used again.
    fn scan(response: &[u8], piece: usize) -> (usize, Option<Cause>, bool) {
        let mut scan = ResponseScan::default();
        let mut scanned = 0;
        for bytes in response.chunks(piece) {
            let (valid, fault) = scan.scan(bytes);
            scanned += valid;
            if fault.is_some() {
                return (scanned, fault, false);
            }
            assert_eq!(valid, bytes.len());
        }
        (scanned, None, scan.can_reuse_connection())
    }

    const HEAD: &str = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";

    #[test]
    fn complete_response_leaves_a_connection_for_another() {
        for (response, reusable) in [
            ("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", true),
            ("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\no", false),
            ("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok?", false),
            ("HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok", false),
            ("HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok", false),
            ("HTTP/1.1 204 No\r\n\r\n", true),
            ("HTTP/1.1 304 Not\r\nContent-Length: 5\r\n\r\n", true),
            ("HTTP/1.1 103 Hints\r\nLink: a\r\n\r\n", false),
            ("HTTP/1.1 100 Go\r\n\r\nHTTP/1.1 103 Hints\r\n\r\nHTTP/1.1 204 No\r\n\r\n", true),
            ("HTTP/1.1 200 OK\r\n\r\nuntil the end", false),
        ] {
            for piece in 1..=response.len() {
                let expected = (response.len(), None, reusable);
                assert_eq!(scan(response.as_bytes(), piece), expected, "{response:?} {piece}");
            }
        }
        let chunked = format!("{HEAD}5;a=b\r\nhello\r\n6\r\n world\r\n0\r\nX-Sum: 1\r\n\r\n");
        for piece in 1..=chunked.len() {
            assert_eq!(scan(chunked.as_bytes(), piece), (chunked.len(), None, true), "{piece}");
        }
    }

    #[test]
    fn fault_ends_what_can_be_read() {
        for (valid, rest) in [("5\r\nhello", "\r\n\r\nworld"), ("", "x\r\nok\r\n"), ("2\r\nok", "ay\r\n")] {
            let response = format!("{HEAD}{valid}{rest}");
            // A response whose first chunk is malformed is refused, if it came with the head.
            let first = if valid.is_empty() { 0 } else { HEAD.len() + valid.len() };
            let whole = scan(response.as_bytes(), response.len());
            assert_eq!(whole, (first, Some(Cause::Malformed), false), "{rest:?}");
            for piece in 1..HEAD.len() {
                let (scanned, fault, _) = scan(response.as_bytes(), piece);
                assert_eq!(fault, Some(Cause::Malformed), "{rest:?} {piece}");
                assert!(scanned < response.len(), "{rest:?} {piece}");
            }
        }
        let folded = "HTTP/1.1 200 OK\r\nA: b\r\n c\r\nContent-Length: 0\r\n\r\n";
        assert_eq!(scan(folded.as_bytes(), 4_096), (0, Some(Cause::Malformed), false));
        let endless = format!("HTTP/1.1 200 OK\r\nA: {}", "a".repeat(70_000));
        assert_eq!(scan(endless.as_bytes(), 4_096).1, Some(Cause::HeadersTooLarge));
    }
}
