//! `POST /hooks/products/{source_id}`.

use serde_json::{Map, Value, json};

use super::super::{
    super::{outcome::references, reference},
    example, refusal,
    texts::Tag,
};

/// Returns the description of a push.
pub(super) fn describe() -> Value {
    let refusals = refusal::of_push().into_iter().map(refusal::Refusal::refer);
    let success = |description: &str, example: Value| {
        json!({
            "description": description,
            "headers": references(&["x-request-id"]),
            "content": { "application/json": { "schema": reference("schemas", "PushResult"), "example": example } },
        })
    };
    let taken = success("The changes are taken.", example::push_result());
    let fetching = success(
        "The feed is being fetched.",
        json!({ "object": "push", "result": "fetching", "changed": 0, "faulty": 0 }),
    );
    let answers = [("200".to_owned(), taken), ("202".to_owned(), fetching)];
    let responses: Map<_, _> = refusals.chain(answers).collect();
    json!({
        "operationId": "push_products",
        "tags": [Tag::Products.name()],
        "summary": "Push products",
        "description": "Called by a shop, without a key. The body is signed with the secret of the source: by Standard Webhooks (`webhook-id`, `webhook-timestamp`, `webhook-signature`), by Shopify (`X-Shopify-Hmac-SHA256`) or by WooCommerce (`X-WC-Webhook-Signature`). Shopify and WooCommerce send their own bodies. A signed body without `upsert` and `delete` has the feed fetched, once a minute at most.",
        "security": [],
        "parameters": [reference("parameters", "source_id")],
        "requestBody": {
            "required": false,
            "content": { "application/json": { "schema": reference("schemas", "Push"), "example": example::push() } },
        },
        "responses": responses,
    })
}
