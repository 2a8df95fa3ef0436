//! The internal API for proxies in direct mode: the key-change feed, and the meters of many keys for those that hold
//! leases.

use futures_util::future::join_all;
use shared::keys_api::ChangesRequest;
use shared::meter::{BulkReplies, BulkRequest};
use shared::origin_token::OriginToken;
use shared::problem::Problem;
use shared::response::Response;

use crate::access_log::AccessRecord;
use crate::context::RequestContext;
use crate::gateway::{key_change_feed, meter_client};
use crate::runtime::body;

/// `GET /internal/keys/changes`
pub(crate) async fn key_changes(
    context: &RequestContext<'_>,
    query: Option<&str>,
    access: &mut AccessRecord,
) -> Result<Response, Problem> {
    context.address.check_confidential(context.bindings.http_allowed)?;
    let header = context.request.header("authorization");
    let token = OriginToken::verify(header, &context.bindings.grants, context.request.now)?;
    access.record_asking(token.data_center);
    let request = ChangesRequest::read(query)?;
    Ok(Response::json(key_change_feed::read(context, request).await?))
}

/// `POST /internal/meter`: asks the meters in parallel. The slowest one decides when the replies leave.
pub(crate) async fn meters(
    context: &RequestContext<'_>,
    access: &mut AccessRecord,
) -> Result<Response, Problem> {
    context.address.check_confidential(context.bindings.http_allowed)?;
    let header = context.request.header("authorization");
    let token = OriginToken::verify(header, &context.bindings.grants, context.request.now)?;
    access.record_asking(token.data_center);
    let body = body::read(context.request, &context.head, BulkRequest::MAX_BYTES).await?;
    let request = BulkRequest::from_json(&body)?;
    // Never `try_join_all`: one meter that fails must not take the leases of all other keys with
    // it.
    let replies = join_all(request.asks().iter().map(|ask| meter_client::relay(context, ask))).await;
    Ok(Response::json(BulkReplies::new(replies).to_json()))
}
