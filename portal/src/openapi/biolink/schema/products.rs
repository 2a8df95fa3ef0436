//! The schemas of product sources.

use biolink::fetch_url::FetchUrl;
use biolink::page::document::Availability;
use biolink::product_feed::{FeedFormat, Order};
use biolink::product_sync::{MAX_ITEMS, MAX_TAGS, RunOutcome, RunTrigger, SyncStatus};
use serde_json::{Map, Value, json};

use super::parts::Presence::{Defaulted, Nullable, Optional, Required};
use super::parts::{
    Member, Use, boolean, constant, described, limited, list, member, names, names_of, object, text, time,
    url,
};

/// Returns the components of product sources.
pub(super) fn components() -> Map<String, Value> {
    let number = |about: &str| json!({ "type": "integer", "description": about });
    [
        ("ProductSourceInput", source(Use::Input)),
        ("ProductSourcePatch", source(Use::Patch)),
        ("ProductSource", source(Use::Output)),
        (
            "ProductSourceList",
            object(Use::Output, vec![constant("object", "list"), member("data", Required, list("ProductSource"))]),
        ),
        (
            "ProductSourceRunList",
            object(
                Use::Output,
                vec![
                    constant("object", "list"),
                    member("data", Required, json!({ "type": "array", "items": object(Use::Output, run()) })),
                ],
            ),
        ),
        (
            "Push",
            json!({
                "type": "object", "additionalProperties": true,
                "properties": {
                    "upsert": { "type": "array", "items": { "type": "object", "additionalProperties": true }, "description": "Products in the form of a page's items, each with an `external_id`." },
                    "delete": { "type": "array", "items": { "type": "string" }, "description": "The `external_id` of each product that is gone." },
                },
            }),
        ),
        (
            "PushResult",
            object(
                Use::Output,
                vec![
                    constant("object", "push"),
                    member("result", Required, names_of(["taken", "fetching", "ignored"])),
                    member("changed", Required, number("Products that were changed or deleted.")),
                    member("faulty", Required, number("Products that cannot be shown.")),
                ],
            ),
        ),
    ]
    .into_iter()
    .map(|(name, schema)| (name.to_owned(), schema))
    .collect()
}

fn source(of: Use) -> Value {
    let string = |about: &str| json!({ "type": "string", "description": about });
    let amount = |about: &str| json!({ "type": "string", "pattern": r"^[0-9]{1,9}(\.[0-9]{1,3})?$", "description": about });
    let formats = ["auto"].into_iter().chain(FeedFormat::ALL.map(FeedFormat::as_str));
    let feed_url = json!({ "type": "string", "format": "uri", "maxLength": FetchUrl::MAX_LEN, "description": "The feed: https, port 443 or 8443, a public host." });
    let filter = object(
        of,
        vec![
            member(
                "tags",
                Defaulted,
                described(
                    limited(json!({ "type": "array", "items": text(1, 60) }), MAX_TAGS),
                    "Tags, types or categories of the shop, of which a product has at least one.",
                ),
            ),
            member(
                "availability",
                Defaulted,
                limited(json!({ "type": "array", "items": names::<Availability>() }), 4),
            ),
            member("min_price", Nullable, amount("The lowest price.")),
            member("max_price", Nullable, amount("The highest price.")),
        ],
    );
    let mut push = vec![member("enabled", Defaulted, boolean("Whether the shop may push changes."))];
    let secret = "The secret under which the shop signs. A response has it only when it is new. A request may bring one: `whsec_…`, or what Shopify shows.";
    match of {
        Use::Output => push.extend([
            member("url", Nullable, string("Where the shop sends its pushes.")),
            member("secret", Nullable, string(secret)),
        ]),
        Use::Input | Use::Patch => push.push(member("secret", Defaulted, described(text(16, 128), secret))),
    }
    let mut members = vec![
        member("url", Required, feed_url),
        member("format", Defaulted, names_of(formats)),
        member(
            "currency",
            if of == Use::Output { Nullable } else { Defaulted },
            json!({ "type": "string", "pattern": "^[A-Z]{3}$", "description": "That of prices without one (ISO 4217). Required for Shopify." }),
        ),
        member(
            "store_url",
            if of == Use::Output { Nullable } else { Defaulted },
            described(
                url(),
                "Where the shop is, if its feed lies elsewhere. Shopify's products are linked to below it.",
            ),
        ),
        member(
            "max_items",
            Defaulted,
            json!({ "type": "integer", "minimum": 1, "maximum": MAX_ITEMS, "default": MAX_ITEMS }),
        ),
        member("filter", Defaulted, filter),
        member("sort", Defaulted, names_of(Order::ALL.map(Order::as_str))),
        member("push", Defaulted, object(of, push)),
    ];
    if of == Use::Output {
        members.extend(stored());
    }
    object(of, members)
}

/// Returns what only a response has.
fn stored() -> Vec<Member> {
    let id = |prefix: &str| json!({ "type": "string", "pattern": format!("^{prefix}_[0-9A-Za-z]{{17}}$") });
    let sync = vec![
        member("status", Required, names_of(SyncStatus::ALL.map(SyncStatus::as_str))),
        member(
            "held",
            Required,
            boolean("Whether the last feed would have removed most products, and waits for the next run."),
        ),
        member(
            "products",
            Required,
            json!({ "type": "integer", "description": "Products of the source on the page." }),
        ),
        member(
            "error",
            Nullable,
            json!({ "type": "string", "description": "Why the last run failed or was held." }),
        ),
        member("last_run_at", Nullable, time()),
        member("last_success_at", Nullable, time()),
        member("next_run_at", Nullable, time()),
    ];
    vec![
        member("id", Required, id("src")),
        constant("object", "product_source"),
        member("page_id", Required, id("pg")),
        member("created_at", Required, time()),
        member("updated_at", Required, time()),
        member("sync", Optional, object(Use::Output, sync)),
    ]
}

fn run() -> Vec<Member> {
    let number = |about: &str| json!({ "type": "integer", "description": about });
    let fault = vec![
        member("item", Required, number("The place in the feed, from 1; 0 for a push.")),
        member("id", Nullable, json!({ "type": "string" })),
        member("detail", Required, json!({ "type": "string" })),
    ];
    let products = ["shown", "added", "updated", "removed"]
        .map(|name| member(name, Required, json!({ "type": "integer" })));
    vec![
        member("at", Required, time()),
        member("trigger", Required, names_of(RunTrigger::ALL.map(RunTrigger::as_str))),
        member("outcome", Required, names_of(RunOutcome::ALL.map(RunOutcome::as_str))),
        member("duration_ms", Required, number("How long it took.")),
        member("http_status", Nullable, number("The status of the last response.")),
        member("format", Nullable, names_of(FeedFormat::ALL.map(FeedFormat::as_str))),
        member("items", Required, number("Items of the feed, or of the push.")),
        member("faulty", Required, number("Items that cannot be shown.")),
        member(
            "faults",
            Required,
            json!({ "type": "array", "items": object(Use::Output, fault), "description": "The first five of them." }),
        ),
        member("products", Required, object(Use::Output, products.into())),
        member("error", Nullable, json!({ "type": "string" })),
    ]
}
