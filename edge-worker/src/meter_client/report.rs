//! Background reports to a key's meter: outcomes of calls, spent leases, and renewals.

use std::time::Duration;

use shared::{
    key::VerifiedKey,
    lease_cache::Charge,
    meter::{Message, MeterRequest, Reply, TTL_MS},
    tool::Tool,
};
use worker::{Delay, ObjectNamespace};

use super::rpc;
use crate::{
    clock,
    context::RequestContext,
    durable_rpc::{self, RpcError},
    lease_caches, log,
};

/// Time after a call until its outcome is reported, in milliseconds, unless another request carries
/// it before.
const REPORT_AFTER_MS: u64 = 1_000;
/// Timeout of a report, in milliseconds.
const REPORT_TIMEOUT_MS: u64 = 5_000;
/// Time for which a request renews leases in the background, in milliseconds. The platform ends it
/// 30 seconds after its response, and it must still report the last lease before that.
const RENEW_FOR_MS: u64 = 30_000 - TTL_MS - 1_000;

/// The outcome of a call.
pub(crate) struct CallOutcome {
    pub(crate) status: u16,
    /// Whether the call is given back to the day.
    pub(crate) uncharged: bool,
}

/// Records the outcome of a call that was admitted with `charge`. The meter gets it in the
/// background.
pub(crate) fn record_outcome(
    context: &RequestContext<'_>,
    key: &VerifiedKey,
    tool: Tool,
    outcome: &CallOutcome,
    charge: Charge,
) {
    let recorded = lease_caches::with(key, |cache, _| {
        cache.record_outcome(tool, outcome.status, outcome.uncharged, charge);
    });
    if recorded.is_ok() {
        schedule(context, key);
    }
}

/// Starts a background report of everything pending, unless one is in flight.
pub(super) fn schedule(context: &RequestContext<'_>, key: &VerifiedKey) {
    let reporter = Reporter::new(context, key);
    if let Some(wait_ms) = reporter.claim() {
        context.execution.wait_until(async move { reporter.run(wait_ms).await });
    }
}

/// Sends a request for which no call waits, in the background.
pub(super) fn send_in_background(context: &RequestContext<'_>, key: &VerifiedKey, request: MeterRequest) {
    let reporter = Reporter::new(context, key);
    context.execution.wait_until(async move { reporter.send(request).await });
}

/// A background task that reports for one key. It outlives the request that started it.
struct Reporter {
    meter: ObjectNamespace,
    key: VerifiedKey,
}

impl Reporter {
    fn new(context: &RequestContext<'_>, key: &VerifiedKey) -> Self {
        Self { meter: context.bindings.meter.clone(), key: *key }
    }

    /// Claims the next report. Returns the milliseconds to wait before it, or `None` if nothing is
    /// pending or another task will report it.
    fn claim(&self) -> Option<u64> {
        let now = clock::now();
        let due = lease_caches::with(&self.key, |cache, now| match cache.flush_at() {
            Some(until) => Some(until),
            None => (!cache.is_idle()).then(|| now.plus(REPORT_AFTER_MS)),
        });
        let due = due.ok().flatten()?;
        lease_caches::claim_report(&self.key.id, due, now).then(|| due.since(now))
    }

    /// Reports until nothing is pending. A report renews the lease of a key in use, so this ends
    /// when the platform ends the request.
    async fn run(&self, mut wait_ms: u64) {
        let started = clock::now();
        loop {
            Delay::from(Duration::from_millis(wait_ms)).await;
            let renew = clock::now().since(started) < RENEW_FOR_MS;
            let request = lease_caches::with(&self.key, |cache, now| cache.flush(&self.key, renew, now));
            let Ok(Some(request)) = request else { return };
            self.send(request).await;
            match self.claim() {
                Some(next) => wait_ms = next,
                None => return,
            }
        }
    }

    /// Sends a request for which no call waits, once.
    async fn send(&self, request: MeterRequest) {
        let sent = clock::now();
        let name = self.key.id.to_string();
        let message = Message::Ask(request.clone());
        let reply = durable_rpc::timeout(REPORT_TIMEOUT_MS, rpc::send(&self.meter, &name, &message)).await;
        // A cache that cannot be created was logged.
        let _applied = match reply {
            Ok(Reply::Ask(response)) => lease_caches::with(&self.key, |cache, now| {
                cache.handle_response(&request, sent, &response, now)
            }),
            other => {
                let error = other.err().unwrap_or(RpcError::UnexpectedReply);
                log::error("meter report failed", None, &[("key_id", &name), ("error", &error)]);
                lease_caches::with(&self.key, |cache, now| cache.handle_failure(&request, now))
            }
        };
    }
}
