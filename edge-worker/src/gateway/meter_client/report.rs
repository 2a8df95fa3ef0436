//! Background reports to a key's meter: outcomes of calls, spent leases, and renewals.

use shared::key::VerifiedKey;
use shared::lease_cache::{Charge, ReportTurn};
use shared::meter::{LoggedCall, Message, MeterRequest, Reply};
use shared::time::UnixMillis;
use shared::tool::Tool;
use worker::{Context, ObjectNamespace};

use super::rpc;
use crate::context::RequestContext;
use crate::gateway::lease_caches;
use crate::runtime::durable_rpc::{self, RpcError};
use crate::runtime::{clock, log, promise, task};

/// Timeout of a report, in milliseconds.
const REPORT_TIMEOUT_MS: u64 = 5_000;
/// The outcome of a call.
pub(crate) struct CallOutcome {
    pub(crate) status: u16,
    /// Whether the call is given back to the day.
    pub(crate) uncharged: bool,
    /// The units that it costs.
    pub(crate) units: u32,
}

/// Records the outcome of a call that was admitted with `charge`, and logs the `call` if the log takes it.
/// The meter gets both in the background. Returns the charge that is left.
// Has one caller, and is large: it would make what handles a call too large for V8.
#[inline(never)]
pub(crate) fn record_outcome(
    context: &RequestContext<'_>,
    key: &VerifiedKey,
    tool: Tool,
    outcome: &CallOutcome,
    charge: Charge,
    call: impl FnOnce(UnixMillis) -> LoggedCall,
) -> Charge {
    let recorded = lease_caches::with(key, |cache, now| {
        // One step for all three: a report that left between them would have half of the call.
        cache.record_outcome(tool, outcome.status, outcome.uncharged, charge, now);
        cache.log_call(context.request.id, outcome.status, now, call);
        // A refund has returned all units.
        if outcome.uncharged { charge } else { cache.record_units(charge, outcome.units, now) }
    });
    if recorded.is_ok() {
        schedule(context, key);
    }
    recorded.unwrap_or(charge)
}

/// Records that the response of a call was cut off after its outcome was recorded. The meter gets it in
/// the background.
pub(crate) fn record_aborted(
    meter: &ObjectNamespace,
    execution: &Context,
    key: &VerifiedKey,
    tool: Tool,
    status: u16,
    charge: Charge,
    broken: LoggedCall,
) {
    let recorded = lease_caches::with(key, |cache, now| {
        cache.record_aborted(tool, status, charge, now);
        cache.log_call(broken.request_id, broken.status, now, |now| LoggedCall { at: now, ..broken });
    });
    if recorded.is_ok() {
        Reporter::new(meter, key).start(execution);
    }
}

/// Logs a call of a key that no outcome is recorded of, and that ended with `status`. The meter gets it in the background.
pub(crate) fn log_call(
    context: &RequestContext<'_>,
    key: &VerifiedKey,
    status: u16,
    call: impl FnOnce(UnixMillis) -> LoggedCall,
) {
    let call = |now| {
        let logged = call(now);
        // Whoever has not read the key's record does not know the secret's id. The meter does.
        let secret = (key.is_named && logged.secret_id.is_none()).then_some(key.secret);
        LoggedCall { secret, ..logged }
    };
    let logged = lease_caches::with(key, |cache, now| cache.log_call(context.request.id, status, now, call));
    if logged.is_ok() {
        schedule(context, key);
    }
}

/// Starts a background report of everything pending, unless another request will send it.
pub(super) fn schedule(context: &RequestContext<'_>, key: &VerifiedKey) {
    Reporter::new(&context.bindings.meter, key).start(context.execution);
}

/// Sends a request for which no call waits, in the background.
pub(super) fn send_in_background(context: &RequestContext<'_>, key: &VerifiedKey, request: MeterRequest) {
    let reporter = Reporter::new(&context.bindings.meter, key);
    task::in_background(context.execution, async move { reporter.send(request).await });
}

/// A background task that reports for one key. It outlives the request that started it.
struct Reporter {
    meter: ObjectNamespace,
    key: VerifiedKey,
    started: UnixMillis,
}

impl Reporter {
    fn new(meter: &ObjectNamespace, key: &VerifiedKey) -> Self {
        Self { meter: meter.clone(), key: *key, started: clock::now() }
    }

    /// Reports in the background, unless another request does.
    fn start(self, execution: &Context) {
        if let Some(turn) = self.next_turn() {
            task::in_background(execution, async move { self.run(turn).await });
        }
    }

    fn next_turn(&self) -> Option<ReportTurn> {
        lease_caches::with(&self.key, |cache, now| cache.promise_report(self.started, now)).ok().flatten()
    }

    /// Reports until nothing is pending or another request does it. A report renews the lease of a
    /// key in use, so this may continue until the platform ends the request.
    async fn run(&self, mut turn: ReportTurn) {
        loop {
            // One report for many calls. Each message to the object costs money.
            promise::sleep(turn.due.since(clock::now())).await;
            let request = lease_caches::with(&self.key, |cache, now| cache.report(&self.key, turn, now));
            if let Ok(Some(request)) = request {
                self.send(request).await;
            }
            match self.next_turn() {
                Some(next) => turn = next,
                None => return,
            }
        }
    }

    /// Sends a request for which no call waits, once.
    async fn send(&self, request: MeterRequest) {
        let sent = clock::now();
        let name = self.key.id.to_string();
        let message = Message::Ask(request.clone());
        let sending = rpc::send(&self.meter, &name, &message);
        let reply = durable_rpc::timeout(REPORT_TIMEOUT_MS, sending).await;
        // A cache that cannot be created was logged.
        let _applied = match reply {
            Ok(Reply::Ask(response)) => lease_caches::with(&self.key, |cache, now| {
                cache.handle_response(&request, sent, &response, now)
            }),
            other => {
                let error = other.err().unwrap_or(RpcError::UnexpectedReply);
                log::error(log::Event("meter report failed"), None, &[("key_id", &name), ("error", &error)]);
                lease_caches::with(&self.key, |cache, now| match error.is_stall() {
                    // A stall is this isolate's own. The meter is not to be taken for down.
                    true => cache.give_up(&request, now),
                    false => cache.handle_failure(&request, now),
                })
            }
        };
    }
}
