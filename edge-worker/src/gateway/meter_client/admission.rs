//! Admission of calls: from a lease in the isolate's memory, or by the key's meter.

use shared::key::{KeyError, SecretId, VerifiedKey};
use shared::lease_cache::{Admission, LeaseCache, Step, Timeouts, WaitFailure};
use shared::meter::MeterRequest;
use shared::problem::Problem;
use shared::tier::Tier;
use shared::tool::Tool;

use super::exchange::{Exchange, ExchangeOutcome};
use super::{exchange, report, rpc};
use crate::context::RequestContext;
use crate::gateway::lease_caches;
use crate::runtime::durable_rpc::RpcError;

/// The decision on a call, with the tier by which it was made.
pub(crate) struct CallDecision {
    pub(crate) admission: Admission,
    pub(crate) tier: Tier,
    /// The named secret that calls.
    pub(crate) secret_id: Option<SecretId>,
}

/// The next step for a call in the isolate's memory.
enum Local {
    Decided(CallDecision, Option<MeterRequest>),
    Ask(MeterRequest, Timeouts),
}

/// Decides on one call of a tool that costs at most `units`.
///
/// # Errors
/// `key-store-unavailable` if neither KV nor the meter knows the key.
pub(crate) async fn admit(
    context: &RequestContext<'_>,
    key: &VerifiedKey,
    tool: Tool,
    units: u32,
) -> Result<CallDecision, Problem> {
    match decide_locally(key, tool, units)? {
        Local::Decided(decision, renewal) => {
            if let Some(request) = renewal {
                report::send_in_background(context, key, request);
            }
            Ok(decision)
        }
        Local::Ask(request, timeouts) => admit_by_meter(context, key, tool, request, timeouts).await,
    }
}

fn decide_locally(key: &VerifiedKey, tool: Tool, units: u32) -> Result<Local, Problem> {
    lease_caches::with(key, |cache, now| match cache.call_priced(key, tool, units, now) {
        Step::Decided(admission, renewal) => Local::Decided(decision(cache, key, admission), renewal),
        Step::Ask(request, timeouts) => Local::Ask(request, timeouts),
    })
}

/// Asks the meter first, because it nearly always knows the key. KV is read if it does not.
async fn admit_by_meter(
    context: &RequestContext<'_>,
    key: &VerifiedKey,
    tool: Tool,
    request: MeterRequest,
    timeouts: Timeouts,
) -> Result<CallDecision, Problem> {
    let decided = exchange(context, key, request, timeouts).await?;
    report::schedule(context, key);
    let (request, read) = match decided {
        Exchanged::Decided(decision) => return Ok(decision),
        Exchanged::LacksRecord(request) => (request, exchange::learn_stored(context, key).await),
    };
    // Under a new number, because the meter would repeat its reply to the old one.
    let (again, timeouts) = lease_caches::with(key, |cache, now| cache.ask_again(&request, tool, now))?;
    match exchange(context, key, again, timeouts).await? {
        Exchanged::Decided(decision) => {
            exchange::check_stored(
                key,
                read,
                matches!(decision.admission, Admission::Refuse(KeyError::Invalid)),
            )?;
            Ok(decision)
        }
        // Only once: a meter that asks for ever must not hold the call.
        Exchanged::LacksRecord(_) => Err(rpc::unavailable(context, Err(RpcError::UnexpectedReply))),
    }
}

/// The result of an exchange with the meter.
#[allow(clippy::large_enum_variant, reason = "lives for one call and is never kept in bulk")]
enum Exchanged {
    Decided(CallDecision),
    LacksRecord(MeterRequest),
}

async fn exchange(
    context: &RequestContext<'_>,
    key: &VerifiedKey,
    request: MeterRequest,
    timeouts: Timeouts,
) -> Result<Exchanged, Problem> {
    let mut exchange = Exchange::new(context, key, request, timeouts);
    let exchanged = match exchange.run().await? {
        ExchangeOutcome::Decided(admission) => {
            Exchanged::Decided(lease_caches::with(key, |cache, _| decision(cache, key, admission))?)
        }
        ExchangeOutcome::LacksRecord => Exchanged::LacksRecord(exchange.request().clone()),
        ExchangeOutcome::Failed { reason, error } => {
            rpc::log_failure(context.request.id, Err(error));
            let decided = decide_without_meter(context, key, exchange.request(), reason).await;
            Exchanged::Decided(decided?)
        }
    };
    exchange.finish(context);
    Ok(exchanged)
}

/// Decides by the record alone, which is read from KV if it is not known here.
///
/// # Errors
/// `meter-unavailable` if the call was decided before.
async fn decide_without_meter(
    context: &RequestContext<'_>,
    key: &VerifiedKey,
    request: &MeterRequest,
    reason: WaitFailure,
) -> Result<CallDecision, Problem> {
    if request.unread {
        // Without a record, the one that the key's MAC proves decides.
        let _read = exchange::learn_stored(context, key).await;
    }
    let decided = lease_caches::with(key, |cache, now| {
        let admission = match reason.is_outage() {
            // Only an outage keeps other calls from asking. A late response proves that the meter
            // is there.
            true => cache.handle_failure(request, now),
            false => cache.give_up(request, now),
        };
        admission.map(|admission| decision(cache, key, admission))
    })?;
    decided.ok_or_else(|| rpc::unavailable(context, Err(RpcError::UnexpectedReply)))
}

fn decision(cache: &LeaseCache, key: &VerifiedKey, admission: Admission) -> CallDecision {
    CallDecision { admission, tier: cache.tier(key), secret_id: cache.secret_id(key) }
}
