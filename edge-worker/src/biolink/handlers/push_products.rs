//! `POST /hooks/products/{source_id}`: a shop pushes changes. Its signature stands for a key.

use std::cell::RefCell;

use biolink::page::SourceId;
use biolink::pages_api::{account_unavailable, push_limited, push_unknown, push_unsigned};
use biolink::product_sync::{MAX_PUSH_BYTES, PUSH_HEADERS, PushReply, PushRequest, SourceMessage};
use biolink::visitor::check_unknown_pages;
use serde_json::json;
use shared::caller::bucket;
use shared::json;
use shared::minute_counters::MinuteCounters;
use shared::problem::{Problem, codes};
use shared::response::Response;

use crate::biolink::product_sources;
use crate::context::RequestContext;
use crate::runtime::client_request::CLIENT_ADDRESS;
use crate::runtime::{body, clock, log};

thread_local! {
    /// Addresses whose pushes were refused.
    static REFUSED: RefCell<MinuteCounters> = const { RefCell::new(MinuteCounters::new()) };
}

pub(crate) async fn handle(context: &RequestContext<'_>, id: &SourceId) -> Result<Response, Problem> {
    let request = context.request;
    let address = request.header(CLIENT_ADDRESS);
    let bucket = address.map(|address| bucket(Some(address), "pushes", &context.bindings.signing));
    if let Some(bucket) = bucket {
        REFUSED
            .with_borrow(|counters| check_unknown_pages(counters, bucket, clock::now()))
            .map_err(|_| push_limited())?;
    }
    // Shops send bodies of many types, and some send none.
    let types = ["text/plain", "application/x-www-form-urlencoded"];
    let body = body::read_as(request, &context.head, &types, MAX_PUSH_BYTES).await?;
    let body = String::from_utf8(body);
    let body = body.map_err(|_| Problem::new(codes::BODY_MALFORMED, "the body is not UTF-8"))?;
    let header = |name: &str| request.header(name).map(|value| (name.to_owned(), value.to_owned()));
    let push = PushRequest { headers: PUSH_HEADERS.into_iter().filter_map(header).collect(), body };
    // WooCommerce tries an address with it, unsigned. Refused, it would count against the shop.
    if push.is_trial() {
        return Ok(result(200, "ignored", 0, 0));
    }
    let reply =
        product_sources::call(&context.biolink()?.product_sources, id, &SourceMessage::Push(push)).await;
    let reply = reply.and_then(|reply| Ok(json::from_str(&reply)?)).map_err(|error| {
        log::error(log::Event("push failed"), Some(request.id), &[("error", &error)]);
        account_unavailable()
    })?;
    let refusal = match reply {
        PushReply::Taken { changed, faulty } => return Ok(result(200, "taken", changed, faulty)),
        PushReply::Fetching => return Ok(result(202, "fetching", 0, 0)),
        PushReply::Ignored => return Ok(result(200, "ignored", 0, 0)),
        PushReply::Malformed(detail) => return Err(Problem::new(codes::BODY_MALFORMED, detail)),
        PushReply::Unknown => push_unknown(),
        PushReply::Unsigned(detail) => push_unsigned(detail),
    };
    if let Some(bucket) = bucket {
        // Refusals alone count. A shop with a valid signature may push as often as it likes.
        REFUSED.with_borrow_mut(|counters| counters.record(bucket, clock::now()));
    }
    Err(refusal)
}

fn result(status: u16, result: &str, changed: usize, faulty: usize) -> Response {
    let body = json!({ "object": "push", "result": result, "changed": changed, "faulty": faulty });
    Response { status, ..Response::json(body.to_string()) }
}
