//! `GET` and `POST` on `/v1/{tool}/{action}`.

use shared::{
    grant::Grant,
    headers,
    key::VerifiedKey,
    lease_cache::Admission,
    problem::{Code, Problem},
    quota::{QuotaStatus, is_uncharged},
    route::ToolCall,
    tier::Tier,
};
use worker::web_sys;

use crate::{
    authenticate::authenticate,
    context::RequestContext,
    lease_caches,
    log::Line,
    meter_client::{self, End},
    origin::{self, Passage},
    respond::Answer,
};

pub(crate) async fn handle(
    context: &RequestContext<'_>,
    call: &ToolCall<'_>,
    line: &mut Line,
) -> Result<Answer, Problem> {
    let key = authenticate(&context.head, &context.address, context.bindings)?;
    line.key_id = Some(key.id);
    context.head.check_length(context.bindings.max_body)?;
    let admission = meter_client::admit(context, &key).await?;
    let tier = tier_of(&key, context);
    line.tier = Some(tier);
    let mut told: Vec<_> = admission.quota().map(QuotaStatus::headers).into_iter().flatten().collect();
    let outcome = match admission {
        Admission::Allow { degraded, charge, .. } => {
            line.degraded = degraded;
            told.extend(degraded.then(|| (headers::DEGRADED, "meter".into())));
            let grant =
                |issued_at| Grant { key_id: key.id, tier, request_id: context.incoming.id, issued_at };
            let outcome = origin::forward(&Passage { context, call, grant: &grant }, line).await;
            let refusal = outcome.as_ref().ok().and_then(refused_by_proxy);
            meter_client::ended(context, &key, call.tool, end(&outcome, refusal.as_deref(), line), charge);
            told.extend(refusal.map(|code| (headers::PROBLEM, code.into())));
            outcome
        }
        Admission::Deny(..) | Admission::Refuse(_) | Admission::Unavailable { .. } => {
            Err(refusal(&admission))
        }
    };
    match outcome {
        Ok(response) => Ok(Answer::Passed { response, headers: told }),
        Err(problem) => {
            Err(told.into_iter().fold(problem, |problem, (name, value)| problem.with_header(name, value)))
        }
    }
}

fn refusal(admission: &Admission) -> Problem {
    let unknown = || Problem::new(Code::Internal, "the call was neither let pass nor refused");
    admission.problem().unwrap_or_else(unknown)
}

/// Returns the code of the problem with which the proxy refused a call; `None` if the response is the tool's.
fn refused_by_proxy(response: &web_sys::Response) -> Option<String> {
    response.headers().get(headers::PROBLEM).ok().flatten()
}

/// How a call ended, and which of the gateway's own problems it ended with.
fn end(outcome: &Result<web_sys::Response, Problem>, refusal: Option<&str>, line: &mut Line) -> End {
    let (status, code) = match outcome {
        Ok(response) => (response.status(), refusal),
        Err(problem) => (problem.status(), Some(problem.code().as_str())),
    };
    line.code = code.and_then(Code::parse).map(Code::as_str);
    End { status, uncharged: is_uncharged(status, code.is_some()) }
}

/// The tier that the key's record says, or the one it was issued with while no record is to be seen.
fn tier_of(key: &VerifiedKey, context: &RequestContext<'_>) -> Tier {
    let known =
        lease_caches::with(&key.id, context.incoming.now, |holder| holder.record().map(|record| record.tier));
    known.ok().flatten().unwrap_or(key.issued_tier)
}
