//! The formats of the access log: JSON with chosen fields, and `combined`.

use std::{collections::BTreeSet, fs, path::Path};

use serde_json::Value;
use shared::{key::SecretId, tool::Tool};

use tests::{
    Client, FakeTool, Request, ToolBehavior,
    grant::{Signer, call},
    http2::Http2Client,
    proxy::{Proxy, ProxyConfig},
    until,
};

/// A user agent with what would end or forge a line.
const AGENT: &str = "curl/8.5.0 \"x\" \\ \u{e9}";

async fn start(file: &Path, lines: &str) -> (FakeTool, ProxyConfig, Proxy) {
    let tool = FakeTool::start(ToolBehavior::Describe).await;
    let config = ProxyConfig::new()
        .tool(Tool::Qr, &[&tool])
        .line("clients", "h2c = true")
        .line("log", &format!("file = {file:?}\n{lines}"));
    let proxy = config.ready().await;
    (tool, config, proxy)
}

fn call_of_agent(target: &str) -> Request {
    call("GET", target).header("User-Agent", AGENT).header("Referer", "https://a.example/b?token=hush")
}

/// Waits until the log has so many lines, and returns them.
async fn lines(file: &Path, count: usize) -> Vec<String> {
    let read = || fs::read_to_string(file).unwrap_or_default();
    until("the lines are written", || async { read().lines().count() >= count }).await;
    read().lines().map(str::to_owned).collect()
}

/// Returns the line with its time, id of the key and number of bytes replaced.
fn generalized(line: &str) -> String {
    let (address, rest) = line.split_once(" - ").unwrap();
    let (user, rest) = rest.split_once(" [").unwrap();
    let (time, rest) = rest.split_once("] ").unwrap();
    assert_eq!((time.len(), &time[2..3], &time[20..]), (26, "/", " +0000"), "{time}");
    let user = if user == "-" { "-" } else { "KEY" };
    let words: Vec<_> = rest.split(' ').collect();
    let bytes = words.iter().rposition(|word| word.parse::<u64>().is_ok()).unwrap();
    let words: Vec<_> =
        words.iter().enumerate().map(|(nth, word)| if nth == bytes { "BYTES" } else { word }).collect();
    format!("{address} - {user} [TIME] {}", words.join(" "))
}

#[tokio::test]
async fn combined_lines_are_those_of_nginx() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("access.log");
    let (_tool, _config, proxy) = start(&file, "format = \"combined\"").await;
    assert_eq!(proxy.send(call_of_agent("/v1/qr/a?token=hush")).await.status, 200);
    let http2 = Http2Client::prior_knowledge(proxy.listen).await;
    assert_eq!(http2.send(&call("GET", "/v1/qr/b")).await.status, 200);
    assert_eq!(proxy.send(Request::new("GET", "/v1/qr/c?hush")).await.status, 401);
    let mut client = Client::connect(proxy.listen).await;
    client.write(b"GET /hush HTTP/1.1\r\nHost: a\r\nhush hush\r\n\r\n").await;
    assert_eq!(client.response("GET").await.unwrap().status, 400);
    let lines = lines(&file, 4).await;
    // Threads write on their own.
    let lines: BTreeSet<_> = lines.iter().map(|line| generalized(line)).collect();
    assert_eq!(
        lines,
        BTreeSet::from(
            [
                "127.0.0.1 - KEY [TIME] \"GET /v1/qr/a HTTP/1.1\" 200 BYTES \"https://a.example/b\" \
             \"curl/8.5.0 \\x22x\\x22 \\x5C \\xC3\\xA9\"",
                "127.0.0.1 - KEY [TIME] \"GET /v1/qr/b HTTP/2.0\" 200 BYTES \"-\" \"-\"",
                "127.0.0.1 - - [TIME] \"GET /v1/qr/c HTTP/1.1\" 401 BYTES \"-\" \"-\"",
                "127.0.0.1 - - [TIME] \"-\" 400 BYTES \"-\" \"-\"",
            ]
            .map(str::to_owned)
        )
    );
}

#[tokio::test]
async fn json_lines_have_the_chosen_fields() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("access.log");
    let fields = "fields = [\"user_agent\", \"status\", \"tool\", \"client_address\", \"path\", \"protocol\", \
                  \"referer\", \"request_bytes\", \"trace_id\", \"method\"]";
    let (_tool, config, proxy) = start(&file, fields).await;
    let trace = "0af7651916cd43dd8448eb211c80319c";
    let traced = call_of_agent("/v1/qr/a?token=hush");
    let traced = traced.header("traceparent", &format!("00-{trace}-b7ad6b7169203331-01"));
    assert_eq!(proxy.send(traced).await.status, 200);
    assert_eq!(proxy.send(Request::new("GET", "/no\u{22}where")).await.status, 400);
    let found = lines(&file, 2).await;
    let json = |line: &String| serde_json::from_str::<Value>(line).unwrap();
    let expected = serde_json::json!({
        "method": "GET", "tool": "qr", "status": 200, "trace_id": trace, "request_bytes": 0,
        "client_address": "127.0.0.1", "path": "/v1/qr/a", "protocol": "HTTP/1.1",
        "referer": "https://a.example/b", "user_agent": AGENT,
    });
    let mut found: Vec<_> = found.iter().map(json).collect();
    found.sort_by_key(|line| line["status"].as_u64());
    assert_eq!(found[0], expected);
    assert_eq!((&found[1]["path"], &found[1]["tool"]), (&"/no\"where".into(), &Value::Null));
    // A reload brings the usual fields back, which say nothing of the client.
    let generation = proxy.config_status().await["generation"].as_u64().unwrap();
    let usual = config.clone().section("log", &format!("file = {file:?}\n"));
    proxy.reload(&usual);
    proxy.generation_after(generation).await;
    assert_eq!(proxy.send(call_of_agent("/v1/qr/b")).await.status, 200);
    let lines = lines(&file, 3).await;
    let line = lines.iter().map(json).find(|line| line["action"] == "b").unwrap();
    assert!(line["duration_ms"].is_f64(), "{line}");
    for field in ["client_address", "path", "protocol", "referer", "user_agent", "request_bytes"] {
        assert_eq!(line[field], Value::Null, "{field}");
    }
}

#[tokio::test]
async fn line_behind_an_edge_names_the_secret_of_the_grant() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("access.log");
    let (_tool, _config, proxy) = start(&file, "").await;
    let secret_id = SecretId::new([7; 8]);
    for (action, secret_id) in [("own", None), ("named", Some(secret_id))] {
        let signer = Signer { secret_id, ..Signer::default() };
        let call = signer.granted(Request::new("GET", &format!("/v1/qr/{action}")));
        assert_eq!(proxy.send(call).await.status, 200, "{action}");
    }
    let found = lines(&file, 2).await;
    for (action, named) in [("own", Value::Null), ("named", secret_id.to_string().into())] {
        let json = found.iter().map(|line| serde_json::from_str::<Value>(line).unwrap());
        let line = json.into_iter().find(|line| line["action"] == action).unwrap();
        assert_eq!(line["secret_id"], named, "{line}");
    }
}
