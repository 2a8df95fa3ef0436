//! The end of a request: counted, and written down in one line.

use std::time::Instant;

use pingora_proxy::Session;

use crate::{
    access_log::{Line, Timings, trace_id},
    clock,
    ctx::RequestCtx,
    state::State,
};

/// Counts the request and adds its line to the access log.
pub fn line(state: &State, session: &Session, ctx: &RequestCtx) {
    let status = session.response_written().map_or(0, |response| response.status.as_u16());
    if let Some(call) = &ctx.call {
        state.metrics.answered(call.tool, call.tier, status);
        if let (Some(sent), Some(answered)) = (ctx.sent_at, ctx.answered_at) {
            let gateway = sent.duration_since(ctx.started);
            state.metrics.timed(call.tool, answered.duration_since(sent), gateway);
        }
    }
    if let Some(direct) = &state.direct {
        direct.settle(ctx, status);
    }
    if !state.access_log.wants(status, ctx.refusal) {
        return;
    }
    let pool = ctx.call.as_ref().map(|call| &call.pool);
    let upstream = ctx.place.and_then(|place| pool?.upstream(place)).filter(|_| ctx.tries > 0);
    state.access_log.add(&Line {
        at: clock::now().0,
        request_id: ctx.request_id,
        call: ctx.call.as_ref(),
        status,
        refusal: ctx.refusal,
        upstream: upstream.map(|upstream| upstream.name.as_str()),
        tries: ctx.tries,
        micros: ctx.started.elapsed().as_micros(),
        sent: session.body_bytes_sent(),
        timings: state.access_log.wants_timings().then(|| timings(session, ctx)),
    });
}

fn timings<'a>(session: &'a Session, ctx: &RequestCtx) -> Timings<'a> {
    let sent = ctx.sent_at;
    let since = |from: Instant, to: Option<Instant>| to.map(|to| to.duration_since(from).as_micros());
    Timings {
        gateway_micros: since(ctx.started, sent),
        upstream_micros: sent.and_then(|sent| since(sent, ctx.answered_at)),
        received: ctx.body,
        trace_id: session.get_header("traceparent").and_then(|value| trace_id(value.to_str().ok()?)),
    }
}
