//! No answer, log line or stored value holds a key or a secret.

use std::{fs, path::Path};

use serde_json::json;
use shared::tool::Tool;
use tests::{http::Request, keys, stack::Stack};

/// Every file below a folder, read as it is.
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
fn no_answer_log_line_or_stored_value_holds_a_key_or_a_secret() {
    let stack = Stack::start_stored();
    let (key, _) = stack.edge.issue("pro");
    let forged = keys::forged();
    let mut answers = Vec::new();
    for tool in Tool::ALL {
        answers.push(Request::get(&format!("/v1/{tool}/look")).key(&key).send(stack.edge.addr));
    }
    let wrong = json!({ "email": "x", "name": "x", "tier": "free", "admin_secret": "a-wrong-admin-secret-of-a-test" });
    answers.push(Request::post("/v1/keys/issue", &wrong).send(stack.edge.addr));
    answers.push(Request::get("/v1/keys/me").key(&key).send(stack.edge.addr));
    answers.push(Request::get("/v1/qr/generate").key(&forged).send(stack.edge.addr));
    answers.push(Request::get("/metrics").send(stack.proxy.admin));
    answers.push(Request::get("/pools").send(stack.proxy.admin));

    // The key without what every key shares, so that a part of it counts as well.
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
    places.push(("log of the edge".to_owned(), stack.edge.process.output().into_bytes()));
    places.push(("log of the proxy".to_owned(), stack.proxy.output().into_bytes()));
    places.push(("log of the tools".to_owned(), stack.tools.process.output().into_bytes()));
    assert!(
        places.iter().any(|(name, log)| name == "log of the proxy" && log.len() > 500),
        "calls are logged"
    );
    for answer in answers {
        places.push(("an answer".to_owned(), format!("{:?} {}", answer.headers, answer.text()).into_bytes()));
    }
    for secret in secrets {
        for (name, bytes) in &places {
            assert!(!holds(bytes, secret), "{name} holds a secret");
        }
    }
}
