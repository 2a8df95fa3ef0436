//! The operations: for each route what it takes and what may come of it. All but the texts follows
//! from the route's row.

use serde_json::{Map, Value, json};

use super::{
    super::{
        outcome::{Header, header, references},
        reference,
    },
    example::{self, Exchange},
    refusal,
};
use crate::{
    endpoint::Endpoint,
    method::Method,
    pages_api::PageStatus,
    route::{AdminEndpoint, PagesEndpoint},
};

/// What operations are listed under.
#[derive(Clone, Copy)]
pub(super) enum Tag {
    Pages,
    Links,
    Revisions,
    Account,
    Administration,
    Description,
}

impl Tag {
    pub(super) const ALL: [Self; 6] =
        [Self::Pages, Self::Links, Self::Revisions, Self::Account, Self::Administration, Self::Description];

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Pages => "pages",
            Self::Links => "links",
            Self::Revisions => "revisions",
            Self::Account => "account",
            Self::Administration => "administration",
            Self::Description => "description",
        }
    }

    pub(super) const fn about(self) -> &'static str {
        match self {
            Self::Pages => "Pages: drafts, and what visitors see.",
            Self::Links => "Single links of a page. They share the page's ETag and revisions.",
            Self::Revisions => "The last 10 revisions of a page, and the live one.",
            Self::Account => "The account: its plan, what it has used, and all that it has stored.",
            Self::Administration => "The operator's calls against abuse, with the admin secret.",
            Self::Description => "The API's own description.",
        }
    }
}

/// The texts of an operation: its id, its summary, and more about it.
struct Texts(Tag, &'static str, &'static str, &'static str);

/// The headers of responses.
pub(super) const HEADERS: [Header; 11] = [
    header("x-request-id", "Names the request, here and in every log.", "5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a"),
    header("x-gateway-problem", "The problem's code.", "page-unknown"),
    header("ratelimit-policy", "Calls (q) in so many seconds (w).", "\"hour\";q=1000;w=3600"),
    header(
        "ratelimit",
        "Calls that are left (r), and seconds (t) until more are to be had.",
        "\"hour\";r=998;t=3541",
    ),
    header("retry-after", "Seconds after which to try again.", "41"),
    header("www-authenticate", "How to authenticate.", "ApiKey realm=\"tools\", header=\"X-API-Key\""),
    header("allow", "The methods that the path takes.", "GET, POST, OPTIONS"),
    header("accept", "The media types that the path takes.", "application/json"),
    header("etag", "The version, for If-Match and If-None-Match.", "\"v1\""),
    header("location", "The path of the new page.", "/pages/pg_0123456789abcdefg"),
    header("idempotency-replayed", "`true` if the response is the stored one of an earlier request.", "true"),
];

/// Returns the description of an endpoint; `None` for one of another product, and for what visitors
/// open: an OpenAPI path `/{slug}` would be every other path too.
pub(super) fn describe(endpoint: Endpoint) -> Option<Value> {
    match endpoint {
        Endpoint::Pages(endpoint) => Some(pages(endpoint)),
        Endpoint::Admin(endpoint) => Some(admin(endpoint)),
        Endpoint::PagesOpenApi => Some(description()),
        Endpoint::CallTool(..)
        | Endpoint::IssueKey
        | Endpoint::ReadOwnKey
        | Endpoint::RotateOwnKey
        | Endpoint::RevokeOwnKey
        | Endpoint::ListKeys
        | Endpoint::ReadKey
        | Endpoint::ChangeKey
        | Endpoint::RevokeKey
        | Endpoint::RotateKey
        | Endpoint::KeyChanges
        | Endpoint::Health
        | Endpoint::Status
        | Endpoint::OpenApi
        | Endpoint::Docs
        | Endpoint::ProblemPage
        | Endpoint::Site(_)
        | Endpoint::Visit(_)
        | Endpoint::Preflight => None,
    }
}

const fn texts(endpoint: PagesEndpoint) -> Texts {
    use PagesEndpoint as E;
    match endpoint {
        E::List => Texts(
            Tag::Pages,
            "list_pages",
            "List pages",
            "The newest first, without their content. Filters are combined.",
        ),
        E::Create => Texts(
            Tag::Pages,
            "create_page",
            "Create a page",
            "Without `slug`, one is drawn. With `status` `published` visitors see the page at once. A dry run responds with 200.",
        ),
        E::Read => Texts(
            Tag::Pages,
            "read_page",
            "Read a page",
            "The page with the content of its newest revision, which visitors see once it is published.",
        ),
        E::Replace => Texts(
            Tag::Pages,
            "replace_page",
            "Replace a page",
            "What is left out gets its default. The slug stays if it is left out. A page may be sent back as it was read: read-only fields are ignored.",
        ),
        E::Patch => Texts(
            Tag::Pages,
            "patch_page",
            "Change a page",
            "A JSON Merge Patch (RFC 7396): what is left out stays, null resets a field, and an array replaces the one there is.",
        ),
        E::Delete => Texts(
            Tag::Pages,
            "delete_page",
            "Delete a page",
            "Visitors get 410. The slug is reserved for the account for 30 days.",
        ),
        E::Publish => Texts(
            Tag::Pages,
            "publish_page",
            "Publish a page",
            "Visitors see the newest revision. Nothing changes if they see it already.",
        ),
        E::Unpublish => Texts(
            Tag::Pages,
            "unpublish_page",
            "Take a page down",
            "Visitors get 410 until the page is published again.",
        ),
        E::Revisions => Texts(
            Tag::Revisions,
            "list_revisions",
            "List the revisions of a page",
            "The last 10 revisions and the live one, the newest first.",
        ),
        E::ReadRevision => {
            Texts(Tag::Revisions, "read_revision", "Read a revision", "The content as it was then.")
        }
        E::Restore => Texts(
            Tag::Revisions,
            "restore_revision",
            "Restore a revision",
            "Its content becomes the newest revision. The live page stays until the next publish.",
        ),
        E::AddLink => Texts(Tag::Links, "add_link", "Add a link", "The link comes last."),
        E::PatchLink => Texts(
            Tag::Links,
            "patch_link",
            "Change a link",
            "A JSON Merge Patch (RFC 7396): what is left out stays, and null resets a field.",
        ),
        E::DeleteLink => Texts(Tag::Links, "delete_link", "Delete a link", "The other links stay in order."),
        E::OrderLinks => Texts(
            Tag::Links,
            "order_links",
            "Order the links",
            "Takes the id of every link of the page once.",
        ),
        E::Account => Texts(
            Tag::Account,
            "read_account",
            "Read the account",
            "Plan, pages and calls left. Free of charge, and for keys of every plan.",
        ),
        E::Export => Texts(
            Tag::Account,
            "export_account",
            "Export the account",
            "All that is stored, as one JSON object on each line: the account, the key, each page with its revisions. Without the last line, `{\"object\":\"end\"}`, it is not complete. For keys of every plan.",
        ),
        E::Erase => Texts(
            Tag::Account,
            "erase_account",
            "Erase what the account has stored",
            "All pages, revisions and stored responses, for good. Keys stay. Free of charge, and for keys of every plan.",
        ),
    }
}

const fn admin_texts(endpoint: AdminEndpoint) -> Texts {
    use AdminEndpoint as E;
    let (id, summary, about) = match endpoint {
        E::ReadPage => ("admin_read_page", "Read a page as its operator", "A slug may stand for the id."),
        E::SuspendPage => (
            "suspend_page",
            "Suspend a page",
            "Links stop at once, and within 60 seconds visitors get 410 everywhere. The owner can read and edit the page.",
        ),
        E::RestorePage => (
            "restore_page",
            "End the suspension of a page",
            "The page is as it was. A page of a suspended account stays hidden.",
        ),
        E::ReadAccount => ("admin_read_account", "Read an account as its operator", "With all of its pages."),
        E::SuspendAccount => {
            ("suspend_account", "Suspend an account", "As each of its pages. It cannot publish others.")
        }
        E::RestoreAccount => (
            "restore_account",
            "End the suspension of an account",
            "Pages that are suspended themselves stay hidden.",
        ),
        E::ReadDeniedHosts => ("read_denied_hosts", "Read the deny list", "Hosts that no page may lead to."),
        E::ReplaceDeniedHosts => (
            "replace_denied_hosts",
            "Replace the deny list",
            "New links to these hosts, and to all below them, are refused. Links that exist lead to 410.",
        ),
        E::ListReports => (
            "list_reports",
            "List the reports of visitors",
            "The newest first. They are kept for 180 days and hold nothing about who sent them.",
        ),
    };
    Texts(Tag::Administration, id, summary, about)
}

/// Returns the schema component of a request's body.
const fn request_schema(endpoint: PagesEndpoint) -> &'static str {
    use PagesEndpoint as E;
    match endpoint {
        E::Patch => "PagePatch",
        E::AddLink => "LinkInput",
        E::PatchLink => "LinkPatch",
        E::OrderLinks => "LinkOrder",
        _ => "PageInput",
    }
}

/// Returns the schema component of a successful response.
const fn response_schema(endpoint: PagesEndpoint) -> &'static str {
    use PagesEndpoint as E;
    match endpoint {
        E::List => "PageList",
        E::Revisions => "RevisionList",
        E::ReadRevision => "Revision",
        E::Account => "Account",
        E::Export => "ExportLine",
        _ => "Page",
    }
}

/// Returns the schema component of a request's body, whether there must be one, and the component
/// of the response.
const fn admin_schemas(endpoint: AdminEndpoint) -> (&'static str, bool, &'static str) {
    use AdminEndpoint as E;
    match endpoint {
        E::ReadPage | E::SuspendPage | E::RestorePage => ("SuspensionInput", false, "InspectedPage"),
        E::ReadAccount | E::SuspendAccount | E::RestoreAccount => {
            ("SuspensionInput", false, "InspectedAccount")
        }
        E::ReadDeniedHosts | E::ReplaceDeniedHosts => ("DeniedHostsInput", true, "DeniedHosts"),
        E::ListReports => ("", false, "ReportList"),
    }
}

fn admin(endpoint: AdminEndpoint) -> Value {
    let Texts(tag, id, summary, about) = admin_texts(endpoint);
    let (request, is_required, response) = admin_schemas(endpoint);
    let exchange = example::administered(endpoint);
    let success = json!({
        "description": "It is done, or what was asked for.",
        "headers": references(&["x-request-id"]),
        "content": { "application/json": { "schema": reference("schemas", response), "example": exchange.response } },
    });
    let refusals = refusal::of_admin(endpoint).into_iter().map(refusal::Refusal::refer);
    let responses: Map<_, _> = refusals.chain([("200".to_owned(), success)]).collect();
    let mut operation = json!({
        "operationId": id, "tags": [tag.name()], "summary": summary, "description": about,
        "security": [{ "AdminSecret": [] }], "responses": responses,
    });
    let has = |part: &str| endpoint.path().contains(part);
    let is_list = endpoint == AdminEndpoint::ListReports;
    let parameters = [
        ("page_or_slug", has("{page_id}")),
        ("account_id", has("{id}")),
        ("limit_reports", is_list),
        ("cursor_reports", is_list),
        ("page", is_list),
    ];
    let parameters = parameters.into_iter().filter(|(_, is_taken)| *is_taken);
    let parameters: Vec<_> = parameters.map(|(name, _)| reference("parameters", name)).collect();
    let Some(members) = operation.as_object_mut() else { return operation };
    if !parameters.is_empty() {
        members.insert("parameters".to_owned(), parameters.into());
    }
    if let Some(body) = exchange.request {
        let content = json!({ "schema": reference("schemas", request), "example": body });
        let body = json!({ "required": is_required, "content": { "application/json": content } });
        members.insert("requestBody".to_owned(), body);
    }
    operation
}

fn pages(endpoint: PagesEndpoint) -> Value {
    let Texts(tag, id, summary, about) = texts(endpoint);
    let exchange = example::exchange(endpoint);
    let mut operation = json!({
        "operationId": id,
        "tags": [tag.name()],
        "summary": summary,
        "description": about,
        "security": [{ "ApiKey": [] }],
        "responses": responses(endpoint, &exchange),
    });
    let Some(members) = operation.as_object_mut() else { return operation };
    let parameters: Vec<_> = parameter_names(endpoint).map(|name| reference("parameters", name)).collect();
    if !parameters.is_empty() {
        members.insert("parameters".to_owned(), parameters.into());
    }
    if let Some(body) = exchange.request {
        let content = json!({ "schema": reference("schemas", request_schema(endpoint)), "example": body });
        let body = json!({ "required": true, "content": { "application/json": content } });
        members.insert("requestBody".to_owned(), body);
    }
    operation
}

fn responses(endpoint: PagesEndpoint, exchange: &Exchange) -> Map<String, Value> {
    let mut responses: Map<_, _> =
        refusal::of_pages(endpoint).into_iter().map(refusal::Refusal::refer).collect();
    let mut headers = vec!["x-request-id"];
    if !matches!(endpoint, PagesEndpoint::Account | PagesEndpoint::Erase) {
        headers.extend(["ratelimit", "ratelimit-policy"]);
    }
    if endpoint.method() == Method::Post {
        headers.push("idempotency-replayed");
    }
    let Some(body) = &exchange.response else {
        let gone = json!({ "description": "It is done.", "headers": references(&headers) });
        responses.insert(exchange.status.to_string(), gone);
        return responses;
    };
    let schema = response_schema(endpoint);
    if schema == "Page" {
        headers.push("etag");
    }
    let mut content = json!({ "schema": reference("schemas", schema) });
    if let Some(content) = content.as_object_mut() {
        // All responses with a page share one example, which keeps the text short.
        match schema {
            "Page" => content.insert("examples".to_owned(), json!({ "page": reference("examples", "Page") })),
            _ => content.insert("example".to_owned(), body.clone()),
        };
    }
    let media_type =
        if endpoint == PagesEndpoint::Export { "application/x-ndjson" } else { "application/json" };
    let content = json!({ media_type: content });
    let success = |description: &str, headers: &[&str]| json!({ "description": description, "headers": references(headers), "content": content });
    if endpoint == PagesEndpoint::Create {
        responses.insert("200".to_owned(), success("A dry run: the page as it would be.", &headers));
        headers.push("location");
        responses.insert("201".to_owned(), success("The page.", &headers));
        return responses;
    }
    let description = match schema {
        "Page" => "The page as it is now.",
        "PageList" => "The pages.",
        "RevisionList" => "The revisions.",
        "Revision" => "The revision.",
        "ExportLine" => "Lines, each a JSON object.",
        _ => "The account.",
    };
    responses.insert("200".to_owned(), success(description, &headers));
    if endpoint == PagesEndpoint::Read {
        let unchanged = json!({ "description": "The page has the ETag that If-None-Match names.", "headers": references(&headers) });
        responses.insert("304".to_owned(), unchanged);
    }
    responses
}

fn description() -> Value {
    let refusals = refusal::of_open().into_iter().map(refusal::Refusal::refer);
    let example =
        json!({ "openapi": "3.0.3", "info": { "title": "Bio-link Pages API", "version": super::VERSION } });
    let success = json!({
        "description": "The description.",
        "headers": references(&["x-request-id", "etag"]),
        "content": { "application/json": { "schema": { "type": "object" }, "example": example } },
    });
    let responses: Map<_, _> = refusals.chain([("200".to_owned(), success)]).collect();
    json!({
        "operationId": "biolink_openapi",
        "tags": [Tag::Description.name()],
        "summary": "This description",
        "description": "The description of the API in OpenAPI 3.0.3, with the address that was called as its server.",
        "security": [],
        "responses": responses,
    })
}

/// Returns the names of an operation's parameters, as [`parameters`] has them.
fn parameter_names(endpoint: PagesEndpoint) -> impl Iterator<Item = &'static str> {
    use PagesEndpoint as E;
    let has = |part: &str| endpoint.path().contains(part);
    let of_list = ["limit", "cursor", "status", "slug", "external_id", "tag", "q"];
    [
        ("page_id", has("{page_id}")),
        ("link_id", has("{link_id}")),
        ("revision", has("{revision}")),
        ("dry_run", endpoint.is_write()),
        ("if_match", endpoint.is_write() && has("{page_id}")),
        ("if_none_match", endpoint == E::Read),
        ("idempotency_key", endpoint.method() == Method::Post),
        ("confirm", endpoint == E::Erase),
    ]
    .into_iter()
    .chain(of_list.map(|name| (name, endpoint == E::List)))
    .filter_map(|(name, is_taken)| is_taken.then_some(name))
}

/// Returns every parameter component by name.
pub(super) fn parameters() -> Value {
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
    json!({
        "page_id": id("page_id", "pg", &ids.page, "The page's `id`."),
        "link_id": id("link_id", "lnk", &ids.link, "The link's `id`."),
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
            "example": ids.account, "schema": { "type": "string" },
        },
        "limit_reports": query(
            "limit",
            "The most reports in the response.",
            json!({ "type": "integer", "minimum": 1, "maximum": 100, "default": 50 }),
        ),
        "cursor_reports": query("cursor", "The `cursor` of the response before.", text()),
        "page": query("page", "Only reports of the page with this id.", text()),
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
    })
}
