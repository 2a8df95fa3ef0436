//! `GET /v1/keys`: every key, a page at a time.

use shared::{
    key::{ListRequest, describe_page},
    problem::Problem,
    written::Written,
};

use crate::{admin, edge::Edge, key_store};

pub(crate) async fn handle(edge: &Edge<'_>, query: Option<&str>) -> Result<Written, Problem> {
    admin::authorize(edge).await?;
    let asked = ListRequest::read(query)?;
    let (records, cursor) = key_store::list(&edge.bindings.keys, &asked, edge.incoming).await?;
    Ok(Written::json(describe_page(&records, cursor.as_deref()).to_string()))
}
