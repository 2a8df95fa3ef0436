//! The heads of a relayed call: what the tool is sent, what it answers, and what of that the client gets.

use std::io::Write as _;

use pingora_core::protocols::http::date::get_cached_date;
use shared::{
    headers::{HSTS, KEY_ID, Nominated, PRIVATE, REQUEST_ID, TIER, reaches_client, reaches_tool, tokens},
    request::MAX_HEADER_BYTES,
    route::CallMethod,
};

use super::framing::{Chunks, Framing};
use crate::{
    ctx::{Call, RequestCtx},
    direct::response_headers,
    phases::fail::Cause,
    respond::write_proof,
    wire::WireHead,
};

/// Most header lines of a tool's answer.
const MAX_LINES: usize = 256;
/// Longest status line.
const MAX_STATUS_LINE: usize = 1 << 10;

/// The beginning of a request to a tool: everything but the server and the body. Nothing that the client nominated in
/// `Connection` is passed on, and nothing of ours can be nominated: it is written, not found.
pub(super) fn begin_request(wire: &WireHead<'_>, ctx: &RequestCtx, body: Framing) -> Vec<u8> {
    let mut out = Vec::with_capacity(512);
    if let Some(call) = &ctx.call {
        write_request(&mut out, wire, call, ctx, body);
    }
    out
}

/// The same with the server that it goes to, whole.
pub(super) fn address_request(head: &[u8], host: &str) -> Vec<u8> {
    let parts = [head, b"host: ", host.as_bytes(), b"\r\n\r\n"];
    let mut out = Vec::with_capacity(parts.iter().map(|part| part.len()).sum());
    parts.iter().for_each(|part| out.extend_from_slice(part));
    out
}

fn write_request(out: &mut Vec<u8>, wire: &WireHead<'_>, call: &Call, ctx: &RequestCtx, body: Framing) {
    let prefix = &call.pool.config.settings.path;
    let query = wire.target.split_once('?').map(|(_, query)| query);
    out.extend_from_slice(call.method.method().as_str().as_bytes());
    for part in [" ", prefix, "/", &call.action] {
        out.extend_from_slice(part.as_bytes());
    }
    if let Some(query) = query {
        out.push(b'?');
        out.extend_from_slice(query.as_bytes());
    }
    out.extend_from_slice(b" HTTP/1.1");
    let nominated = Nominated::of(wire.all("connection"));
    for (name, value) in wire.lines() {
        if reaches_tool(name) && !is_framing(name) && !nominated.holds(name) {
            write_line(out, name.as_bytes(), value);
        }
    }
    // Writing to a vector cannot fail.
    let _written = write!(
        out,
        "\r\n{REQUEST_ID}: {}\r\n{KEY_ID}: {}\r\n{TIER}: {}\r\n",
        ctx.request_id,
        call.key_id,
        call.tier.as_str()
    );
    let _written = match body {
        Framing::Length(0)
            if call.method == CallMethod::Get
                && wire.only("content-length").is_ok_and(|value| value.is_none()) =>
        {
            Ok(())
        }
        Framing::Length(length) => write!(out, "content-length: {length}\r\n"),
        Framing::Chunked(_) | Framing::UntilClose => write!(out, "transfer-encoding: chunked\r\n"),
    };
}

/// What the head of a tool's answer says.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) status: u16,
    pub(super) body: Framing,
    /// The length that is stated, where one may be: of a 304 it is that of what is not sent.
    stated: Option<u64>,
    /// Whether the connection can serve another call once the body is over.
    pub(super) lasts: bool,
    /// The bytes of the head.
    pub(super) length: usize,
}

/// How the client is told where the body of its answer ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Told {
    /// As the tool said: in this length, or because there is no body.
    AsSaid(Option<u64>),
    /// In chunks.
    Chunks,
    /// By the end of the connection.
    Close,
}

/// Reads the head of an answer and writes what the client gets of it; `None` while it is not complete. Of an answer that
/// is only informational nothing is written.
pub(super) fn read_answer(
    bytes: &[u8],
    out: &mut Vec<u8>,
    write: impl FnOnce(&mut Vec<u8>, &Answer, &httparse::Response<'_, '_>, &Nominated<'_>),
) -> Result<Option<Answer>, Cause> {
    let mut lines = [const { std::mem::MaybeUninit::uninit() }; MAX_LINES];
    let mut response = httparse::Response::new(&mut []);
    let parsed = httparse::ParserConfig::default().parse_response_with_uninit_headers(
        &mut response,
        bytes,
        &mut lines,
    );
    let length = match parsed {
        Ok(httparse::Status::Complete(length)) => length,
        Ok(httparse::Status::Partial) if bytes.len() > MAX_HEADER_BYTES + MAX_STATUS_LINE => {
            return Err(Cause::HeadersTooLarge);
        }
        Ok(httparse::Status::Partial) => return Ok(None),
        Err(_) => return Err(Cause::Malformed),
    };
    let size: usize = response.headers.iter().map(|line| line.name.len() + line.value.len() + 4).sum();
    if size > MAX_HEADER_BYTES {
        return Err(Cause::HeadersTooLarge);
    }
    let answer = Answer::of(&response, length)?;
    if answer.status >= 200 {
        let connection = response.headers.iter().filter(|line| line.name.eq_ignore_ascii_case("connection"));
        let nominated = Nominated::of(connection.map(|line| line.value));
        write(out, &answer, &response, &nominated);
    }
    Ok(Some(answer))
}

impl Answer {
    fn of(response: &httparse::Response<'_, '_>, length: usize) -> Result<Self, Cause> {
        let status = response.code.ok_or(Cause::Malformed)?;
        // Nobody asked for another protocol.
        if !(100..600).contains(&status) || status == 101 {
            return Err(Cause::Malformed);
        }
        let (mut stated, mut chunked, mut lasts) = (None, false, response.version == Some(1));
        for line in response.headers.iter() {
            if line.name.eq_ignore_ascii_case("content-length") {
                let length = std::str::from_utf8(line.value)
                    .ok()
                    .filter(|text| text.bytes().all(|b| b.is_ascii_digit()));
                let length: u64 = length.and_then(|text| text.parse().ok()).ok_or(Cause::Malformed)?;
                if stated.is_some_and(|other| other != length) {
                    return Err(Cause::Malformed);
                }
                stated = Some(length);
            } else if line.name.eq_ignore_ascii_case("transfer-encoding") {
                if chunked || !line.value.eq_ignore_ascii_case(b"chunked") {
                    return Err(Cause::Malformed);
                }
                chunked = true;
            } else if line.name.eq_ignore_ascii_case("connection") {
                lasts &= !tokens(line.value).any(|token| token.eq_ignore_ascii_case(b"close"));
            }
        }
        let body = match (status, stated, chunked) {
            (100..200 | 204 | 304, _, _) => Framing::NONE,
            (_, Some(_), true) => return Err(Cause::Malformed),
            (_, None, true) => Framing::Chunked(Chunks::Size),
            (_, Some(length), false) => Framing::Length(length),
            (_, None, false) => Framing::UntilClose,
        };
        let stated = stated.filter(|_| status != 204);
        Ok(Self { status, body, stated, lasts: lasts && body != Framing::UntilClose, length })
    }

    /// How the client is told where the body ends.
    pub(super) const fn told(&self, client_is_old: bool) -> Told {
        match self.body {
            Framing::Length(_) => Told::AsSaid(self.stated),
            Framing::Chunked(_) | Framing::UntilClose if client_is_old => Told::Close,
            Framing::Chunked(_) | Framing::UntilClose => Told::Chunks,
        }
    }
}

/// Writes the head of the client's answer.
pub(super) fn write_answer(
    out: &mut Vec<u8>,
    response: &httparse::Response<'_, '_>,
    nominated: &Nominated<'_>,
    told: Told,
    close: bool,
    ctx: &RequestCtx,
    direct: bool,
) {
    let reason = response.reason.unwrap_or_default();
    // Writing to a vector cannot fail.
    let _written = write!(out, "HTTP/1.1 {} {reason}", response.code.unwrap_or_default());
    let passed = ctx.call.as_ref().map(|call| call.pool.config.settings.passed_headers).unwrap_or_default();
    let (mut dated, mut cached, mut hsts) = (false, false, false);
    for line in response.headers.iter() {
        let name = line.name;
        if !reaches_client(name) || !passed.allows(name) || is_framing(name) || nominated.holds(name) {
            continue;
        }
        if direct && response_headers::is_replaced(name) {
            continue;
        }
        dated |= name.eq_ignore_ascii_case("date");
        cached |= name.eq_ignore_ascii_case(PRIVATE.0);
        hsts |= name.eq_ignore_ascii_case(HSTS.0);
        write_line(out, name.as_bytes(), line.value);
    }
    let _written = write!(out, "\r\n{REQUEST_ID}: {}\r\n", ctx.request_id);
    write_proof(out, ctx.proof);
    if direct {
        response_headers::write_relayed(out, ctx.response_info(), hsts);
    }
    if !cached {
        crate::wire::write_line(out, PRIVATE.0, PRIVATE.1.as_bytes());
    }
    if !dated {
        out.extend_from_slice(b"date: ");
        out.extend_from_slice(get_cached_date().as_bytes());
        out.extend_from_slice(b"\r\n");
    }
    let _written = match told {
        Told::AsSaid(Some(length)) => write!(out, "content-length: {length}\r\n"),
        Told::Chunks => write!(out, "transfer-encoding: chunked\r\n"),
        Told::AsSaid(None) | Told::Close => Ok(()),
    };
    if close {
        out.extend_from_slice(b"connection: close\r\n");
    }
    out.extend_from_slice(b"\r\n");
}

/// Begins a new line: the one before has no end yet.
fn write_line(out: &mut Vec<u8>, name: &[u8], value: &[u8]) {
    out.extend_from_slice(b"\r\n");
    out.extend_from_slice(name);
    out.extend_from_slice(b": ");
    out.extend_from_slice(value);
}

fn is_framing(name: &str) -> bool {
    name.eq_ignore_ascii_case("content-length") || name.eq_ignore_ascii_case("transfer-encoding")
}
