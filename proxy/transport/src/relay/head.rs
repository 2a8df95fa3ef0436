//! The heads of a forwarded call: the request to the upstream, its response, and the response to
//! the client.

use pingora::protocols::http::date::get_cached_date;
use shared::headers::{Nominated, reaches_client, reaches_tool, tokens};
use shared::request::MAX_HEADER_BYTES;

use crate::framing::{ChunkState, Framing, FramingError, Part};
use crate::hooks::{Cause, Headers, Phases, UpstreamRequest, UpstreamResponse};
use crate::outgoing_head::OutgoingHead;
use crate::record::{DialTimes, Record};
use crate::request_head::RawHead;

/// Maximum number of header lines of a response.
pub(crate) const MAX_LINES: usize = 256;
/// The usual length of what an attempt adds to a head, without the name of its host.
const ATTEMPT_HEADERS: usize = 96;
/// Maximum length of a status line.
const MAX_STATUS_LINE: usize = 1 << 10;

/// Writes the head of a request to an upstream, without `Host`. Headers that the client lists in
/// `Connection` are not forwarded. Headers that the product writes cannot be removed in this way.
pub(super) fn begin_request<P: Phases>(
    phases: &P,
    call: &P::Call,
    record: &Record<P::Log>,
    raw: &RawHead<'_>,
    body: Framing,
) -> Vec<u8> {
    let mut out = Vec::with_capacity(512);
    phases.upstream_request_filter(call, record, &mut RequestWriter { out: &mut out, raw });
    match body_header(raw, body) {
        BodyHeader::None => {}
        BodyHeader::ContentLength(length) => {
            out.write_header("content-length", itoa::Buffer::new().format(length).as_bytes());
        }
        BodyHeader::Chunked => out.write_header("transfer-encoding", b"chunked"),
    }
    out
}

/// The header that delimits a request's body towards the upstream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BodyHeader {
    /// None: there is no body, and none is expected.
    None,
    /// The length of the body.
    ContentLength(u64),
    /// Chunked transfer encoding.
    Chunked,
}

/// Returns the header that delimits a request's body.
pub(crate) fn body_header(raw: &RawHead<'_>, body: Framing) -> BodyHeader {
    match body {
        // A POST without a body should state its length of 0, and a GET should not (RFC 9110,
        // section 8.6).
        Framing::Length(0)
            if raw.method == "GET" && raw.only("content-length").is_ok_and(|value| value.is_none()) =>
        {
            BodyHeader::None
        }
        Framing::Length(length) => BodyHeader::ContentLength(length),
        Framing::Chunked(_) | Framing::UntilClose | Framing::Stream { .. } => BodyHeader::Chunked,
    }
}

/// Returns the client's headers that are forwarded. Those that it lists in `Connection` are not.
pub(crate) fn forwarded<'r, 'a>(raw: &'r RawHead<'a>) -> impl Iterator<Item = (&'a str, &'a [u8])> + 'r {
    let nominated = Nominated::of(raw.all("connection"));
    raw.lines().filter(move |(name, _)| reaches_tool(name) && !is_framing(name) && !nominated.holds(name))
}

/// Returns the complete head, with `Host` and the headers of this attempt.
pub(super) fn address_request<P: Phases>(
    phases: &P,
    call: &mut P::Call,
    head: &[u8],
    host: &str,
    dialed: Option<DialTimes>,
) -> Vec<u8> {
    let mut out = Vec::with_capacity(head.len() + host.len() + ATTEMPT_HEADERS);
    out.extend_from_slice(head);
    out.write_header("host", host.as_bytes());
    phases.connected_to_upstream(call, dialed, &mut out);
    out.extend_from_slice(b"\r\n");
    out
}

struct RequestWriter<'r, 'a> {
    out: &'r mut Vec<u8>,
    raw: &'r RawHead<'a>,
}

impl Headers for RequestWriter<'_, '_> {
    fn write_header(&mut self, name: &str, value: &[u8]) {
        self.out.write_header(name, value);
    }

    fn write_header_fmt(&mut self, name: &str, value: impl std::fmt::Display) {
        self.out.write_header_fmt(name, value);
    }
}

impl UpstreamRequest for RequestWriter<'_, '_> {
    fn begin(&mut self, path: &[&str], keep: impl Fn(&str) -> bool) {
        let Self { out, raw } = self;
        out.extend_from_slice(raw.method.as_bytes());
        out.push(b' ');
        for part in path {
            out.extend_from_slice(part.as_bytes());
        }
        if let Some((_, query)) = raw.target.split_once('?') {
            out.push(b'?');
            out.extend_from_slice(query.as_bytes());
        }
        out.extend_from_slice(b" HTTP/1.1\r\n");
        for (name, value) in forwarded(raw).filter(|(name, _)| keep(name)) {
            out.write_header(name, value);
        }
    }
}

/// The parsed head of a response.
#[derive(Debug)]
pub(crate) struct ResponseHead {
    pub(crate) status: u16,
    pub(crate) body: Framing,
    /// The content length. That of a 304 is the length of a body that is not sent.
    stated: Option<u64>,
    /// Whether the connection can serve another call after the body.
    pub(crate) keep_alive: bool,
    /// The length of the head in bytes.
    pub(crate) length: usize,
}

/// The delimiter of a response's body towards the client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BodyDelimiter {
    /// The same as the upstream's: this length, or no body.
    AsStated(Option<u64>),
    /// Chunks.
    Chunks,
    /// The end of the connection.
    Close,
    /// The end of the stream.
    EndOfStream,
}

/// The framing of a response towards the client.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ResponseFraming {
    pub(crate) delimiter: BodyDelimiter,
    /// Whether the connection is closed after the response.
    pub(crate) close: bool,
}

/// Parses the head of a response. Returns `None` if more bytes are needed. `write` writes the head
/// for the client. It is not called for an informational response.
pub(crate) fn read_response(
    bytes: &[u8],
    write: impl FnOnce(&ResponseHead, &httparse::Response<'_, '_>),
) -> Result<Option<ResponseHead>, Cause> {
    let mut lines = [const { std::mem::MaybeUninit::uninit() }; MAX_LINES];
    let mut response = httparse::Response::new(&mut []);
    let parsed = httparse::ParserConfig::default().parse_response_with_uninit_headers(
        &mut response,
        bytes,
        &mut lines,
    );
    let length = match parsed {
        Ok(httparse::Status::Complete(length)) => length,
        // A head without an end would be buffered without a limit.
        Ok(httparse::Status::Partial) if bytes.len() > MAX_HEADER_BYTES + MAX_STATUS_LINE => {
            return Err(Cause::HeadersTooLarge);
        }
        Ok(httparse::Status::Partial) => return Ok(None),
        Err(_) => return Err(Cause::Malformed),
    };
    let status = response.code.ok_or(Cause::Malformed)?;
    let lines = || response.headers.iter().map(|line| (line.name, line.value));
    let head = ResponseHead::read(status, response.version == Some(1), length, lines)?;
    // A body whose first bytes are malformed refuses the response while that is possible.
    let first = bytes.get(length..).unwrap_or_default();
    take(&mut head.body.clone(), first).map_err(|_| Cause::Malformed)?;
    if head.status >= 200 {
        write(&head, &response);
    }
    Ok(Some(head))
}

impl ResponseHead {
    /// Parses the header lines of a response whose head has `length` bytes. `is_http11` means that
    /// its connection is kept alive, unless a header states otherwise.
    pub(crate) fn read<'r, I: Iterator<Item = (&'r str, &'r [u8])>>(
        status: u16,
        is_http11: bool,
        length: usize,
        lines: impl Fn() -> I,
    ) -> Result<Self, Cause> {
        if lines().map(|(name, value)| name.len() + value.len() + 4).sum::<usize>() > MAX_HEADER_BYTES {
            return Err(Cause::HeadersTooLarge);
        }
        // A 101 is invalid, because upgrades are not forwarded.
        if !(100..600).contains(&status) || status == 101 {
            return Err(Cause::Malformed);
        }
        let (mut stated, mut chunked, mut keep_alive) = (None, false, is_http11);
        for (name, value) in lines() {
            if name.eq_ignore_ascii_case("content-length") {
                let length =
                    std::str::from_utf8(value).ok().filter(|text| text.bytes().all(|b| b.is_ascii_digit()));
                let length: u64 = length.and_then(|text| text.parse().ok()).ok_or(Cause::Malformed)?;
                // The same length twice is one length, two lengths are none (RFC 9110, section
                // 8.6).
                if stated.is_some_and(|other| other != length) {
                    return Err(Cause::Malformed);
                }
                stated = Some(length);
            } else if name.eq_ignore_ascii_case("transfer-encoding") {
                // With any other coding the end of the body is unknown, and chunks are applied once
                // (RFC 9112, section 6.1).
                if chunked || !value.eq_ignore_ascii_case(b"chunked") {
                    return Err(Cause::Malformed);
                }
                chunked = true;
            } else if name.eq_ignore_ascii_case("connection") {
                keep_alive &= !tokens(value).any(|token| token.eq_ignore_ascii_case(b"close"));
            }
        }
        let body = match (status, stated, chunked) {
            // These have no body whatever they state (RFC 9112, section 6.3). Read as one, it would
            // swallow the next response.
            (100..200 | 204 | 304, _, _) => Framing::NONE,
            // Both at once is how responses are split (RFC 9112, section 6.3): another parser may
            // believe the length.
            (_, Some(_), true) => return Err(Cause::Malformed),
            (_, None, true) => Framing::Chunked(ChunkState::Size),
            (_, Some(length), false) => Framing::Length(length),
            (_, None, false) => Framing::UntilClose,
        };
        // A server must not send a length with a 204 (RFC 9110, section 8.6).
        let stated = stated.filter(|_| status != 204);
        Ok(Self { status, body, stated, keep_alive: keep_alive && body != Framing::UntilClose, length })
    }

    /// Takes the next bytes of the body. A length that only unsigned numbers can have is malformed,
    /// because parsers read it differently.
    pub(crate) fn take_body(&mut self, bytes: &[u8]) -> Result<Part, FramingError> {
        take(&mut self.body, bytes)
    }

    /// Returns the length of the body, if it is known before its end.
    pub(crate) const fn body_length(&self) -> Option<u64> {
        match self.body {
            Framing::Length(length) => Some(length),
            Framing::Chunked(_) | Framing::UntilClose | Framing::Stream { .. } => None,
        }
    }

    /// Returns the delimiter of the body towards the client.
    pub(crate) const fn delimiter(&self, is_http10: bool, is_http2: bool) -> BodyDelimiter {
        match self.body {
            Framing::Length(_) => BodyDelimiter::AsStated(self.stated),
            _ if is_http2 => BodyDelimiter::EndOfStream,
            // HTTP/1.0 has no chunks.
            _ if is_http10 => BodyDelimiter::Close,
            Framing::Chunked(_) | Framing::UntilClose | Framing::Stream { .. } => BodyDelimiter::Chunks,
        }
    }
}

/// Takes the next bytes of a response's body.
fn take(body: &mut Framing, bytes: &[u8]) -> Result<Part, FramingError> {
    let part = body.take(bytes)?;
    if body.announced() > i64::MAX.unsigned_abs() { Err(FramingError) } else { Ok(part) }
}

/// Writes the head of a response with these header lines to the client. `out` has its status.
pub(crate) fn write_response<'r, I: Iterator<Item = (&'r str, &'r [u8])>>(
    mut out: OutgoingHead,
    lines: impl Fn() -> I,
    framing: ResponseFraming,
    filter: impl FnOnce(&mut ResponseWriter<'_, I>),
) -> OutgoingHead {
    let connection = lines().filter(|(name, _)| name.eq_ignore_ascii_case("connection"));
    let nominated = Nominated::of(connection.map(|(_, value)| value));
    let mut head =
        ResponseWriter { out: &mut out, lines: Some(lines()), nominated: &nominated, has_date: false };
    filter(&mut head);
    // Whoever forwards a response without a date adds one (RFC 9110, section 6.6.1).
    if !head.has_date {
        head.write_header("date", get_cached_date().as_bytes());
    }
    match framing.delimiter {
        BodyDelimiter::AsStated(Some(length)) => {
            out.write_header("content-length", itoa::Buffer::new().format(length).as_bytes());
        }
        BodyDelimiter::Chunks => out.write_header("transfer-encoding", b"chunked"),
        BodyDelimiter::AsStated(None) | BodyDelimiter::Close | BodyDelimiter::EndOfStream => {}
    }
    out.end(framing.close);
    out
}

/// The writer of a response's head.
pub(crate) struct ResponseWriter<'r, I> {
    out: &'r mut OutgoingHead,
    /// The upstream's header lines, until they are written.
    lines: Option<I>,
    nominated: &'r Nominated<'r>,
    /// Whether the upstream's date was written.
    has_date: bool,
}

impl<I> Headers for ResponseWriter<'_, I> {
    fn write_header(&mut self, name: &str, value: &[u8]) {
        self.out.write_header(name, value);
    }

    fn write_header_fmt(&mut self, name: &str, value: impl std::fmt::Display) {
        self.out.write_header_fmt(name, value);
    }
}

impl<'r, I: Iterator<Item = (&'r str, &'r [u8])>> UpstreamResponse for ResponseWriter<'_, I> {
    fn retain(&mut self, mut keep: impl FnMut(&str, &[u8]) -> bool) {
        for (name, value) in self.lines.take().into_iter().flatten() {
            if !reaches_client(name) || is_framing(name) || self.nominated.holds(name) || !keep(name, value) {
                continue;
            }
            self.has_date |= name.eq_ignore_ascii_case("date");
            self.out.write_header(name, value);
        }
    }
}

/// Returns true for headers that delimit a body.
fn is_framing(name: &str) -> bool {
    name.eq_ignore_ascii_case("content-length") || name.eq_ignore_ascii_case("transfer-encoding")
}
