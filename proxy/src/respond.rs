//! The only place that writes answers of the proxy's own.

use std::{io::Write as _, time::Duration};

use shared::{
    headers::{self, CORS},
    problem::Problem,
    request_id::RequestId,
    written::Written,
};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::{client::ClientStream, ctx::RequestCtx, direct::told, state::State, wire::write_line};

/// Bodies up to this length are read to their end, so that a refusal costs no new connection.
pub const SMALL_BODY: u64 = 64 << 10;
/// Of longer bodies so much is read and dropped: closing on unread bytes can destroy the answer on its way.
const LINGER_BYTES: u64 = 1 << 20;
/// How long.
pub const LINGER: Duration = Duration::from_secs(1);
const NO_CONTENT: u16 = 204;

/// The answer that refuses a request, counted.
#[must_use]
pub fn refusal(ctx: &mut RequestCtx, state: &State, problem: &Problem) -> Written {
    ctx.refusal = Some(problem.code());
    state.metrics.refused(problem.code());
    self::problem(problem, ctx.request_id, state)
}

/// Answers a client whose request could not be read, and ends the connection.
pub async fn refuse_unread(stream: &mut ClientStream, state: &State, problem: &Problem) {
    let request_id = random_id();
    state.metrics.refused(problem.code());
    state.access_log.unread(request_id, problem);
    let text = encode(&self::problem(problem, request_id, state), request_id, true, |out| {
        if state.direct.is_some() {
            told::unread(out);
        }
    });
    if stream.send(&text).await.is_ok() {
        part(stream).await;
    }
}

/// Ends a connection over which something may still come: it is taken for a while, so that the client gets to read its
/// answer. Closing on unread bytes can destroy it on its way.
pub async fn part(stream: &mut ClientStream) {
    let take = async {
        if AsyncWriteExt::shutdown(stream).await.is_ok() {
            // Whatever it comes to, the connection ends.
            let _taken = tokio::io::copy(&mut stream.take(LINGER_BYTES), &mut tokio::io::sink()).await;
        }
    };
    let _over = tokio::time::timeout(LINGER, take).await;
}

/// A request's name where no grant names it. It has to be unlikely to repeat, not hard to guess.
#[must_use]
pub fn random_id() -> RequestId {
    RequestId(fastrand::u128(..).to_be_bytes())
}

fn reason(status: u16) -> &'static str {
    http::StatusCode::from_u16(status).ok().and_then(|status| status.canonical_reason()).unwrap_or("")
}

/// A problem, in place of the tool's answer.
fn problem(problem: &Problem, request_id: RequestId, state: &State) -> Written {
    let mark = state.direct.is_none().then(|| (headers::REFUSAL, problem.code().as_str()));
    problem.render(&request_id).with_headers(mark)
}

/// As HTTP/1.1 has it; `close` says that it is the connection's last, and `more` writes lines of its own to the head.
#[must_use]
pub fn encode(
    answer: &Written,
    request_id: RequestId,
    close: bool,
    more: impl FnOnce(&mut Vec<u8>),
) -> Vec<u8> {
    let mut out = Vec::with_capacity(1_024 + answer.body.len());
    let mut number = itoa::Buffer::new();
    for part in ["HTTP/1.1 ", number.format(answer.status), " ", reason(answer.status), "\r\n"] {
        out.extend_from_slice(part.as_bytes());
    }
    for (name, value) in answer.headers.iter().map(|(name, value)| (*name, &**value)).chain(CORS) {
        write_line(&mut out, name, value.as_bytes());
    }
    if answer.status != NO_CONTENT {
        write_line(&mut out, "content-length", number.format(answer.body.len()).as_bytes());
    }
    // Writing to a vector cannot fail.
    let _written = write!(out, "{}: {request_id}\r\n", headers::REQUEST_ID);
    more(&mut out);
    out.extend_from_slice(if close { b"connection: close\r\n\r\n" } else { b"\r\n" });
    out.extend_from_slice(answer.body.as_bytes());
    out
}
