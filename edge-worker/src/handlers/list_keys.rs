//! `GET /v1/keys`: every key, a page at a time.

use shared::{
    keys_api::{ListRequest, describe_page},
    problem::Problem,
    response::Response,
};

use crate::{admin, edge::Edge, key_store};

pub(crate) async fn handle(edge: &Edge<'_>, query: Option<&str>) -> Result<Response, Problem> {
    admin::authorize(edge).await?;
    let signing = &edge.bindings.signing;
    let asked = ListRequest::read(query, signing)?;
    let (records, next) = key_store::list(&edge.bindings.keys, &asked, edge.incoming).await?;
    Ok(Response::json(describe_page(&records, next.as_ref(), signing).to_string()))
}
