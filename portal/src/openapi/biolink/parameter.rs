//! The parameters of operations.

mod analytics;
mod webhooks;

pub(super) use webhooks::{delivered_names, webhooks_names};

use biolink::{pages_api::PageStatus, route::PagesEndpoint};
use serde_json::{Value, json};

use super::example;

/// Returns the names of an operation's parameters, as [`components`] has them.
pub(super) fn names(endpoint: PagesEndpoint) -> impl Iterator<Item = &'static str> {
    use PagesEndpoint as E;
    let has = |part: &str| endpoint.path().contains(part);
    let of_list = ["limit", "cursor", "status", "slug", "external_id", "tag", "q"];
    [
        ("page_id", has("{page_id}")),
        ("link_id", has("{link_id}")),
        ("source_id", has("{source_id}")),
        ("revision", has("{revision}")),
        ("dry_run", endpoint.is_write()),
        (
            "if_match",
            endpoint.is_write()
                && has("{page_id}")
                && endpoint != E::ResetAnalytics
                && !endpoint.is_of_sources(),
        ),
        ("if_none_match", endpoint == E::Read),
        ("idempotency_key", endpoint.takes_idempotency_key()),
        ("confirm", endpoint == E::Erase),
        ("keep_products", endpoint == E::DeleteSource),
    ]
    .into_iter()
    .chain(of_list.map(|name| (name, endpoint == E::List)))
    .chain([(analytics::PAGES, matches!(endpoint, E::Analytics | E::LiveAnalytics))])
    .chain(analytics::names().map(move |name| (name, endpoint == E::Analytics)))
    .filter_map(|(name, is_taken)| is_taken.then_some(name))
}

/// Returns every parameter component by name.
#[allow(clippy::too_many_lines, reason = "a table with a row for each parameter")]
pub(super) fn components() -> Value {
    let ids = example::ids();
    let id = |name: &str, prefix: &str, example: &str, about: &str| {
        json!({
            "name": name, "in": "path", "required": true, "description": about, "example": example,
            "schema": { "type": "string", "pattern": format!("^{prefix}_[0-9A-Za-z]{{17}}$") },
        })
    };
    let query = |name: &str, about: &str, schema: Value| json!({ "name": name, "in": "query", "description": about, "schema": schema });
    let header = |name: &str, about: &str, example: &str, schema: Value| json!({ "name": name, "in": "header", "description": about, "example": example, "schema": schema });
    let text = || json!({ "type": "string" });
    let status = json!({ "type": "string", "enum": PageStatus::ALL.map(PageStatus::as_str) });
    let mut components = json!({
        "page_id": id("page_id", "pg", &ids.page, "The page's `id`."),
        "link_id": id("link_id", "lnk", &ids.link, "The link's `id`."),
        "source_id": id("source_id", "src", &ids.source, "The product source's `id`."),
        "keep_products": query(
            "keep_products",
            "Whether the products stay on the page.",
            json!({ "type": "boolean", "default": false }),
        ),
        "revision": {
            "name": "revision", "in": "path", "required": true, "description": "The number of a revision.", "example": 1,
            "schema": { "type": "integer", "format": "int64", "minimum": 1 },
        },
        "page_or_slug": {
            "name": "page_id", "in": "path", "required": true, "description": "The page's `id`, or a slug of it.",
            "example": ids.page, "schema": { "type": "string", "pattern": "^[A-Za-z0-9][A-Za-z0-9._-]{1,38}[A-Za-z0-9]$" },
        },
        "account_id": id("id", "key", &ids.account, "The account's `id`, or that of another key of it."),
        "confirm": {
            "name": "confirm", "in": "query", "required": true, "description": "The account's `id`, which shows that it is meant.",
            "example": ids.account, "schema": { "type": "string", "pattern": "^key_[0-9A-Za-z]{17}$" },
        },
        "limit_reports": query(
            "limit",
            "The most reports in the response.",
            json!({ "type": "integer", "minimum": 1, "maximum": 100, "default": 50 }),
        ),
        "cursor_reports": query("cursor", "The `cursor` of the response before.", text()),
        "page": query("page", "Only reports of the page with this id.", json!({ "type": "string", "pattern": "^pg_[0-9A-Za-z]{17}$" })),
        "dry_run": query(
            "dry_run",
            "Whether the call is only tried: it is validated, and the response shows what would be stored.",
            json!({ "type": "boolean", "default": false }),
        ),
        "if_match": header(
            "If-Match",
            "The ETag that the page must still have. Without it, the last write wins.",
            "\"v1\"",
            text(),
        ),
        "if_none_match": header("If-None-Match", "The ETag of a copy that is at hand.", "\"v1\"", text()),
        "idempotency_key": header(
            "Idempotency-Key",
            "Names the request for 24 hours: sent again, it gets the stored response. A UUID for instance.",
            "7c9e6679-7425-40de-944b-e07fc1f90ae7",
            json!({ "type": "string", "minLength": 1, "maxLength": 255, "pattern": r"^[!-+\x2D-~]+$" }),
        ),
        "limit": query(
            "limit",
            "The most pages in the response.",
            json!({ "type": "integer", "minimum": 1, "maximum": 100, "default": 25 }),
        ),
        "cursor": query("cursor", "The `next_cursor` of the response before.", text()),
        "status": query("status", "Only pages with this status.", status),
        "slug": query("slug", &format!("Only the page with this slug, such as `{}`.", example::SLUG), text()),
        "external_id": query("external_id", "Only the page with this `external_id`.", text()),
        "tag": query("tag", "Only pages with this tag.", text()),
        "q": query("q", "Only pages with this text in their title or slug, in any case.", text()),
    });
    if let Some(components) = components.as_object_mut() {
        components.extend(analytics::components(&ids.page));
        components.extend(webhooks::components(&ids.page));
    }
    components
}
