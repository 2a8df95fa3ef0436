//! The scopes that each operation needs: `docs/security.md` against the worker.

use std::{collections::BTreeMap, fs};

use serde_json::{Value, json};
use shared::tool::Tool;
use tests::{
    http::{Request, Response},
    keys,
    process::root,
    stack::Edge,
};

/// The secrets of a key, each with the scopes that it has. `tools:*` is every tool.
const SECRETS: [(&str, &str, &[&str]); 10] = [
    ("none", r#"{}"#, &[]),
    ("qr", r#"{"tools":["qr"]}"#, &["tools:qr"]),
    ("tools", r#"{"tools":["all"]}"#, &["tools:*"]),
    ("read", r#"{"biolink":"read"}"#, &["biolink:read"]),
    ("write", r#"{"biolink":"write"}"#, &["biolink:read", "biolink:write"]),
    ("admin", r#"{"biolink":"admin"}"#, &["biolink:read", "biolink:write", "biolink:admin"]),
    ("keys", r#"{"keys":true}"#, &["keys"]),
    (
        "without admin",
        r#"{"tools":["all"],"biolink":"write","keys":true}"#,
        &["tools:*", "biolink:read", "biolink:write", "keys"],
    ),
    (
        "without keys",
        r#"{"tools":["all"],"biolink":"admin"}"#,
        &["tools:*", "biolink:read", "biolink:write", "biolink:admin"],
    ),
    ("every", r#"{"tools":["all"],"biolink":"admin","keys":true}"#, EVERY),
];
const EVERY: &[&str] = &["tools:*", "biolink:read", "biolink:write", "biolink:admin", "keys"];

/// An operation of a description.
struct Operation {
    id: String,
    method: String,
    path: String,
}

/// Returns the operations of a description that the worker serves.
fn operations(edge: &Edge, description: &str) -> Vec<Operation> {
    let document = Request::get(description).send(edge.addr).json();
    let of_path = |(path, item): (&String, &Value)| -> Vec<Operation> {
        let methods =
            item.as_object().unwrap().iter().filter(|(_, operation)| operation["operationId"].is_string());
        let operation = |(method, operation): (&String, &Value)| Operation {
            id: operation["operationId"].as_str().unwrap().to_owned(),
            method: method.to_uppercase(),
            path: concrete(path),
        };
        methods.map(operation).collect()
    };
    document["paths"].as_object().unwrap().iter().flat_map(of_path).collect()
}

/// Returns a path with ids of things that are not there.
fn concrete(path: &str) -> String {
    let ids = [
        ("{action}", "generate"),
        ("{code}", "key-missing"),
        ("{delivery_id}", "dlv_000000001Fc7kwgft5p2Xy"),
        ("{domain_id}", "dom_00000000000000000"),
        ("{event_id}", "evt_000000001Fc7kwgft5p2Xy"),
        ("{id}", "key_00000000000000000"),
        ("{image_id}", "img_00000000000000000"),
        ("{incident_id}", "inc_00000000000000000"),
        ("{link_id}", "lnk_00000000000000000"),
        ("{page_id}", "pg_00000000000000000"),
        ("{revision}", "1"),
        ("{secret_id}", "sec_00000000000"),
        ("{source_id}", "src_00000000000000000"),
        ("{type}", "click"),
        ("{webhook_id}", "whe_00000000000000000"),
    ];
    let path = ids.iter().fold(path.to_owned(), |path, (name, id)| path.replace(name, id));
    assert!(!path.contains('{'), "{path} has a parameter that this test does not know");
    path
}

/// Returns what `docs/security.md` says that each operation needs, with an entry for each tool.
fn documented() -> BTreeMap<String, String> {
    let page = fs::read_to_string(root().join("docs/security.md")).unwrap();
    let table = page.split_once("| needs | operations |").unwrap().1.split("\n\n").next().unwrap();
    let operation = |id: &str, needs: &str| -> Vec<(String, String)> {
        match id.contains("{tool}") {
            true => Tool::ALL
                .map(|tool| (id.replace("{tool}", tool.as_str()), needs.replace("{tool}", tool.as_str())))
                .into(),
            false => vec![(id.to_owned(), needs.to_owned())],
        }
    };
    let rows =
        table.lines().filter_map(|line| line.strip_prefix("| ")?.strip_suffix(" |")?.split_once(" | "));
    rows.flat_map(|(needs, ids)| ids.split('`').skip(1).step_by(2).map(move |id| (id, needs)))
        .flat_map(|(id, needs)| operation(id, needs))
        .collect()
}

/// A key with its secrets, in the order of [`SECRETS`].
struct Key {
    own: String,
    secrets: Vec<String>,
}

impl Key {
    fn issue(edge: &Edge) -> Self {
        let body = json!({
            "email": "ada@example.com", "name": "Ada", "tier": "pro", "biolink_plan": "business",
            "limits": { "minute": 100_000 }, "admin_secret": keys::ADMIN_SECRET,
        });
        let issued = Request::post("/v1/keys/issue", &body).send(edge.addr);
        assert_eq!(issued.status, 201, "{}", issued.text());
        let own = issued.json()["key"].as_str().unwrap().to_owned();
        let make = |(name, scopes, _): (&str, &str, &[&str])| {
            let scopes: Value = serde_json::from_str(scopes).unwrap();
            let body = json!({ "name": name, "scopes": scopes });
            let made = Request::post("/v1/keys/me/secrets", &body).key(&own).send(edge.addr);
            assert_eq!(made.status, 201, "{}", made.text());
            made.json()["key"].as_str().unwrap().to_owned()
        };
        let secrets = SECRETS.map(make).into();
        Self { own, secrets }
    }
}

fn send(edge: &Edge, operation: &Operation, key: Option<&str>) -> Response {
    let Operation { id, method, path } = operation;
    let body = match id.as_str() {
        "create_secret" | "change_secret" => json!({ "name": "new", "scopes": {} }),
        _ => json!({}),
    };
    let request = match method.as_str() {
        "GET" | "DELETE" => Request::new(method, path),
        method => Request { method: method.to_owned(), ..Request::post(path, &body) },
    };
    match key {
        Some(key) => request.key(key),
        None => request,
    }
    .send(edge.addr)
}

fn has(scopes: &[&str], wanted: &str) -> bool {
    scopes.contains(&wanted) || wanted.starts_with("tools:") && scopes.contains(&"tools:*")
}

/// Calls an operation with each secret, and compares each response with what its row says.
fn check(edge: &Edge, key: &Key, operation: &Operation, needs: &str) {
    let id = &operation.id;
    let without = send(edge, operation, None);
    if needs == "nothing" {
        assert!(![401, 403].contains(&without.status), "{id}: {}", without.text());
        return;
    }
    assert!(
        without.status == 401 || ["issue_key", "push_products"].contains(&id.as_str()),
        "{id}: {}",
        without.text()
    );
    // The rows with a scope or two are `keys`, `biolink: read` or `keys, and …`.
    let scope = needs.split('`').nth(1).map(|scope| scope.replace(": ", ":"));
    for ((name, _, scopes), secret) in SECRETS.iter().zip(&key.secrets) {
        let response = send(edge, operation, Some(secret));
        let (status, shown) = (response.status, format!("{id} by {name}: {}", response.text()));
        let missing =
            (status == 403 && response.code() == "scope-missing").then(|| response.json()["scope"].clone());
        match (needs, &scope) {
            ("the admin secret" | "the signature of the shop", _) => {
                assert!((400..500).contains(&status) && missing.is_none(), "{shown}");
            }
            ("any secret", _) => assert_eq!(status, 200, "{shown}"),
            ("every scope", _) => assert_eq!(missing.is_none(), *scopes == EVERY, "{shown}"),
            (_, Some(scope)) => {
                let expected = (!has(scopes, scope)).then(|| json!(scope));
                assert_eq!(missing, expected, "{shown}");
                assert!(![401, 500].contains(&status), "{shown}");
            }
            (needs, None) => panic!("{id}: {needs}"),
        }
    }
}

/// The page, the descriptions and the worker agree on each operation and each scope.
#[test]
fn each_operation_needs_the_scope_of_its_row() {
    let edge = Edge::shared();
    let described: Vec<_> = ["/openapi.json", "/biolink/openapi.json"]
        .into_iter()
        .flat_map(|path| operations(&edge, path))
        .collect();
    let mut rows = documented();
    // A key reads itself 1,000 times a minute and changes itself 30 times.
    let (tools, others) = (Key::issue(&edge), Key::issue(&edge));
    for operation in &described {
        let needs = rows.remove(&operation.id).unwrap_or_else(|| panic!("no row for {}", operation.id));
        match needs.as_str() {
            needs if needs.starts_with("`tools") => check(&edge, &tools, operation, needs),
            needs if needs == "every scope" || needs.contains(", and") => {
                check(&edge, &Key::issue(&edge), operation, needs);
            }
            needs => check(&edge, &others, operation, needs),
        }
    }
    assert!(rows.is_empty() && described.len() > 120, "rows without an operation: {rows:?}");
    let read = Request::get("/pages").key(&others.own).send(edge.addr);
    assert_eq!(read.status, 200, "nothing has ended the key: {}", read.text());
}

#[test]
fn mcp_needs_the_scopes_of_the_api() {
    let edge = Edge::shared();
    let key = Key::issue(&edge);
    let tools = [
        ("list_webhooks", json!({}), "biolink:read"),
        ("read_webhook_secret", json!({ "webhook_id": "whe_00000000000000000" }), "biolink:admin"),
        (
            "rotate_webhook_secret",
            json!({ "webhook_id": "whe_00000000000000000", "body": {} }),
            "biolink:admin",
        ),
        ("export_account", json!({}), "biolink:admin"),
    ];
    for (tool, arguments, scope) in tools {
        for ((name, _, scopes), secret) in SECRETS.iter().zip(&key.secrets) {
            let call = json!({
                "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": { "name": tool, "arguments": arguments },
            });
            let request = Request::post("/mcp?toolsets=webhooks,account", &call).key(secret);
            let response = request.header("accept", "application/json, text/event-stream").send(edge.addr);
            let is_missing = response.text().contains("scope-missing");
            assert_eq!(is_missing, !has(scopes, scope), "{tool} by {name}: {}", response.text());
            assert_eq!(response.status, 200, "{tool} by {name}: {}", response.text());
        }
    }
}
