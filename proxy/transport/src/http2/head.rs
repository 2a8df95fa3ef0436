//! Parses HTTP/1.1 heads that are sent as HTTP/2.

use http::{HeaderMap, HeaderName, HeaderValue, header};

use super::sending::Framing;

/// Maximum length of a head. Requests and responses have at most 64 KiB of headers.
pub(super) const MAX_HEAD: usize = 128 << 10;

/// The end of a head.
const END: &[u8] = b"\r\n\r\n";

/// Appends bytes up to the end of the head. Returns their number.
pub(super) fn take(head: &mut Vec<u8>, bytes: &[u8]) -> usize {
    let before = head.len();
    head.extend_from_slice(bytes);
    // The end may be split over two writes.
    let from = before.saturating_sub(END.len() - 1);
    let end = head.get(from..).and_then(|rest| memchr::memmem::find(rest, END));
    if let Some(end) = end {
        head.truncate(from + end + END.len());
    }
    head.len() - before
}

/// Returns true if the head is complete.
pub(super) fn is_complete(head: &[u8]) -> bool {
    head.ends_with(END)
}

/// Returns the first line of a head, and its header lines.
pub(super) fn lines(head: &[u8]) -> Option<(&[u8], impl Iterator<Item = &[u8]>)> {
    let line = |line| <[u8]>::strip_suffix(line, b"\r").unwrap_or(line);
    let mut lines = head.strip_suffix(END)?.split(|byte| *byte == b'\n').map(line);
    Some((lines.next()?, lines))
}

/// Parses header lines. Returns them without hop-by-hop headers, and the framing of the body.
pub(super) fn read<'a>(lines: impl Iterator<Item = &'a [u8]>) -> Option<(HeaderMap, Framing)> {
    let (mut headers, mut length, mut chunks) = (HeaderMap::new(), None, false);
    for line in lines {
        // A line without a colon is no header. Sent on in part, it would be another response.
        let colon = memchr::memchr(b':', line)?;
        let (name, value) = line.split_at_checked(colon)?;
        let (name, value) =
            (HeaderName::from_bytes(name).ok()?, HeaderValue::from_bytes(value.get(1..)?.trim_ascii()).ok()?);
        if name == header::TRANSFER_ENCODING {
            chunks = true;
        }
        if name == header::CONTENT_LENGTH {
            length = value.to_str().ok()?.parse().ok();
        }
        if !is_hop_by_hop(&name) {
            headers.append(name, value);
        }
    }
    // Transfer-Encoding overrides Content-Length (RFC 9112, section 6.3).
    let framing = match (chunks, length) {
        (true, _) => Framing::Chunks,
        (false, Some(length)) => Framing::Length(length),
        (false, None) => Framing::Rest,
    };
    Some((headers, framing))
}

/// Returns true for headers that HTTP/2 forbids (RFC 9113, section 8.2.2).
fn is_hop_by_hop(name: &HeaderName) -> bool {
    // A client must treat a response with one of these as malformed.
    matches!(*name, header::CONNECTION | header::TRANSFER_ENCODING | header::UPGRADE | header::TE)
        || matches!(name.as_str(), "keep-alive" | "proxy-connection")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn head_in_pieces_is_taken_up_to_its_end() {
        let whole = b"HTTP/1.1 200 OK\r\nA: b\r\n\r\nbody";
        for size in 1..whole.len() {
            let (mut head, mut taken) = (Vec::new(), 0);
            for piece in whole.chunks(size) {
                if !is_complete(&head) {
                    taken += take(&mut head, piece);
                }
            }
            assert_eq!((head.as_slice(), taken), (&whole[..whole.len() - 4], whole.len() - 4), "{size}");
        }
    }

    #[test]
    fn hop_by_hop_headers_are_dropped() {
        let head =
            b"HTTP/1.1 200 OK\r\nConnection: close\r\nX-A: b\r\nTE: trailers\r\nx-a: c\r\nTransfer-Encoding: chunked\r\n\r\n";
        let (first, lines) = lines(head).unwrap();
        assert_eq!(first, b"HTTP/1.1 200 OK");
        let (headers, framing) = read(lines).unwrap();
        assert_eq!(framing, Framing::Chunks);
        assert_eq!(headers.len(), 2);
        assert_eq!(headers.get_all("x-a").iter().collect::<Vec<_>>(), ["b", "c"]);
    }
}
