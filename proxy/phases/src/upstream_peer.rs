//! The choice of the upstream, and its timeouts.

use shared::problem::{Problem, codes};
use shared::time::UnixMillis;

use super::{Gateway, outage, trail};
use crate::call::{Call, Record};
use crate::state::State;
use config::{DisabledUntil, PoolSettings};
use transport::clock::Monotonic;
use transport::hooks::{Attempt, Limit, Queued, Timeouts};
use upstreams::{QueueOutcome, QueuedCall, Upstream};

/// Reserves one of the tool's slots for calls in flight, or a place in its queue, if it has one.
pub(crate) fn enter_queue(call: &mut Call) -> Option<QueuedCall> {
    if call.pool.config.settings.queue == 0 {
        return None;
    }
    match call.pool.acquire_or_queue() {
        QueueOutcome::Acquired(permit) => call.pool_permit = Some(permit),
        QueueOutcome::Queued(queued) => return Some(queued),
        QueueOutcome::Full => call.is_queue_over = true,
    }
    None
}

impl Queued<Gateway> for QueuedCall {
    async fn wait(self, call: &mut Call) {
        call.pool_permit = self.wait().await;
        call.is_queue_over = call.pool_permit.is_none();
    }
}

/// Reserves one of the tool's slots for calls in flight, and chooses the upstream.
pub(crate) fn upstream_peer(
    state: &State,
    call: &mut Call,
    record: &Record,
) -> Result<Attempt, Box<Problem>> {
    if call.pool_permit.is_none() {
        // A call whose turn in the queue did not come must not overtake those that still wait.
        call.pool_permit = if call.is_queue_over { None } else { call.pool.try_acquire() };
    }
    if call.pool_permit.is_none() {
        let detail = "the tool has too many calls in flight";
        return Err(outage::full(state, Limit::CallsInFlight, detail).into());
    }
    match next(call, Monotonic::at(record.started.instant)) {
        Some(attempt) => {
            trail::chosen(call, record);
            Ok(attempt)
        }
        None => Err(none(call).into()),
    }
}

/// Chooses an upstream that was not tried. Returns `None` if there is none.
pub(crate) fn next(call: &mut Call, now: Monotonic) -> Option<Attempt> {
    (call.current, call.upstream_permit) = call.pool.acquire_upstream(call.key_id, call.tried, now).unzip();
    current(call, now)
}

/// Begins an attempt at the upstream that was chosen.
pub(crate) fn current(call: &mut Call, now: Monotonic) -> Option<Attempt> {
    if let (Some(trace), Some(index)) = (&mut call.trace, call.current) {
        trace.begin_attempt(index, call.pool.config.settings.queue > 0);
    }
    let settings = &call.pool.config.settings;
    let target = call.upstream().and_then(Upstream::connect_target)?.clone();
    let has_other = || call.pool.has_available(call.tried_with_current(), now);
    // Only if another upstream could take over. Without one, a slow response would be given up for
    // nothing.
    let attempt = (call.is_idempotent() && settings.try_timeout < settings.answer_timeout && has_other())
        .then_some(settings.try_timeout);
    let timeouts = Timeouts { response: settings.answer_timeout, attempt, pause: settings.pause_timeout };
    Some(Attempt { target, timeouts, must_finish: settings.finish_when_client_leaves })
}

/// Returns the problem of a call that no upstream can take.
pub(crate) fn none(call: &Call) -> Problem {
    outage::unavailable(&call.pool, call.method, "no server of the tool is healthy")
}

/// Checks that a tool is not disabled.
///
/// # Errors
/// Returns a problem, which says until when the tool is disabled if that is known.
pub(crate) fn check_enabled(settings: &PoolSettings, now: UnixMillis) -> Result<(), Problem> {
    let disabled = |until: String| {
        let reason = settings.disabled_reason.as_deref();
        let reason = reason.map(|reason| format!(": {reason}")).unwrap_or_default();
        let detail = format!("the tool is switched off until {until}{reason}");
        Problem::new(codes::TOOL_DISABLED, detail)
            .with_header("proxy-status", outage::proxy_status("destination_unavailable"))
    };
    match settings.disabled {
        Some(DisabledUntil::Moment(until)) if now < until => {
            let wait = until.since(now).div_ceil(1_000);
            Err(disabled(until.to_rfc3339()).retry_after(wait))
        }
        Some(DisabledUntil::FurtherNotice) => Err(disabled("further notice".to_owned())),
        Some(DisabledUntil::Moment(_)) | None => Ok(()),
    }
}
