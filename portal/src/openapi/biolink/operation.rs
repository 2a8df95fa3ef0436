//! The operations: for each route what it takes and what may come of it. All but the texts follows
//! from the route's row.

mod push;
mod webhooks;

pub(super) use webhooks::deliveries;

use biolink::route::{AdminEndpoint, PagesEndpoint};
use serde_json::{Map, Value, json};

use super::{
    super::{
        VERSION,
        outcome::{Header, header, references},
        reference,
    },
    example::{self, Exchange},
    parameter, refusal,
    texts::{Tag, Texts, admin_texts, texts},
};
use crate::{asset::Asset, endpoint::Endpoint};

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
    header("location", "The path of what was created.", "/pages/pg_0123456789abcdefg"),
    header("idempotency-replayed", "`true` if the response is the stored one of an earlier request.", "true"),
];

/// Returns the description of an endpoint; `None` for one of another product, and for what visitors
/// open: an OpenAPI path `/{slug}` would be every other path too.
pub(super) fn describe(endpoint: Endpoint) -> Option<Value> {
    match endpoint {
        Endpoint::Pages(endpoint) => Some(pages(endpoint)),
        Endpoint::Admin(endpoint) => Some(admin(endpoint)),
        Endpoint::Webhooks(endpoint) => Some(webhooks::describe(endpoint)),
        Endpoint::Asset(Asset::PagesOpenApi) => Some(description()),
        Endpoint::PushProducts => Some(push::describe()),
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
        | Endpoint::Asset(_)
        | Endpoint::StatusPage
        | Endpoint::ProblemPage
        | Endpoint::Site(_)
        | Endpoint::Console(_)
        | Endpoint::Visit(_)
        | Endpoint::Mcp
        | Endpoint::Preflight => None,
    }
}

/// Returns the schema component of a request's body.
const fn request_schema(endpoint: PagesEndpoint) -> &'static str {
    use PagesEndpoint as E;
    match endpoint {
        E::Patch => "PagePatch",
        E::AddLink => "LinkInput",
        E::PatchLink => "LinkPatch",
        E::OrderLinks => "LinkOrder",
        E::CreateSource => "ProductSourceInput",
        E::PatchSource => "ProductSourcePatch",
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
        E::ListSources => "ProductSourceList",
        E::CreateSource | E::ReadSource | E::PatchSource | E::RefreshSource => "ProductSource",
        E::SourceRuns => "ProductSourceRunList",
        E::Account => "Account",
        E::Export => "ExportLine",
        E::Analytics => "Analytics",
        E::LiveAnalytics => "LiveAnalytics",
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
    let parameters: Vec<_> = parameter::names(endpoint).map(|name| reference("parameters", name)).collect();
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
    if endpoint.takes_idempotency_key() {
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
    let content = content(schema, body);
    let success = |description: &str, headers: &[&str]| json!({ "description": description, "headers": references(headers), "content": content });
    if matches!(endpoint, PagesEndpoint::Create | PagesEndpoint::CreateSource) {
        responses.insert("200".to_owned(), success("A dry run: what it would be.", &headers));
        headers.push("location");
        responses.insert("201".to_owned(), success("It was created.", &headers));
        return responses;
    }
    if endpoint == PagesEndpoint::RefreshSource {
        responses.insert("202".to_owned(), success("The feed is being fetched.", &headers));
        return responses;
    }
    let description = match schema {
        "Page" => "The page as it is now.",
        "PageList" => "The pages.",
        "RevisionList" => "The revisions.",
        "ProductSource" => "The product source as it is now.",
        "ProductSourceList" => "The product sources.",
        "ProductSourceRunList" => "The runs.",
        "Revision" => "The revision.",
        "ExportLine" => "Lines, each a JSON object: an `ExportLine`.",
        "Analytics" => "The report.",
        "LiveAnalytics" => "The last five minutes.",
        _ => "The account.",
    };
    responses.insert("200".to_owned(), success(description, &headers));
    if endpoint == PagesEndpoint::Read {
        let unchanged = json!({ "description": "The page has the ETag that If-None-Match names.", "headers": references(&headers) });
        responses.insert("304".to_owned(), unchanged);
    }
    responses
}

/// Returns the media types of a successful response with this schema, and an example of each.
fn content(schema: &str, body: &Value) -> Value {
    let described =
        |name: &str, example: Value| json!({ "schema": reference("schemas", schema), name: example });
    match schema {
        // All responses with a page share one example, which keeps the text short.
        "Page" => {
            json!({ "application/json": described("examples", json!({ "page": reference("examples", "Page") })) })
        }
        // Code generators parse the whole body as what `schema` says. `itemSchema` is of OpenAPI 3.2.
        "ExportLine" => json!({ "application/x-ndjson": {
            "schema": { "type": "string", "format": "binary" },
            "x-itemSchema": reference("schemas", schema),
            "example": format!("{body}\n{}\n", example::event()),
        } }),
        "Analytics" => json!({
            "application/json": described("example", body.clone()),
            "text/csv": { "schema": { "type": "string" }, "example": example::csv() },
        }),
        _ => json!({ "application/json": described("example", body.clone()) }),
    }
}

fn description() -> Value {
    let refusals = refusal::of_open().into_iter().map(refusal::Refusal::refer);
    let example =
        json!({ "openapi": "3.0.3", "info": { "title": "Bio-link Pages API", "version": VERSION } });
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
