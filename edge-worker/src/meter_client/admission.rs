//! Admission of calls: from a lease in the isolate's memory, or by the key's meter.

use shared::{
    key::VerifiedKey,
    lease_cache::{Admission, LeaseCache, Step},
    meter::{Message, MeterRequest, Reply},
    problem::Problem,
    tier::Tier,
    time::UnixMillis,
    tool::Tool,
};

use super::{report, rpc, stored_record};
use crate::{clock, context::RequestContext, durable_rpc::RpcError, lease_caches};

/// The decision on a call, with the tier by which it was made.
pub(crate) struct CallDecision {
    pub(crate) admission: Admission,
    pub(crate) tier: Tier,
}

/// The next step for a call in the isolate's memory.
enum Local {
    Decided(CallDecision, Option<MeterRequest>),
    Ask(MeterRequest),
}

/// Decides on one call of a tool.
///
/// # Errors
/// `key-store-unavailable` if neither KV nor the meter knows the key.
pub(crate) async fn admit(
    context: &RequestContext<'_>,
    key: &VerifiedKey,
    tool: Tool,
) -> Result<CallDecision, Problem> {
    let local = lease_caches::with(key, |cache, now| match cache.call(key, tool, now) {
        Step::Decided(admission, renewal) => Local::Decided(decision(cache, key, admission), renewal),
        Step::Ask(request) => Local::Ask(request),
    })?;
    match local {
        Local::Decided(decision, renewal) => {
            if let Some(request) = renewal {
                report::send_in_background(context, key, request);
            }
            Ok(decision)
        }
        Local::Ask(request) => admit_by_meter(context, key, request).await,
    }
}

async fn admit_by_meter(
    context: &RequestContext<'_>,
    key: &VerifiedKey,
    mut request: MeterRequest,
) -> Result<CallDecision, Problem> {
    let added = stored_record::add(context, key, &mut request).await;
    let sent = clock::now();
    let reply = rpc::call(context, &key.id.to_string(), &Message::Ask(request.clone())).await;
    let Ok(Reply::Ask(response)) = reply else {
        rpc::log_failure(context.request.id, reply);
        return decide(context, key, |cache, now| cache.handle_failure(&request, now));
    };
    let decision = decide(context, key, |cache, now| cache.handle_response(&request, sent, &response, now));
    report::schedule(context, key);
    stored_record::check(key, added, &response)?;
    decision
}

/// Applies the meter's response, or its absence, to the key's cache. Returns the decision.
///
/// # Errors
/// `meter-unavailable` if the response decides nothing though a call waits.
fn decide(
    context: &RequestContext<'_>,
    key: &VerifiedKey,
    step: impl FnOnce(&mut LeaseCache, UnixMillis) -> Option<Admission>,
) -> Result<CallDecision, Problem> {
    let decided = lease_caches::with(key, |cache, now| {
        step(cache, now).map(|admission| decision(cache, key, admission))
    })?;
    decided.ok_or_else(|| rpc::unavailable(context, Err(RpcError::UnexpectedReply)))
}

/// Returns the decision with the tier of the key's record, or the tier that the key was issued with
/// if the record is unknown.
fn decision(cache: &LeaseCache, key: &VerifiedKey, admission: Admission) -> CallDecision {
    CallDecision { admission, tier: cache.record().map_or(key.issued_tier, |record| record.tier) }
}
