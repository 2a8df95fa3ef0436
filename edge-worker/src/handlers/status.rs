//! `GET /v1/status`.

use std::cell::RefCell;

use shared::{origin::OriginError, problem::Problem, response::Response, status::StatusCache};

use crate::{clock, context::RequestContext, origin};

thread_local! {
    static CACHE: RefCell<StatusCache> = const { RefCell::new(StatusCache::new()) };
}

/// Returns the availability of the tools, as the first origin that responds reports it. A report is
/// cached for a second.
///
/// # Errors
/// `tool-unavailable` if no origin responds.
pub(crate) async fn tools(context: &RequestContext<'_>) -> Result<Response, Problem> {
    let cached = CACHE.with_borrow_mut(|cache| cache.get(context.request.now));
    let outcome = match cached {
        Some(outcome) => outcome,
        None => {
            let report =
                origin::status(context).await.ok_or_else(|| OriginError::Refused.problem_without_call());
            CACHE.with_borrow_mut(|cache| cache.store(report.clone(), clock::now()));
            report
        }
    };
    Ok(Response::json(outcome?.to_json()))
}
