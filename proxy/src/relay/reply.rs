//! Answers of the proxy's own, in place of the tool's.

use std::io;

use shared::problem::Problem;
use tokio::time::timeout;

use super::{Ended, Next, framing::Framing, request::Request};
use crate::{
    client::ClientStream,
    ctx::RequestCtx,
    direct::{Reply, response_headers},
    metrics::Bound,
    phases::answer,
    respond::{self, LINGER, SMALL_BODY},
    state::State,
};

/// Refuses a request.
pub(super) async fn refuse(
    state: &State,
    client: &mut ClientStream,
    ctx: &mut RequestCtx,
    problem: &Problem,
    request: Request,
) -> Ended {
    let answer = respond::refusal(ctx, state, problem);
    say(state, client, ctx, answer.into(), request).await
}

/// Answers with what the proxy has to say itself. A small body that is on its way is taken, so that the connection can
/// serve the next request.
pub(super) async fn say(
    state: &State,
    client: &mut ClientStream,
    ctx: &RequestCtx,
    reply: Reply,
    request: Request,
) -> Ended {
    let status = reply.written.status;
    answer::settle(state, ctx, status);
    let taken = drop_small_body(client, request.body, ctx.expects_continue).await;
    let close = request.close || !taken;
    let mut text = respond::encode(&reply.written, reply.body(), ctx.request_id, close, |out| {
        if state.direct.is_some() {
            response_headers::write_own(out, ctx.response_info());
        }
        respond::write_proof(out, ctx.proof);
    });
    let mut sent = reply.body().len();
    if request.is_head {
        text.truncate(text.len() - sent);
        sent = 0;
    }
    let written = match ctx.refusal {
        Some(_) => client.send_refusal(&text).await,
        None => client.send(&text).await,
    };
    if written.as_ref().is_err_and(|error| error.kind() == io::ErrorKind::TimedOut) {
        state.metrics.hit(Bound::RefusalTimeout);
    }
    match written {
        Ok(()) => Ended { status, sent, next: Next::after(close, taken, &request) },
        Err(_) => Ended::nobody(),
    }
}

/// Whether nothing of the body is left to come.
async fn drop_small_body(client: &mut ClientStream, body: Framing, expects_continue: bool) -> bool {
    match body {
        body if body.is_over() => true,
        // A stream serves no other request, so that its client need not wait.
        _ if client.is_http2_stream() => false,
        Framing::Length(length) if length <= SMALL_BODY && !expects_continue => {
            let dropped = timeout(LINGER, client.drop_body(usize::try_from(length).unwrap_or(usize::MAX)));
            dropped.await.is_ok_and(|dropped| dropped.is_ok())
        }
        Framing::Length(_) | Framing::Chunked(_) | Framing::UntilClose => false,
    }
}
