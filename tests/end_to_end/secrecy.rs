//! Responses, logs and stored state hold no key or secret.

use std::{fs, path::Path};

use serde_json::json;
use shared::tool::Tool;
use tests::{http::Request, keys, stack::Stack};

/// Returns the contents of every file below a folder.
fn contents(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(contents(&path));
        } else if let Ok(bytes) = fs::read(&path) {
            found.push((path.display().to_string(), bytes));
        }
    }
    found
}

fn holds(haystack: &[u8], needle: &str) -> bool {
    haystack.windows(needle.len()).any(|window| window == needle.as_bytes())
}

#[test]
fn responses_logs_and_state_hold_no_key_or_secret() {
    let stack = Stack::start_stored();
    let (key, _) = stack.edge.issue("pro");
    let forged = keys::forged();
    let mut responses = Vec::new();
    for tool in Tool::ALL {
        responses.push(Request::get(&format!("/v1/{tool}/look")).key(&key).send(stack.edge.addr));
    }
    let wrong = json!({ "email": "x", "name": "x", "tier": "free", "admin_secret": "a-wrong-admin-secret-of-a-test" });
    responses.push(Request::post("/v1/keys/issue", &wrong).send(stack.edge.addr));
    responses.push(Request::get("/v1/keys/me").key(&key).send(stack.edge.addr));
    responses.push(Request::get("/v1/qr/generate").key(&forged).send(stack.edge.addr));
    responses.push(Request::get("/metrics").send(stack.proxy.admin));
    responses.push(Request::get("/pools").send(stack.proxy.admin));

    // Each key without its common prefix, so that a part of it is found too.
    let secrets = [
        &key[9..60],
        &forged[9..60],
        keys::ADMIN_SECRET,
        keys::KEY_SIGNING_SECRET,
        keys::GRANT_SECRET,
        keys::WEBHOOK_ENCRYPTION_SECRET,
        "a-wrong-admin-secret-of-a-test",
    ];
    let mut places: Vec<(String, Vec<u8>)> = contents(stack.edge.state());
    assert!(!places.is_empty(), "the edge stores its state here");
    places.push(("log of the edge".to_owned(), stack.edge.output().into_bytes()));
    places.push(("log of the proxy".to_owned(), stack.proxy.output().into_bytes()));
    places.push(("log of the tools".to_owned(), stack.tools.process.output().into_bytes()));
    assert!(
        places.iter().any(|(name, log)| name == "log of the proxy" && log.len() > 500),
        "calls are logged"
    );
    for response in responses {
        places.push((
            "a response".to_owned(),
            format!("{:?} {}", response.headers, response.text()).into_bytes(),
        ));
    }
    for secret in secrets {
        for (name, bytes) in &places {
            assert!(!holds(bytes, secret), "{name} holds a secret");
        }
    }
}
