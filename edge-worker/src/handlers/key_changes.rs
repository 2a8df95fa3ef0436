//! `GET /internal/keys/changes`: what proxies that verify keys by themselves have to know.

use shared::{keys_api::ChangesRequest, origin_token::OriginToken, problem::Problem, response::Response};

use crate::{edge::Edge, key_changes, log::Line};

pub(crate) async fn handle(
    edge: &Edge<'_>,
    query: Option<&str>,
    line: &mut Line,
) -> Result<Response, Problem> {
    edge.address.check_confidential(edge.bindings.http_allowed)?;
    let header = edge.incoming.header("authorization");
    let token = OriginToken::verify(header, &edge.bindings.grants, edge.incoming.now)?;
    line.origin = Some(token.data_centre);
    let asked = ChangesRequest::read(query)?;
    Ok(Response::json(key_changes::read(edge, asked).await?))
}
