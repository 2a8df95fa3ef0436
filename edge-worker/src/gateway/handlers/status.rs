//! `GET /v1/status` and `GET /status`.

use std::cell::RefCell;

use portal::asset::Asset;
use portal::docs::{SERVICE_LINKS, status_page};
use shared::origin::OriginError;
use shared::problem::Problem;
use shared::response::Response;
use shared::status::{StatusCache, StatusOutcome};

use crate::assets;
use crate::context::RequestContext;
use crate::gateway::{origin, status_history};
use crate::runtime::clock;

thread_local! {
    static CACHE: RefCell<StatusCache> = const { RefCell::new(StatusCache::new()) };
}

/// Returns the availability of the tools, as the first origin that responds reports it. A report is
/// cached for a second.
///
/// # Errors
/// `tool-unavailable` if no origin responds.
pub(crate) async fn tools(context: &RequestContext<'_>) -> Result<Response, Problem> {
    let report = outcome(context).await?;
    Ok(Response::json(report.to_json()).with_headers([("link", SERVICE_LINKS)]))
}

/// Returns the page for people, whatever the outcome is.
///
/// # Errors
/// `internal` if the page cannot be read.
pub(crate) async fn page(context: &RequestContext<'_>) -> Result<Response, Problem> {
    let template = assets::text(context, Asset::StatusPage).await?;
    let outcome = outcome(context).await;
    let record = status_history::read(context).await.ok();
    Ok(status_page(&template, &outcome, record.as_deref(), clock::now()))
}

async fn outcome(context: &RequestContext<'_>) -> StatusOutcome {
    let cached = CACHE.with_borrow_mut(|cache| cache.get(context.request.now));
    match cached {
        Some(outcome) => outcome,
        None => {
            let report = origin::status(context.bindings, context.request.id).await;
            let report = report.ok_or_else(|| OriginError::Refused.problem_without_call());
            // A failure too: while all origins are down, each reader would otherwise wait for every
            // one of them.
            CACHE.with_borrow_mut(|cache| cache.store(report.clone(), clock::now()));
            report
        }
    }
}
