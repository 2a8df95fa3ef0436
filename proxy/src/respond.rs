//! The only place that writes answers of the proxy's own.

use std::{
    io::{self, Write as _},
    time::Duration,
};

use pingora_core::protocols::http::date::get_cached_date;
use shared::{
    headers::{self, CORS},
    problem::Problem,
    proof::Proof,
    request_id::RequestId,
    written::Written,
};
use tokio::{io::AsyncWriteExt, time::sleep};

use crate::{
    client::{Awaited, ClientStream},
    ctx::RequestCtx,
    direct::response_headers,
    drain::Phase,
    metrics::Bound,
    phases::admit,
    state::State,
    wire::write_line,
};

/// Bodies up to this length are read to their end, so that a refusal costs no new connection.
pub const SMALL_BODY: u64 = 64 << 10;
/// Beyond the largest body, so much is read and dropped before the connection is closed.
const LINGER_BYTES: u64 = 1 << 20;
/// How long a brief lingering close takes at most.
pub const LINGER: Duration = Duration::from_secs(1);
/// How long a lingering close takes at most for a client that is still sending its body (nginx: `lingering_time`).
const LINGER_BODY: Duration = Duration::from_secs(30);
/// How long such a client may pause (nginx: `lingering_timeout`).
const LINGER_PAUSE: Duration = Duration::from_secs(5);
const NO_CONTENT: u16 = 204;
const NOT_MODIFIED: u16 = 304;

/// How much is read and dropped after the last response of a connection (lingering close). A client that sends its
/// whole body before it reads gets a reset instead of the response if the connection is closed on unread bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Linger {
    /// What is on its way: for clients that are owed no more than an attempt.
    Brief,
    /// A body of at most this many bytes.
    Body(u64),
}

/// The answer that refuses a request, counted.
#[must_use]
pub fn refusal(ctx: &mut RequestCtx, state: &State, problem: &Problem) -> Written {
    ctx.refusal = Some(problem.code());
    state.metrics.refused(problem.code());
    problem.render(&ctx.request_id)
}

/// Answers a client whose request could not be read. Returns true if the answer was sent: then [`linger_and_close`] ends
/// the connection.
pub async fn refuse_unread(stream: &mut ClientStream, state: &State, problem: &Problem) -> bool {
    let request_id = random_id();
    state.metrics.refused(problem.code());
    state.access_log.unread(request_id, problem);
    let answer = problem.render(&request_id);
    let secure = admit::is_secure(state, stream);
    let text = encode(&answer, answer.body.as_bytes(), request_id, true, |out| {
        if state.direct.is_some() {
            response_headers::write_unread(out, secure);
        }
    });
    stream.forget_head();
    let sent = stream.send_refusal(&text).await;
    if sent.as_ref().is_err_and(|error| error.kind() == io::ErrorKind::TimedOut) {
        state.metrics.hit(Bound::RefusalTimeout);
    }
    sent.is_ok()
}

/// Closes the sending half of a connection, reads and drops what the client still sends, within the bounds of `linger`,
/// and returns when the connection can be closed.
pub async fn linger_and_close(stream: &mut ClientStream, state: &State, linger: Linger) {
    let (bytes, time, pause) = match linger {
        Linger::Brief => (LINGER_BYTES, LINGER, LINGER),
        Linger::Body(most) => (most.saturating_add(LINGER_BYTES), LINGER_BODY, LINGER_PAUSE),
    };
    let drained = async {
        if AsyncWriteExt::shutdown(stream).await.is_ok() {
            stream.wait_for(Awaited::Request, pause);
            // Whatever it comes to, the connection ends.
            let _dropped = stream.drop_body(usize::try_from(bytes).unwrap_or(usize::MAX)).await;
        }
    };
    let mut phase = state.drain.phase();
    // A process that ends does not wait for those who are only sending what nobody reads.
    let ending = async {
        drop(phase.wait_for(|phase| *phase == Phase::Ending).await);
        sleep(LINGER).await;
    };
    tokio::select! { () = drained => (), () = sleep(time) => (), () = ending => () }
}

/// A request's name where no grant names it. It has to be unlikely to repeat, not hard to guess.
#[must_use]
pub fn random_id() -> RequestId {
    RequestId(fastrand::u128(..).to_be_bytes())
}

fn reason(status: u16) -> &'static str {
    http::StatusCode::from_u16(status).ok().and_then(|status| status.canonical_reason()).unwrap_or("")
}

/// Writes what proves to the edge that a response is ours. Without it nothing is written: in direct mode, and to whoever
/// has not shown a good grant.
pub fn write_proof(out: &mut Vec<u8>, proof: Option<Proof>) {
    if let Some(proof) = proof {
        // Writing to a vector cannot fail.
        let _written = write!(out, "{}: {proof}\r\n", headers::PROOF);
    }
}

/// As HTTP/1.1 has it; `close` says that it is the connection's last, and `more` writes lines of its own to the head.
/// `body` is the answer's own, or the same in another content coding.
#[must_use]
pub fn encode(
    answer: &Written,
    body: &[u8],
    request_id: RequestId,
    close: bool,
    more: impl FnOnce(&mut Vec<u8>),
) -> Vec<u8> {
    let mut out = Vec::with_capacity(1_024 + body.len());
    let mut number = itoa::Buffer::new();
    for part in ["HTTP/1.1 ", number.format(answer.status), " ", reason(answer.status), "\r\n"] {
        out.extend_from_slice(part.as_bytes());
    }
    for (name, value) in answer.headers.iter().map(|(name, value)| (*name, &**value)).chain(CORS) {
        write_line(&mut out, name, value.as_bytes());
    }
    if !matches!(answer.status, NO_CONTENT | NOT_MODIFIED) {
        write_line(&mut out, "content-length", number.format(body.len()).as_bytes());
    }
    write_line(&mut out, "date", get_cached_date().as_bytes());
    // Writing to a vector cannot fail.
    let _written = write!(out, "{}: {request_id}\r\n", headers::REQUEST_ID);
    more(&mut out);
    out.extend_from_slice(if close { b"connection: close\r\n\r\n" } else { b"\r\n" });
    out.extend_from_slice(body);
    out
}
