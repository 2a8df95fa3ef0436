//! `GET /tools`, `/tools/{tool}`, `/tools/openapi.json` and `/docs/tools`.

use std::cell::RefCell;
use std::rc::Rc;

use portal::asset::Asset;
use portal::docs::tools_page;
use shared::catalog::Catalog;
use shared::catalog_cache::CatalogCache;
use shared::origin::OriginError;
use shared::problem::Problem;
use shared::response::Response;
use shared::route::ToolsRoute;

use crate::assets;
use crate::context::RequestContext;
use crate::gateway::origin;

thread_local! {
    static CACHE: RefCell<CatalogCache> = const { RefCell::new(CatalogCache::new()) };
}

/// Returns a part of the catalog.
///
/// # Errors
/// As [`catalog`].
pub(crate) async fn read(context: &RequestContext<'_>, route: ToolsRoute) -> Result<Response, Problem> {
    Ok(catalog(context).await?.respond(route, context.public_url()))
}

/// Returns the page for people. Without a catalog it says so, with status 503.
///
/// # Errors
/// `internal` if the page cannot be read.
pub(crate) async fn page(context: &RequestContext<'_>) -> Result<Response, Problem> {
    let template = assets::text(context, Asset::ToolsPage).await?;
    let catalog = catalog(context).await;
    Ok(tools_page(&template, catalog.as_deref(), context.public_url()))
}

/// Returns what the tools say of themselves, as the first origin that responds reports it. A catalog is
/// cached for ten seconds, and the last one is kept while no origin responds.
///
/// # Errors
/// `tool-unavailable` if no origin has responded since the isolate started.
pub(crate) async fn catalog(context: &RequestContext<'_>) -> Result<Rc<Catalog>, Problem> {
    let cached = CACHE.with_borrow_mut(|cache| cache.get(context.request.now));
    let catalog = match cached {
        Some(catalog) => Some(catalog),
        None => {
            let read = origin::catalog(context).await;
            CACHE.with_borrow_mut(|cache| cache.store(read))
        }
    };
    catalog.ok_or_else(|| OriginError::Refused.problem_without_call())
}
