#![no_main]

#[path = "../../proxy/transport/src/request_head.rs"]
#[allow(dead_code, unreachable_pub, reason = "the transport has more uses for it")]
mod request_head;

use httparse::Status::Complete;
use libfuzzer_sys::fuzz_target;
use request_head::RawHead;
use shared::{request::Head, route::Target};

fuzz_target!(|raw: &[u8]| check(raw));

/// Oracle: httparse. Whoever accepts a head sees the same method, target, version and lines. What
/// httparse accepts and we refuse is ambiguous: a bare line feed, a Host that is not there once, or a
/// transfer coding. Of an accepted head, the decisions are those of its lines.
fn check(raw: &[u8]) {
    let mut lines = [httparse::EMPTY_HEADER; 1_024];
    let mut other = httparse::Request::new(&mut lines);
    let complete = other.parse(raw) == Ok(Complete(raw.len()));
    let Ok(head) = RawHead::parse(raw) else {
        assert!(!complete || is_ambiguous(raw, &other), "refused: {:?}", raw.escape_ascii().to_string());
        return;
    };
    // The router refuses these, and httparse does before it.
    let is_token = |b: u8| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b);
    let is_target = Target::parse(head.target).is_ok() || head.target.bytes().all(|b| b > b' ');
    if head.method.is_empty() || !head.method.bytes().all(is_token) || head.target.is_empty() || !is_target {
        return;
    }
    assert!(complete, "accepted by us only: {:?}", raw.escape_ascii().to_string());
    assert_eq!((Some(head.method), Some(head.target)), (other.method, other.path));
    assert_eq!(other.version, Some(u8::from(!head.is_http10)));
    let theirs = other.headers.iter().map(|line| (line.name, line.value.trim_ascii()));
    assert!(head.lines().eq(theirs), "{:?}", raw.escape_ascii().to_string());
    check_decisions(&head);
}

fn is_ambiguous(raw: &[u8], head: &httparse::Request<'_, '_>) -> bool {
    let count = |name: &str| head.headers.iter().filter(|line| line.name.eq_ignore_ascii_case(name)).count();
    let bare = raw.windows(2).any(|pair| pair[1] == b'\n' && pair[0] != b'\r');
    let hosts = if head.version == Some(0) { count("host") > 1 } else { count("host") != 1 };
    bare || hosts || raw.starts_with(b"\r") || raw.starts_with(b"\n") || count("transfer-encoding") > 0
}

/// A length is the number that each Content-Length has, a chunked body has none, and no two keys or
/// names with an underscore pass.
fn check_decisions(head: &RawHead<'_>) {
    let Ok(read) = Head::read(head.lines()) else { return };
    for value in head.all("content-length") {
        let number = str::from_utf8(value).expect("digits").parse().unwrap_or(u64::MAX);
        assert_eq!(read.content_length, Some(number));
    }
    assert_eq!(read.content_length.is_some(), head.all("content-length").next().is_some());
    assert_eq!(read.chunked, head.all("transfer-encoding").next().is_some());
    assert!(!(read.chunked && read.content_length.is_some()));
    assert!(head.all("x-api-key").count() <= 1);
    assert!(head.lines().all(|(name, _)| !name.contains('_')));
}
