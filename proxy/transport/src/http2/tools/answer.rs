//! A tool's answer in HTTP/2, in the words of HTTP/1.1.

use std::io::Write as _;

use h2::RecvStream;
use http::{Response, StatusCode, header, response::Parts};

use crate::{
    headers::Headers as _,
    http2::receiving::{Framing, Receiving},
};

/// The answer as it is read.
pub(super) fn receiving(answer: Response<RecvStream>) -> Receiving {
    let (parts, body) = answer.into_parts();
    // Two lengths that differ are refused with the head.
    let length = parts.headers.get(header::CONTENT_LENGTH);
    let framing = match length {
        _ if body.is_end_stream() => Framing::Over,
        // Its end is still to come, and nothing else.
        _ if is_bare(parts.status) => Framing::Length(0),
        Some(length) => {
            let length = length.to_str().ok().and_then(|length| length.parse().ok());
            Framing::Length(length.unwrap_or(u64::MAX))
        }
        None => Framing::Chunks,
    };
    Receiving::new(write(&parts, framing), body, framing)
}

/// Whether answers of this status have no body, whatever they say of its length.
const fn is_bare(status: StatusCode) -> bool {
    matches!(status, StatusCode::NO_CONTENT | StatusCode::NOT_MODIFIED)
}

/// The head with its empty line. What is read here is the last of its connection, as far as the reader is concerned.
fn write(parts: &Parts, framing: Framing) -> Vec<u8> {
    let mut text = Vec::with_capacity(512);
    let reason = parts.status.canonical_reason().unwrap_or_default();
    // Writing to a vector cannot fail.
    let _written = write!(text, "HTTP/1.1 {} {reason}\r\n", parts.status.as_str());
    for (name, value) in &parts.headers {
        text.write_header(name.as_str(), value.as_bytes());
    }
    match framing {
        Framing::Chunks => text.write_header("transfer-encoding", b"chunked"),
        Framing::Over if !is_bare(parts.status) && !parts.headers.contains_key(header::CONTENT_LENGTH) => {
            text.write_header("content-length", b"0");
        }
        Framing::Length(_) | Framing::Over => {}
    }
    text.write_header("connection", b"close");
    text.extend_from_slice(b"\r\n");
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(response: http::response::Builder, framing: Framing) -> String {
        let (parts, ()) = response.body(()).unwrap().into_parts();
        String::from_utf8(write(&parts, framing)).unwrap()
    }

    #[test]
    fn the_end_of_a_body_is_told_as_http1_tells_it() {
        let answer = || Response::builder().header("x-a", "b");
        let text = "HTTP/1.1 200 OK\r\nx-a: b\r\n";
        let close = "connection: close\r\n\r\n";
        assert_eq!(
            written(answer(), Framing::Chunks),
            format!("{text}transfer-encoding: chunked\r\n{close}")
        );
        assert_eq!(written(answer(), Framing::Over), format!("{text}content-length: 0\r\n{close}"));
        let stated = answer().header("content-length", "3");
        assert_eq!(written(stated, Framing::Length(3)), format!("{text}content-length: 3\r\n{close}"));
        let bare = Response::builder().status(304);
        assert_eq!(written(bare, Framing::Over), format!("HTTP/1.1 304 Not Modified\r\n{close}"));
        assert_eq!(
            written(Response::builder().status(599), Framing::Over),
            format!("HTTP/1.1 599 \r\ncontent-length: 0\r\n{close}")
        );
    }
}
