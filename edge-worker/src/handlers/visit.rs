//! What visitors open: pages and their links.

use shared::{
    page::Slug,
    pages_api::{Served, page_not_found, respond},
    problem::Problem,
    response::Response,
    route::Visit,
};

use crate::{clock, context::RequestContext, page_store, pages_client};

pub(crate) async fn handle(
    context: &RequestContext<'_>,
    visit: &Visit<'_>,
    query: Option<&str>,
) -> Result<Response, Problem> {
    let slug = visit.slug().ok_or_else(page_not_found)?;
    let served = find(context, &slug).await?;
    respond(served, &slug, visit.part, query, context.public_url(), clock::now())
}

/// Returns what there is at a slug: from KV, or from the account if KV shows nothing, because KV
/// caches absence and a page may have been published since.
async fn find(context: &RequestContext<'_>, slug: &Slug) -> Result<Served, Problem> {
    let snapshot = match page_store::find(context, slug).await {
        Some(snapshot) => Some(snapshot),
        None => pages_client::find(context, slug).await?,
    };
    Ok(Served::of(snapshot, clock::now()))
}
