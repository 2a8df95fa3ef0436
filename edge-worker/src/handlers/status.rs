//! `GET /v1/status`.

use std::cell::RefCell;

use shared::{origin::OriginError, problem::Problem, response::Response, status::StatusCache};

use crate::{clock, context::RequestContext, origin};

thread_local! {
    static CACHE: RefCell<StatusCache> = const { RefCell::new(StatusCache::new()) };
}

/// Returns which tools are available, by the first origin that responds or by its last report.
///
/// # Errors
/// `tool-unavailable` if none does: then nothing is known.
pub(crate) async fn tools(context: &RequestContext<'_>) -> Result<Response, Problem> {
    let cached = CACHE.with_borrow_mut(|cache| cache.get(context.incoming.now));
    let outcome = match cached {
        Some(outcome) => outcome,
        None => {
            let asked =
                origin::status(context).await.ok_or_else(|| OriginError::Refused.problem_without_call());
            CACHE.with_borrow_mut(|cache| cache.store(asked.clone(), clock::now()));
            asked
        }
    };
    Ok(Response::json(outcome?.to_json()))
}
