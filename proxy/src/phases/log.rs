//! The end of a request: counted, and written down in one line.

use std::time::{Duration, Instant};

use shared::problem::Problem;

use crate::{
    access_log::{Line, Timings},
    ctx::RequestCtx,
    state::State,
};

/// What a client got.
#[derive(Clone, Copy, Debug)]
pub struct Outcome {
    /// The status of its answer; 0 is none.
    pub status: u16,
    /// Bytes of the answer's body.
    pub sent: usize,
}

/// Notes why a call was not served.
pub fn failed(ctx: &RequestCtx, problem: &Problem) {
    log::info!("request {}: {}", ctx.request_id, problem.code().as_str());
}

/// Notes that an answer did not come to its end.
pub fn broken_off(ctx: &RequestCtx, by_the_tool: bool) {
    let who = if by_the_tool { "the tool" } else { "the client, or its patience," };
    log::info!("request {}: {who} ended the answer in its middle", ctx.request_id);
}

/// Counts the request and adds its line to the access log.
pub fn line(state: &State, outcome: Outcome, ctx: &RequestCtx) {
    let Outcome { status, sent } = outcome;
    if let Some(call) = &ctx.call {
        state.metrics.answered(call.tool, call.tier, status);
        if let (Some(sent), Some(answered)) = (ctx.sent_at, ctx.answered_at) {
            state.metrics.timed(sent.duration_since(ctx.buffered_at()));
            if let Some(upstream) = ctx.place.and_then(|place| call.pool.upstream(place)) {
                upstream.record_response(status, answered.duration_since(sent));
            }
        }
    }
    if !state.access_log.wants(status, ctx.refusal) {
        return;
    }
    let took = ctx.started.instant.elapsed();
    let pool = ctx.call.as_ref().map(|call| &call.pool);
    let upstream = ctx.place.and_then(|place| pool?.upstream(place)).filter(|_| ctx.tries > 0);
    state.access_log.add(&Line {
        time: ctx.started.time,
        request_id: ctx.request_id,
        call: ctx.call.as_ref(),
        refused: ctx.refused_call.as_ref(),
        status,
        refusal: ctx.refusal,
        upstream: upstream.map(|upstream| upstream.name.as_str()),
        tries: ctx.tries,
        micros: micros(took),
        sent,
        timings: state.access_log.wants_timings().then(|| timings(ctx)),
    });
}

fn timings(ctx: &RequestCtx) -> Timings<'_> {
    let sent = ctx.sent_at;
    let since = |from: Instant, to: Option<Instant>| to.map(|to| micros(to.duration_since(from)));
    Timings {
        gateway_micros: since(ctx.buffered_at(), sent),
        upstream_micros: sent.and_then(|sent| since(sent, ctx.answered_at)),
        received: ctx.body,
        trace_id: ctx.trace_id.as_deref(),
    }
}

fn micros(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}
