//! `GET /v1/keys`: all keys, in pages.

use shared::keys_api::{ListRequest, describe_page};
use shared::problem::Problem;
use shared::response::Response;

use crate::context::RequestContext;
use crate::gateway::{admin, key_store};

pub(crate) async fn handle(context: &RequestContext<'_>, query: Option<&str>) -> Result<Response, Problem> {
    admin::authorize(context).await?;
    let signing = &context.bindings.signing;
    let request = ListRequest::read(query, signing)?;
    let (records, next) = key_store::list(&context.bindings.keys, &request, context.request.id).await?;
    Ok(Response::json(describe_page(&records, next.as_ref(), signing).to_string()))
}
