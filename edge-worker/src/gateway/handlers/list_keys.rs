//! `GET /v1/keys`: all keys, in pages.

use shared::keys_api::ListRequest;
use shared::problem::Problem;
use shared::response::Response;

use crate::context::RequestContext;
use crate::gateway::{admin, key_directory};

pub(crate) async fn handle(context: &RequestContext<'_>, query: Option<&str>) -> Result<Response, Problem> {
    admin::authorize(context).await?;
    let signing = &context.bindings.signing;
    let request = ListRequest::read(query, signing)?;
    let page = key_directory::list(context, request.to_message(query)).await?;
    Ok(Response::json(request.describe(&page, signing)))
}
