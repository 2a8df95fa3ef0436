//! Authentication of a call by its key, and the decision of its quota, in direct mode.

use shared::key::VerifiedKey;
use shared::prices::Price;
use shared::problem::Problem;
use shared::route::{CallMethod, ToolCall};
use transport::hooks::Request;

use super::admitted::Admitted;
use super::wait::Awaited;
use crate::call::Record;
use config::PoolSettings;
use direct::{self, CallDecision, CallStep, Direct, RequestScheme};
use upstreams::Pool;

/// The next step for a call with a valid key.
pub(super) enum KeyStep {
    /// It is admitted or denied.
    Decided(Admitted),
    /// Its meter decides.
    Wait(Awaited),
}

/// Verifies the key of a call of a tool that has this price, and decides by its quota. Counts the call unless it is
/// denied.
///
/// # Errors
/// Returns a problem if the key is invalid, or the body too large or of another type than the pool accepts.
pub(super) fn admit(
    direct: &Direct,
    record: &mut Record,
    request: &Request<'_, '_>,
    scheme: RequestScheme<'_>,
    pool: &Pool,
    (called, price): (&ToolCall<'_>, Price),
) -> Result<KeyStep, Problem> {
    let key = direct::authenticate(request.head, scheme, &direct.config().signing)?;
    // What its head refuses is not counted.
    check_body(request, called.method, &pool.config.settings)?;
    Ok(match direct.call(&key, called.tool, price.most(), record.started)? {
        CallStep::Decided(decision) => KeyStep::Decided(decide(&key, decision, record)),
        CallStep::Wait(decision) => KeyStep::Wait(Awaited::Meter(key, price, decision)),
    })
}

/// Returns what a decision makes of a call.
pub(super) fn decide(key: &VerifiedKey, decision: CallDecision, record: &mut Record) -> Admitted {
    let CallDecision { tier, secret_id, quota, outcome } = decision;
    record.log.quota = quota;
    let (charged, denied) = match outcome {
        Ok(admitted) => {
            record.log.degraded = admitted.degraded;
            (Some(admitted.charged), None)
        }
        Err(problem) => (None, Some(problem)),
    };
    Admitted { key_id: key.id, secret_id, tier, charged, denied }
}

/// Checks the length and the type of a call's body, as its head states them.
///
/// # Errors
/// Returns a problem if the pool does not accept the body.
pub(super) fn check_body(
    request: &Request<'_, '_>,
    method: CallMethod,
    settings: &PoolSettings,
) -> Result<(), Problem> {
    let head = request.head;
    head.check_length(settings.max_body)?;
    match method {
        CallMethod::Post => head.check_media_type(&settings.accept),
        // Many clients end a stream by an empty frame behind the head, which then says nothing of a body
        // (RFC 9113, section 8.1). Such a GET is no fault.
        CallMethod::Get if request.is_http2 && head.content_length.is_none() => Ok(()),
        CallMethod::Get => head.check_get(),
    }
}
