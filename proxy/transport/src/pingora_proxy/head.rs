//! The heads of a forwarded call, as Pingora has them.

use std::fmt::Write as _;

use bytes::{Bytes, BytesMut};
use http::header::TRANSFER_ENCODING;
use http::uri::Scheme;
use http::{HeaderValue, Method, Uri, Version};
use pingora::http::{RequestHeader, ResponseHeader};
use pingora::{Error, ErrorType, OrErr as _, Result};

use crate::framing::Framing;
use crate::hooks::{Headers, Phases, UpstreamRequest};
use crate::received_head::ReceivedHead;
use crate::record::Record;
use crate::relay::head::{BodyHeader, body_header, forwarded};
use crate::request_head::RawHead;

/// Length of the headers that the product usually writes.
const COPIES: usize = 256;

/// The head of a request to an upstream, but for its `Host`. The first attempt takes it, because
/// Pingora would copy it otherwise, and other attempts write it again.
pub(super) struct RequestHead {
    header: Option<RequestHeader>,
    /// The head that the client has sent.
    received: ReceivedHead<Bytes>,
    body: Framing,
}

impl RequestHead {
    /// Writes the head. `raw` is what `received` was parsed to.
    pub(super) fn write<P: Phases>(
        phases: &P,
        call: &P::Call,
        record: &Record<P::Log>,
        raw: &RawHead<'_>,
        received: &ReceivedHead<Bytes>,
        body: Framing,
    ) -> Result<Self> {
        let header = write_request(phases, call, record, raw, received, body)?;
        Ok(Self { header: Some(header), received: received.clone(), body })
    }

    /// Returns the method, until an attempt has taken the head.
    pub(super) fn method(&self) -> Option<Method> {
        self.header.as_ref().map(|header| header.method.clone())
    }

    /// Returns the head for an attempt.
    pub(super) fn take<P: Phases>(
        &mut self,
        phases: &P,
        call: &P::Call,
        record: &Record<P::Log>,
    ) -> Result<RequestHeader> {
        if let Some(header) = self.header.take() {
            return Ok(header);
        }
        let raw = self.received.parse().map_err(|_| Error::new(ErrorType::InvalidHTTPHeader))?;
        write_request(phases, call, record, &raw, &self.received, self.body)
    }
}

/// Returns the head of a request to an upstream, but for its `Host`. Nothing that the client
/// nominated in `Connection` is passed on, and nothing that the product writes can be nominated.
/// `raw` is what `received` was parsed to.
fn write_request<P: Phases>(
    phases: &P,
    call: &P::Call,
    record: &Record<P::Log>,
    raw: &RawHead<'_>,
    received: &ReceivedHead<Bytes>,
    body: Framing,
) -> Result<RequestHeader> {
    let method = Method::from_bytes(raw.method.as_bytes()).or_err(ErrorType::InvalidHTTPHeader, "method")?;
    let mut header = RequestHeader::build(method, b"/", Some(16))?;
    // Whatever the client speaks: a proxy sends its own version (RFC 9112, section 2.3).
    header.set_version(Version::HTTP_11);
    let mut writer =
        RequestWriter { header, raw, received, copies: BytesMut::with_capacity(COPIES), fault: None };
    // The framing follows, from here alone: a second length would let a server read one request as
    // two (RFC 9112, section 11.2).
    phases.upstream_request_filter(call, record, &mut writer);
    match body_header(raw, body) {
        BodyHeader::None => {}
        BodyHeader::ContentLength(length) => writer.write_header_fmt("content-length", length),
        // The coding is that of this hop, whatever the client has sent (RFC 9112, section 6.1).
        BodyHeader::Chunked => writer.write_header("transfer-encoding", b"chunked"),
    }
    writer.fault.map_or(Ok(writer.header), Err)
}

/// Writes the server that a request is sent to.
pub(super) fn address_request(
    header: &mut RequestHeader,
    version: Version,
    authority: &str,
    is_tls: bool,
) -> Result<()> {
    if version != Version::HTTP_2 {
        return header.append_header(Bytes::from_static(b"host"), authority).map(drop);
    }
    header.set_version(version);
    // A stream has its own framing (RFC 9113, section 8.2.2).
    header.remove_header(&TRANSFER_ENCODING);
    let scheme = if is_tls { Scheme::HTTPS } else { Scheme::HTTP };
    let mut parts = header.uri.clone().into_parts();
    parts.scheme = Some(scheme);
    parts.authority = Some(authority.parse().or_err(ErrorType::InvalidHTTPHeader, "authority")?);
    header.set_uri(Uri::from_parts(parts).or_err(ErrorType::InvalidHTTPHeader, "target")?);
    Ok(())
}

/// The writer of the headers that one attempt has.
pub(super) struct AttemptHeaders<'a>(pub(super) &'a mut RequestHeader);

impl Headers for AttemptHeaders<'_> {
    fn write_header(&mut self, name: &str, value: &[u8]) {
        // The product writes none that is not valid.
        let _appended = self.0.append_header(name.to_owned(), value);
    }

    fn write_header_fmt(&mut self, name: &str, value: impl std::fmt::Display) {
        self.write_header(name, value.to_string().as_bytes());
    }
}

/// Returns the header lines of a response, in the case that they came in.
pub(super) fn lines(response: &ResponseHeader) -> impl Iterator<Item = (&str, &[u8])> {
    let text = |name| std::str::from_utf8(name).unwrap_or_default();
    let as_sent =
        response.case_header_iter().map(move |(name, value)| (text(name.as_slice()), value.as_bytes()));
    // Over HTTP/2 there is no case.
    let rest = if response.has_case() { 0 } else { usize::MAX };
    let lower = response.headers.iter().map(|(name, value)| (name.as_str(), value.as_bytes()));
    as_sent.chain(lower.take(rest))
}

struct RequestWriter<'r, 'a> {
    header: RequestHeader,
    raw: &'r RawHead<'a>,
    received: &'r ReceivedHead<Bytes>,
    /// Space for names and values that are not in the head.
    copies: BytesMut,
    fault: Option<Box<Error>>,
}

impl RequestWriter<'_, '_> {
    fn append(&mut self, name: Bytes, value: Bytes) {
        let appended = HeaderValue::from_maybe_shared(value)
            .or_err(ErrorType::InvalidHTTPHeader, "value")
            .and_then(|value| self.header.append_header(name, value))
            .map(drop);
        self.note(appended);
    }

    /// Returns a copy of the name. All copies share one allocation.
    fn copy(&mut self, name: &str) -> Bytes {
        self.copies.extend_from_slice(name.as_bytes());
        self.copies.split().freeze()
    }

    fn note(&mut self, result: Result<()>) {
        if let Err(error) = result {
            // The first fault names the cause; the others follow from it.
            self.fault.get_or_insert(error);
        }
    }
}

impl Headers for RequestWriter<'_, '_> {
    fn write_header(&mut self, name: &str, value: &[u8]) {
        let name = self.copy(name);
        self.copies.extend_from_slice(value);
        let value = self.copies.split().freeze();
        self.append(name, value);
    }

    fn write_header_fmt(&mut self, name: &str, value: impl std::fmt::Display) {
        let name = self.copy(name);
        // Writing to a buffer that grows cannot fail.
        let _written = write!(self.copies, "{value}");
        let value = self.copies.split().freeze();
        self.append(name, value);
    }
}

impl UpstreamRequest for RequestWriter<'_, '_> {
    fn begin(&mut self, path: &[&str], keep: impl Fn(&str) -> bool) {
        let mut target = path.concat();
        if let Some((_, query)) = self.raw.target.split_once('?') {
            target.push('?');
            target.push_str(query);
        }
        let set = self.header.set_raw_path(target.as_bytes());
        // Only then, because a tool must get the query as the client has written it.
        let set = set.or_else(|_| self.header.set_raw_path(escape(&target).as_bytes()));
        self.note(set);
        // Slices of a head of HTTP/1.1, without a copy: most headers are passed on as they are.
        for (name, value) in forwarded(self.raw).filter(|(name, _)| keep(name)) {
            self.append(self.received.share(name.as_bytes()), self.received.share(value));
        }
    }
}

/// Escapes what a URI must not contain (RFC 3986, section 2), and what Pingora does not take.
fn escape(target: &str) -> String {
    let mut escaped = String::with_capacity(target.len() + 16);
    for byte in target.bytes() {
        if byte.is_ascii_graphic() && !b"\"<>\\^`{|}".contains(&byte) {
            escaped.push(char::from(byte));
        } else {
            // Writing to a string cannot fail.
            let _written = write!(escaped, "%{byte:02X}");
        }
    }
    escaped
}
