//! The way of a call in the diagnostic log: where it was sent, why an attempt failed, and how it ended. At the level
//! `debug` only, which costs other calls one comparison. No line has a key, an address of a client, or a query.

use std::time::Instant;

use transport::clock::millis;
use transport::hooks::{AfterFailure, Cause};

use crate::call::{Call, Record};
use upstreams::UpstreamIndex;

/// Logs the upstream that was chosen first.
pub(crate) fn chosen(call: &Call, record: &Record) {
    log::debug!(
        "call routed: request_id={} key_id={} tool={} action={} upstream={} waited_ms={}",
        record.log.request_id,
        call.key_id,
        call.tool,
        call.action,
        upstream(call),
        millis(record.started.instant.elapsed())
    );
}

/// Logs why an attempt at an upstream failed, and what follows.
pub(crate) fn failed(
    failed: Option<UpstreamIndex>,
    cause: Cause,
    call: &Call,
    record: &Record,
    next: &AfterFailure,
) {
    let next = match next {
        AfterFailure::Retry(_) => upstream(call),
        AfterFailure::GiveUp(problem) => problem.code().as_str(),
    };
    log::debug!(
        "attempt failed: request_id={} tool={} upstream={} cause=\"{cause:?}\" attempts={} next={next}",
        record.log.request_id,
        call.tool,
        name(call, failed),
        record.attempts
    );
}

/// Logs how a request ended, a refused one too.
pub(crate) fn ended(call: Option<&Call>, record: &Record) {
    if !log::log_enabled!(log::Level::Debug) {
        return;
    }
    let log = &record.log;
    let since = |from: Option<Instant>, to: Option<Instant>| {
        from.zip(to).map_or_else(|| "-".to_owned(), |(from, to)| millis(to.duration_since(from)).to_string())
    };
    log::debug!(
        "request ended: request_id={} tool={} status={} code={} upstream={} attempts={} degraded={} aborted={} \
         gateway_ms={} upstream_ms={} total_ms={} received={} sent={}",
        log.request_id,
        call.map_or("-", |call| call.tool.as_str()),
        record.status,
        log.refusal.map_or("-", |code| code.as_str()),
        call.map_or("-", upstream),
        record.attempts,
        log.degraded,
        record.aborted.map_or("-", |by| by.into_str()),
        since(Some(record.started.instant), record.sent_at),
        since(record.sent_at, record.responded_at),
        millis(record.started.instant.elapsed()),
        record.received,
        record.sent
    );
}

/// Returns the name of the upstream that is being tried or has responded.
fn upstream(call: &Call) -> &str {
    name(call, call.current)
}

fn name(call: &Call, index: Option<UpstreamIndex>) -> &str {
    index.and_then(|index| call.pool.upstream(index)).map_or("-", |upstream| upstream.name.as_str())
}
