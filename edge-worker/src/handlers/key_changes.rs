//! `GET /internal/keys/changes`: what proxies that verify keys by themselves have to know.

use shared::{keys_api::ChangesRequest, origin_token::OriginToken, problem::Problem, response::Response};

use crate::{context::RequestContext, key_change_feed, log::Line};

pub(crate) async fn handle(
    context: &RequestContext<'_>,
    query: Option<&str>,
    line: &mut Line,
) -> Result<Response, Problem> {
    context.address.check_confidential(context.bindings.http_allowed)?;
    let header = context.incoming.header("authorization");
    let token = OriginToken::verify(header, &context.bindings.grants, context.incoming.now)?;
    line.origin = Some(token.data_centre);
    let asked = ChangesRequest::read(query)?;
    Ok(Response::json(key_change_feed::read(context, asked).await?))
}
