//! The operations: for each endpoint what it takes and what may come of it.

use serde_json::{Map, Value, json};

use super::{
    keys,
    outcome::{self, Group},
};
use crate::{action::Action, endpoint::Endpoint, problem::Code, route::CallMethod, tool::Tool};

/// The operation of an endpoint; `None` for one that is not for clients of the API, or not served yet.
pub(super) fn describe(endpoint: Endpoint) -> Option<Value> {
    match endpoint {
        Endpoint::CallTool(tool, method) => Some(call_tool(tool, method)),
        Endpoint::IssueKey => Some(issue_key()),
        Endpoint::ReadOwnKey => Some(read_own_key()),
        Endpoint::Health => {
            Some(open("health", "Whether the gateway is alive", "application/json", schema("Health")))
        }
        Endpoint::Status => {
            Some(open("status", "Which tools are available", "application/json", schema("StatusReport")))
        }
        Endpoint::OpenApi => {
            Some(open("openapi", "This description", "application/json", json!({ "type": "object" })))
        }
        Endpoint::Docs => {
            Some(open("docs", "Reference for people", "text/html", json!({ "type": "string" })))
        }
        Endpoint::ProblemPage => Some(problem_page()),
        Endpoint::RotateOwnKey => Some(keys::rotate_own()),
        Endpoint::RevokeOwnKey => Some(keys::revoke_own()),
        Endpoint::ListKeys => Some(keys::list()),
        Endpoint::ReadKey => Some(keys::read()),
        Endpoint::ChangeKey => Some(keys::change()),
        Endpoint::RevokeKey => Some(keys::revoke()),
        Endpoint::RotateKey => Some(keys::rotate()),
        Endpoint::KeyChanges | Endpoint::Preflight => None,
    }
}

pub(super) fn schema(name: &str) -> Value {
    json!({ "$ref": format!("#/components/schemas/{name}") })
}

/// Responses by status: those given, those of the groups, and those that any operation may have.
pub(super) fn responses<const N: usize, const G: usize>(
    own: [(&str, Value); N],
    groups: [Group; G],
) -> Value {
    const ANYWHERE: [Group; 5] = [
        Group::MethodNotAllowed,
        Group::TargetTooLong,
        Group::ExpectationFailed,
        Group::HeadersTooLarge,
        Group::Internal,
    ];
    let refer = |group: Group| {
        (group.status().to_string(), json!({ "$ref": format!("#/components/responses/{}", group.name()) }))
    };
    let own = own.into_iter().map(|(status, response)| (status.to_owned(), response));
    own.chain(groups.into_iter().map(refer))
        .chain(ANYWHERE.into_iter().map(refer))
        .collect::<Map<_, _>>()
        .into()
}

pub(super) fn answer(description: &str, headers: &[&str], media_type: &str, schema: Value) -> Value {
    json!({
        "description": description,
        "headers": outcome::references(headers),
        "content": { media_type: { "schema": schema } },
    })
}

fn call_tool(tool: Tool, method: CallMethod) -> Value {
    const SEEN: [&str; 4] = ["x-request-id", "ratelimit", "ratelimit-policy", "server-timing"];
    let verb = match method {
        CallMethod::Get => "get",
        CallMethod::Post => "post",
    };
    let mut operation = json!({
        "operationId": format!("{tool}_{verb}"),
        "tags": [tool],
        "summary": summary(tool, method),
        "description": "The action, the query, the body and the headers go to the tool; its answer comes back as it is. A call counts against the key's quotas unless the gateway refuses it or the tool is not available.",
        "security": [{ "ApiKey": [] }],
        "parameters": [action(), query()],
        "responses": responses(
            [
                ("200", answer("What the tool answers.", &SEEN, "*/*", json!({}))),
                ("default", answer("Any other status is the tool's own, passed on as it is.", &SEEN, "*/*", json!({}))),
            ],
            [
                Group::Malformed,
                Group::KeyRefused,
                Group::HttpsRequired,
                Group::Nowhere,
                Group::LimitReached,
                Group::ToolUnavailable,
            ],
        ),
    });
    match method {
        CallMethod::Get => {}
        CallMethod::Post => add_body(&mut operation, tool),
    }
    operation
}

fn summary(tool: Tool, method: CallMethod) -> String {
    let purpose = tool.purpose();
    match method {
        CallMethod::Get => format!("Call {tool} without a body: {purpose}"),
        CallMethod::Post => format!("Call {tool} with a JSON body: {purpose}"),
    }
}

/// Adds responses that an operation has beside its others.
pub(super) fn add(operation: &mut Value, groups: &[Group]) {
    if let Some(responses) = operation.get_mut("responses").and_then(Value::as_object_mut) {
        for group in groups {
            let reference = format!("#/components/responses/{}", group.name());
            responses.insert(group.status().to_string(), json!({ "$ref": reference }));
        }
    }
}

fn add_body(operation: &mut Value, tool: Tool) {
    add(operation, &[Group::Stalled, Group::BodyTooLarge, Group::MediaTypeUnsupported]);
    let mut content = json!({ "schema": { "type": "object", "additionalProperties": true } });
    if let (Some(example), Some(content)) = (known_body(tool), content.as_object_mut()) {
        content.insert("example".to_owned(), example);
    }
    if let Some(operation) = operation.as_object_mut() {
        let body = json!({
            "description": "A JSON object whose members the tool defines. Some tools take other media types as well.",
            "content": { "application/json": content },
        });
        operation.insert("requestBody".to_owned(), body);
    }
}

/// The bodies that spec section 2 shows.
fn known_body(tool: Tool) -> Option<Value> {
    match tool {
        Tool::Qr => Some(json!({ "url": "https://example.com", "size": 256 })),
        Tool::Image => Some(json!({ "prompt": "a lighthouse at dawn" })),
        Tool::Biolink
        | Tool::Build
        | Tool::Cover
        | Tool::Decks
        | Tool::Flip
        | Tool::Flow
        | Tool::Idea
        | Tool::Leads
        | Tool::Learn
        | Tool::Narrate
        | Tool::Pdf
        | Tool::Seo
        | Tool::Speech
        | Tool::Transcribe
        | Tool::Yt => None,
    }
}

fn action() -> Value {
    json!({
        "name": "action",
        "in": "path",
        "required": true,
        "description": "What the tool is asked to do. The gateway forwards it and gives it no meaning; `.` and `..` are none.",
        "schema": { "type": "string", "minLength": 1, "maxLength": Action::MAX_LEN, "pattern": "^[A-Za-z0-9._~-]+$" },
        "example": "generate",
    })
}

fn query() -> Value {
    json!({
        "name": "query",
        "in": "query",
        "description": "Any parameters that the tool defines; they are forwarded as they are.",
        "style": "form",
        "explode": true,
        "schema": { "type": "object", "additionalProperties": { "type": "string" } },
    })
}

fn issue_key() -> Value {
    json!({
        "operationId": "issue_key",
        "summary": "Issue a key",
        "description": "Needs the admin secret in the body and no key. The key is in this answer and nowhere else: it is not stored.",
        "security": [],
        "requestBody": {
            "required": true,
            "content": { "application/json": { "schema": schema("IssueRequest") } },
        },
        "responses": responses(
            [("201", answer("The key, shown once.", &["x-request-id", "location"], "application/json", schema("IssuedKey")))],
            [
                Group::MalformedBody,
                Group::AdminRefused,
                Group::Stalled,
                Group::BodyTooLarge,
                Group::MediaTypeUnsupported,
                Group::FieldsInvalid,
                Group::AttemptsExceeded,
                Group::KeyUnreadable,
            ],
        ),
    })
}

fn read_own_key() -> Value {
    json!({
        "operationId": "read_own_key",
        "summary": "Read the calling key: tier, limits and usage",
        "description": "Free of charge. Used, held and remaining calls add up to the limit.",
        "security": [{ "ApiKey": [] }],
        "responses": responses(
            [("200", answer(
                "The key and what it has used.",
                &["x-request-id", "ratelimit", "ratelimit-policy"],
                "application/json",
                schema("OwnKey"),
            ))],
            [Group::Malformed, Group::KeyRefused, Group::HttpsRequired, Group::KeyUnreadable],
        ),
    })
}

fn open(id: &str, summary: &str, media_type: &str, schema: Value) -> Value {
    json!({
        "operationId": id,
        "summary": summary,
        "security": [],
        "responses": responses([("200", answer(summary, &["x-request-id"], media_type, schema))], [Group::Malformed]),
    })
}

fn problem_page() -> Value {
    let mut operation = open(
        "problem_page",
        "What a problem code means and what to do",
        "text/html",
        json!({ "type": "string" }),
    );
    if let Some(operation) = operation.as_object_mut() {
        let codes = Code::ALL.map(Code::as_str).to_vec();
        let code = json!({
            "name": "code", "in": "path", "required": true, "schema": { "type": "string", "enum": codes },
        });
        operation.insert("parameters".to_owned(), json!([code]));
    }
    operation
}
