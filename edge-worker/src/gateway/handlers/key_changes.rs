//! `GET /internal/keys/changes`: the key-change feed for proxies in direct mode.

use shared::keys_api::ChangesRequest;
use shared::origin_token::OriginToken;
use shared::problem::Problem;
use shared::response::Response;

use crate::access_log::AccessRecord;
use crate::context::RequestContext;
use crate::gateway::key_change_feed;

pub(crate) async fn handle(
    context: &RequestContext<'_>,
    query: Option<&str>,
    access: &mut AccessRecord,
) -> Result<Response, Problem> {
    context.address.check_confidential(context.bindings.http_allowed)?;
    let header = context.request.header("authorization");
    let token = OriginToken::verify(header, &context.bindings.grants, context.request.now)?;
    access.asking = Some(token.data_centre);
    let request = ChangesRequest::read(query)?;
    Ok(Response::json(key_change_feed::read(context, request).await?))
}
