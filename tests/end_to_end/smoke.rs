//! `scripts/smoke.sh` against the whole gateway, and against one that is not right.

use std::process::{Command, Output};

use tests::{
    keys,
    process::root,
    stack::{Edge, Stack},
};

fn smoke(url: &str, environment: &[(&str, &str)]) -> (Output, String) {
    let mut script = Command::new(root().join("scripts/smoke.sh"));
    script.arg(url).env_remove("API_KEY").env_remove("ADMIN_SECRET").envs(environment.iter().copied());
    let output = script.output().unwrap();
    let text = String::from_utf8(output.stdout.clone()).unwrap();
    (output, text)
}

fn url(edge: &Edge) -> String {
    format!("http://{}", edge.addr)
}

fn lines(text: &str, beginning: &str) -> usize {
    text.lines().filter(|line| line.starts_with(beginning)).count()
}

#[test]
fn smoke_test_of_a_running_gateway_passes() {
    let stack = Stack::start();
    let (key, _) = stack.edge.issue("free");
    let url = url(&stack.edge);
    let (output, text) = smoke(&url, &[("API_KEY", &key), ("ADMIN_SECRET", keys::ADMIN_SECRET)]);
    assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
    assert!(text.ends_with(&format!("17 checks passed: {url}\n")), "{text}");
    assert_eq!(lines(&text, "ok    "), 17, "{text}");
    for check in ["401 key-missing", "200 with RateLimit fields", "401 key-revoked"] {
        assert!(text.contains(check), "{text}");
    }
    let secrets = [key.as_str(), keys::ADMIN_SECRET];
    assert!(secrets.iter().all(|secret| !text.contains(secret)), "no secret is printed");
}

#[test]
fn smoke_test_without_a_key_calls_no_tool() {
    let stack = Stack::start();
    let (output, text) = smoke(&url(&stack.edge), &[]);
    assert!(output.status.success(), "{text}");
    assert_eq!(lines(&text, "ok    "), 10, "{text}");
}

/// Its checks fail one by one, and the exit code says so.
#[test]
fn smoke_test_of_an_edge_without_a_reachable_origin_fails() {
    let edge = Edge::start_with("http://127.0.0.1:9", &["PUBLIC_URL=https://api.example.com"]);
    let (key, _) = edge.issue("free");
    let (output, text) = smoke(&url(&edge), &[("API_KEY", &key)]);
    assert_eq!(output.status.code(), Some(1), "{text}");
    for failed in
        ["error GET /v1/status is", "error GET /openapi.json names", "error a call of /v1/qr/generate"]
    {
        assert!(text.contains(failed), "{failed}: {text}");
    }
    assert_eq!(lines(&text, "error "), 3, "{text}");
    assert!(text.contains("tool-unavailable"), "a failed check says what came back: {text}");
}

#[test]
fn smoke_test_of_a_closed_port_fails_at_once() {
    let (output, text) = smoke("http://127.0.0.1:9", &[("ADMIN_SECRET", keys::ADMIN_SECRET)]);
    assert_eq!((output.status.code(), lines(&text, "error ")), (Some(1), 1), "{text}");
    let (output, _) = smoke("127.0.0.1:9/path", &[]);
    assert_eq!(output.status.code(), Some(64));
}
