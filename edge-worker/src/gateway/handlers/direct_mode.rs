//! The internal API for proxies in direct mode: the key-change feed, and the meters of many keys for those that hold
//! leases.

use futures_util::future::join_all;
use shared::keys_api::ChangesRequest;
use shared::meter::{BulkReplies, BulkRequest};
use shared::origin_token::OriginToken;
use shared::problem::Problem;
use shared::response::Response;

use crate::caller::{Answer, Caller};
use crate::context::RequestContext;
use crate::gateway::{key_change_feed, meter_client};
use crate::runtime::body;

/// `GET /internal/keys/changes`
pub(crate) async fn key_changes(context: &RequestContext<'_>, query: Option<&str>) -> Answer {
    let caller = proxy(context)?;
    let request = caller.check(ChangesRequest::read(query))?;
    let changes = key_change_feed::read(context, request).await;
    caller.answer(changes.map(Response::json))
}

/// `POST /internal/meter`: asks the meters in parallel. The slowest one decides when the replies leave.
pub(crate) async fn meters(context: &RequestContext<'_>) -> Answer {
    let caller = proxy(context)?;
    let body = caller.check(body::read(context.request, &context.head, BulkRequest::MAX_BYTES).await)?;
    let request = caller.check(BulkRequest::from_json(&body).map_err(Problem::from))?;
    // Never `try_join_all`: one meter that fails must not take the leases of all other keys with
    // it.
    let replies = join_all(request.asks().iter().map(|ask| meter_client::relay(context, ask))).await;
    caller.answer(Ok(Response::json(BulkReplies::new(replies).to_json())))
}

/// Returns the proxy whose token a request has.
fn proxy(context: &RequestContext<'_>) -> Result<Caller, Problem> {
    context.address.check_confidential(context.bindings.http_allowed)?;
    let header = context.request.header("authorization");
    let token = OriginToken::verify(header, &context.bindings.grants, context.request.now)?;
    Ok(Caller { data_center: Some(token.data_center), ..Caller::default() })
}
