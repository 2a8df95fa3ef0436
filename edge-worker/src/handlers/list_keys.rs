//! `GET /v1/keys`: every key, a page at a time.

use shared::{
    key::{ListRequest, describe_page},
    problem::Problem,
};

use crate::{admin, edge::Edge, key_store, respond::Answer};

pub(crate) async fn handle(edge: &Edge<'_>, query: Option<&str>) -> Result<Answer, Problem> {
    admin::authorize(edge).await?;
    let asked = ListRequest::read(query)?;
    let (records, cursor) = key_store::list(&edge.bindings.keys, &asked, edge.incoming).await?;
    Ok(Answer::json(describe_page(&records, cursor.as_deref()).to_string()))
}
