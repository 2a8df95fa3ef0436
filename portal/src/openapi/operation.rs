//! The operations: for each endpoint what it takes and what may come of it.

use biolink::codes;
use serde_json::{Map, Value, json};
use shared::{action::Action, problem::Code, route::CallMethod, tool::Tool};

use super::{
    example,
    outcome::{self, Group},
};

pub(super) fn schema(name: &str) -> Value {
    json!({ "$ref": format!("#/components/schemas/{name}") })
}

/// Problems that every operation may respond with.
const ANYWHERE: [Group; 5] = [
    Group::MethodNotAllowed,
    Group::TargetTooLong,
    Group::ExpectationFailed,
    Group::HeadersTooLarge,
    Group::Internal,
];

/// Problems that the gateway may respond with in place of a tool.
pub(super) const AT_TOOLS: [Group; 14] = {
    let [method, target, expectation, headers, internal] = ANYWHERE;
    [
        Group::Malformed,
        Group::KeyRefused,
        Group::HttpsRequired,
        Group::Nowhere,
        Group::Stalled,
        Group::BodyTooLarge,
        Group::MediaTypeUnsupported,
        Group::LimitReached,
        Group::ToolUnavailable,
        method,
        target,
        expectation,
        headers,
        internal,
    ]
};

/// Those of them that no other operation has.
pub(super) const ONLY_AT_TOOLS: [Group; 3] = [Group::Nowhere, Group::LimitReached, Group::ToolUnavailable];

/// Responses by status: those given, those of the groups, and those that any operation may have.
pub(super) fn responses<const N: usize, const G: usize>(
    own: [(&str, Value); N],
    groups: [Group; G],
) -> Value {
    let own = own.into_iter().map(|(status, response)| (status.to_owned(), response));
    own.chain(groups.into_iter().chain(ANYWHERE).map(|group| refer(group, &group.name())))
        .collect::<Map<_, _>>()
        .into()
}

/// Returns a reference to the response component `name`, under the group's status.
fn refer(group: Group, name: &str) -> (String, Value) {
    (group.status().to_string(), json!({ "$ref": format!("#/components/responses/{name}") }))
}

pub(super) fn response(description: &str, headers: &[&str], media_type: &str, schema: Value) -> Value {
    json!({
        "description": description,
        "headers": outcome::references(headers),
        "content": { media_type: with_example(schema) },
    })
}

/// Returns a JSON body of a schema, with the schema's example.
pub(super) fn json_body(name: &str) -> Value {
    json!({ "application/json": with_example(schema(name)) })
}

/// Returns a media type object: the schema, and the example of the component that it refers to.
fn with_example(schema: Value) -> Value {
    let name = schema.get("$ref").and_then(Value::as_str).and_then(|target| target.rsplit('/').next());
    match name.and_then(example::of) {
        Some(example) => json!({ "schema": schema, "example": example }),
        None => json!({ "schema": schema }),
    }
}

pub(super) fn call_tool(tool: Tool, method: CallMethod) -> Value {
    let verb = match method {
        CallMethod::Get => "get",
        CallMethod::Post => "post",
    };
    let mut operation = json!({
        "operationId": format!("{tool}_{verb}"),
        "tags": [tool],
        "summary": summary(tool, method),
        "description": "The action, the query, the body and the headers go to the tool; its response comes back as it is, whatever its status and type. An error of the gateway's own has X-Gateway-Problem. A call counts against the key's quotas unless the gateway refuses it or the tool is not available.",
        "security": [{ "ApiKey": [] }],
        "parameters": [action(), query(tool, method)],
        "responses": tool_responses(method),
    });
    match method {
        CallMethod::Get => {}
        CallMethod::Post => add_body(&mut operation, tool),
    }
    operation
}

/// Returns the tool's own responses, and what the gateway may say in its place. A GET needs no
/// media type.
fn tool_responses(method: CallMethod) -> Map<String, Value> {
    const SEEN: [&str; 5] =
        ["x-request-id", "ratelimit", "ratelimit-policy", "server-timing", "x-gateway-degraded"];
    let of_the_tool = |description: &str| {
        json!({
            "description": description,
            "headers": outcome::references(&SEEN),
            "content": outcome::of_a_tool(),
        })
    };
    let groups = AT_TOOLS
        .into_iter()
        .filter(|group| method == CallMethod::Post || *group != Group::MediaTypeUnsupported);
    let own = [
        ("200".to_owned(), of_the_tool("What the tool responds, of any type.")),
        ("default".to_owned(), of_the_tool("Any other status is the tool's own, passed on as it is.")),
    ];
    own.into_iter().chain(groups.map(|group| refer(group, &group.name_at_tools()))).collect()
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
        responses.extend(groups.iter().map(|group| refer(*group, &group.name())));
    }
}

fn add_body(operation: &mut Value, tool: Tool) {
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

/// Returns the bodies that spec section 2 shows.
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
        "schema": { "type": "string", "minLength": 1, "maxLength": Action::MAX_LEN, "pattern": Action::PATTERN },
        "example": "generate",
    })
}

/// Returns the parameters of the tool. Only those of a GET have an example: a POST has them in its
/// body.
fn query(tool: Tool, method: CallMethod) -> Value {
    let mut query = json!({
        "name": "query",
        "in": "query",
        "description": "Any parameters that the tool defines; they are forwarded as they are.",
        "style": "form",
        "explode": true,
        "schema": { "type": "object", "additionalProperties": { "type": "string" } },
    });
    if let (CallMethod::Get, Some(example), Some(query)) = (method, known_query(tool), query.as_object_mut())
    {
        query.insert("example".to_owned(), example);
    }
    query
}

/// Returns the members of [`known_body`] as texts.
fn known_query(tool: Tool) -> Option<Value> {
    let body = known_body(tool)?;
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let members = body.as_object()?.iter().map(|(name, value)| (name.clone(), text(value).into()));
    Some(Value::Object(members.collect()))
}

pub(super) fn issue_key() -> Value {
    json!({
        "operationId": "issue_key",
        "summary": "Issue a key",
        "description": "Needs the admin secret in the body and no key. The key is in this response and nowhere else: it is not stored. With an Idempotency-Key a retry within 24 hours gets the same response again.",
        "security": [],
        "parameters": [{
            "name": "Idempotency-Key", "in": "header", "required": false,
            "description": "Names the request, so that it can be sent again if its response was lost: a UUID for instance.",
            "schema": { "type": "string", "minLength": 1, "maxLength": 255, "pattern": r"^[!-+\x2D-~]+$" },
        }],
        "requestBody": {
            "required": true,
            "content": json_body("IssueRequest"),
        },
        "responses": responses(
            [("201", response("The key, shown once.", &["x-request-id", "location"], "application/json", schema("IssuedKey")))],
            [
                Group::MalformedBody,
                Group::AdminRefused,
                Group::RouteUnknown,
                Group::IssueConflict,
                Group::Stalled,
                Group::BodyTooLarge,
                Group::MediaTypeUnsupported,
                Group::IssueInvalid,
                Group::AttemptsExceeded,
                Group::KeyUnreadable,
            ],
        ),
    })
}

pub(super) fn read_own_key() -> Value {
    json!({
        "operationId": "read_own_key",
        "summary": "Read the calling key: tier, limits and usage",
        "description": "Free of charge. Used, held and remaining calls add up to the limit.",
        "security": [{ "ApiKey": [] }],
        "responses": responses(
            [("200", response(
                "The key and what it has used.",
                &["x-request-id", "ratelimit", "ratelimit-policy"],
                "application/json",
                schema("OwnKey"),
            ))],
            [Group::Malformed, Group::KeyRefused, Group::HttpsRequired, Group::KeyUnreadable],
        ),
    })
}

pub(super) fn open(id: &str, summary: &str, description: &str, (media_type, schema): (&str, Value)) -> Value {
    json!({
        "operationId": id,
        "summary": summary,
        "description": description,
        "security": [],
        "responses": responses([("200", response(summary, &["x-request-id"], media_type, schema))], [Group::Malformed]),
    })
}

pub(super) fn status() -> Value {
    let mut operation = open(
        "status",
        "Which tools are available",
        "As the first data centre that responds sees it, at most a second ago. 503 if none does: then nothing is known.",
        ("application/json", schema("StatusReport")),
    );
    add(&mut operation, &[Group::StatusUnknown]);
    operation
}

pub(super) fn problem_page() -> Value {
    let mut operation = open(
        "problem_page",
        "What a problem code means and what to do",
        "The page that the `type` of a problem leads to.",
        ("text/html", json!({ "type": "string" })),
    );
    add(&mut operation, &[Group::RouteUnknown]);
    if let Some(operation) = operation.as_object_mut() {
        let codes = codes::all().map(Code::as_str).collect::<Vec<_>>();
        let code = json!({
            "name": "code", "in": "path", "required": true, "schema": { "type": "string", "enum": codes }, "example": codes::QUOTA_EXCEEDED.as_str(),
            "description": "The problem's `code`.",
        });
        operation.insert("parameters".to_owned(), json!([code]));
    }
    operation
}
