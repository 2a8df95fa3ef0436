//! The only place that writes answers of the proxy's own.

use std::{fmt::Write as _, time::Duration};

use bytes::Bytes;
use pingora_core::Result;
use pingora_http::ResponseHeader;
use pingora_proxy::Session;
use shared::{
    headers::{self, CORS},
    problem::Problem,
    request_id::RequestId,
    route::Method,
};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::{client::ClientStream, ctx::RequestCtx, direct::told, state::State};

/// Bodies up to this length are read to their end, so that a refusal costs no new connection.
const SMALL_BODY: u64 = 64 << 10;
/// Of longer bodies so much is read and dropped: closing on unread bytes can destroy the answer on its way.
const LINGER_BYTES: u64 = 1 << 20;
const LINGER: Duration = Duration::from_secs(1);

/// Answers with a problem, in place of the tool.
pub async fn refuse(
    session: &mut Session,
    ctx: &mut RequestCtx,
    state: &State,
    problem: &Problem,
) -> Result<()> {
    ctx.refusal = Some(problem.code());
    state.metrics.refused(problem.code());
    let rendered = problem.render(&ctx.request_id);
    let mut header = ResponseHeader::build(rendered.status, Some(rendered.headers.len() + CORS.len() + 5))?;
    for (name, value) in rendered.headers {
        header.append_header(name, value)?;
    }
    if state.direct.is_none() {
        header.insert_header(headers::REFUSAL, problem.code().as_str())?;
    }
    answer(session, ctx, state, header, rendered.body.into()).await
}

/// Answers a client whose request Pingora never saw, and ends the connection.
pub async fn refuse_unread(stream: &mut ClientStream, state: &State, problem: &Problem) {
    let request_id = random_id();
    state.metrics.refused(problem.code());
    let rendered = problem.render(&request_id);
    let mut head = format!("HTTP/1.1 {} {}\r\n", rendered.status, reason(rendered.status));
    let length = rendered.body.len().to_string();
    let first = match state.direct {
        None => (headers::REFUSAL, problem.code().as_str()),
        Some(_) => ("x-content-type-options", "nosniff"),
    };
    let own = [
        first,
        (headers::REQUEST_ID, &request_id.to_string()),
        ("content-length", &length),
        ("connection", "close"),
    ];
    let lines = rendered.headers.iter().map(|(name, value)| (*name, value.as_str())).chain(own).chain(CORS);
    for (name, value) in lines {
        // Writing to a string cannot fail.
        let _written = write!(head, "{name}: {value}\r\n");
    }
    head.push_str("\r\n");
    head.push_str(&rendered.body);
    state.access_log.unread(request_id, problem);
    if stream.write_all(head.as_bytes()).await.is_ok() && AsyncWriteExt::shutdown(stream).await.is_ok() {
        let mut dropped = tokio::io::sink();
        let mut rest = stream.take(LINGER_BYTES);
        let rest = tokio::io::copy(&mut rest, &mut dropped);
        let _over = tokio::time::timeout(LINGER, rest).await;
    }
}

/// A request's name where no grant names it. It has to be unlikely to repeat, not hard to guess.
#[must_use]
pub fn random_id() -> RequestId {
    RequestId(fastrand::u128(..).to_be_bytes())
}

fn reason(status: u16) -> &'static str {
    http::StatusCode::from_u16(status).ok().and_then(|status| status.canonical_reason()).unwrap_or("")
}

/// A text of the proxy's own.
pub struct Written {
    /// The HTTP status.
    pub status: u16,
    /// Names in lower case.
    pub headers: Vec<(&'static str, String)>,
    /// The text.
    pub body: Bytes,
}

impl Written {
    /// The answer to a liveness check.
    #[must_use]
    pub fn health() -> Self {
        Self::json(r#"{"status":"ok"}"#.to_owned())
    }

    /// A JSON text that is good for this moment only.
    #[must_use]
    pub fn json(body: String) -> Self {
        let headers =
            vec![("content-type", "application/json".to_owned()), ("cache-control", "no-store".to_owned())];
        Self { status: 200, headers, body: body.into() }
    }

    /// The answer to a preflight.
    #[must_use]
    pub fn preflight(methods: &[Method]) -> Self {
        Self { status: 204, headers: headers::preflight(methods).into(), body: Bytes::new() }
    }

    /// The same with more headers.
    #[must_use]
    pub fn with_headers(mut self, more: impl IntoIterator<Item = (&'static str, String)>) -> Self {
        self.headers.extend(more);
        self
    }
}

/// Answers with a text of the proxy's own.
pub async fn written(
    session: &mut Session,
    ctx: &mut RequestCtx,
    state: &State,
    written: Written,
) -> Result<()> {
    let mut header = ResponseHeader::build(written.status, Some(written.headers.len() + CORS.len() + 5))?;
    for (name, value) in written.headers {
        header.insert_header(name, value)?;
    }
    answer(session, ctx, state, header, written.body).await
}

async fn answer(
    session: &mut Session,
    ctx: &RequestCtx,
    state: &State,
    mut header: ResponseHeader,
    body: Bytes,
) -> Result<()> {
    header.insert_header(headers::REQUEST_ID, ctx.request_id.to_string())?;
    for (name, value) in CORS {
        header.insert_header(name, value)?;
    }
    if state.direct.is_some() {
        told::written(ctx, &mut header)?;
    }
    if header.status != http::StatusCode::NO_CONTENT {
        header.insert_header("content-length", body.len())?;
    }
    take_small_body(session, ctx).await;
    let empty = body.is_empty() || session.req_header().method == http::Method::HEAD;
    session.write_response_header(Box::new(header), empty).await?;
    if !empty {
        session.write_response_body(Some(body), true).await?;
    }
    linger(session).await;
    Ok(())
}

/// Reads a small body that is on its way, so that the connection can serve the next request.
async fn take_small_body(session: &mut Session, ctx: &RequestCtx) {
    let length =
        session.get_header("content-length").and_then(|value| value.to_str().ok()?.parse::<u64>().ok());
    if !ctx.expects_continue && length.is_some_and(|length| length <= SMALL_BODY) {
        session.set_total_drain_timeout(Some(LINGER));
        // When it does not come in time, the connection is closed: the session knows that itself.
        let _drained = session.drain_request_body().await;
    }
}

/// Takes what the client still sends, for a while, so that it gets to read the answer.
async fn linger(session: &mut Session) {
    if session.is_body_done() {
        return;
    }
    session.set_keepalive(None);
    let drop_bytes = async {
        let mut taken = 0;
        while let Ok(Some(bytes)) = session.read_request_body().await {
            taken += bytes.len() as u64;
            if taken > LINGER_BYTES {
                break;
            }
        }
    };
    let _over = tokio::time::timeout(LINGER, drop_bytes).await;
}
