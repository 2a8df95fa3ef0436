//! The proxy's access log in the format `combined`, read by a parser of others: apachelogs.

use std::{fs, process::Command};

use serde_json::{Value, json};
use shared::tool::Tool;
use tests::{FakeTool, Request, ToolBehavior, grant::call, process::root, proxy::ProxyConfig, until};

/// Prints what the parser finds in each line of a file.
const PARSE: &str = "
import json, sys
from apachelogs import COMBINED, LogParser
parser = LogParser(COMBINED)
for line in open(sys.argv[1], encoding='ascii'):
    entry = parser.parse(line)
    headers = entry.headers_in
    print(json.dumps([
        entry.remote_host, entry.remote_user is not None, entry.request_line, entry.final_status,
        entry.bytes_sent is not None, headers['Referer'], headers['User-Agent'],
        entry.request_time.timestamp(),
    ]))
";

#[tokio::test]
async fn combined_access_log_is_read_by_apachelogs() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("access.log");
    let tool = FakeTool::start(ToolBehavior::Describe).await;
    let log = format!("file = {file:?}\nformat = \"combined\"");
    let proxy = ProxyConfig::new().tool(Tool::Qr, &[&tool]).line("log", &log).ready().await;
    let agent = "curl/8.5.0 \"quoted\" \\ [bracket]";
    let referer = "https://a.example/b";
    let request = call("POST", "/v1/qr/a").header("User-Agent", agent).header("Referer", referer);
    assert_eq!(proxy.send(request).await.status, 200);
    assert_eq!(proxy.send(Request::new("GET", "/\"nowhere?hush")).await.status, 400);
    assert_eq!(proxy.send(Request::new("GET", "/nowhere")).await.status, 404);
    let count = || fs::read_to_string(&file).unwrap_or_default().lines().count();
    until("the lines are written", || async { count() == 3 }).await;

    let python = root().join(".tools/python/bin/python");
    let parsed = Command::new(python).args(["-c", PARSE]).arg(&file).output().unwrap();
    assert!(parsed.status.success(), "{}", String::from_utf8_lossy(&parsed.stderr));
    let mut entries: Vec<Vec<Value>> = String::from_utf8(parsed.stdout)
        .unwrap()
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    for entry in &mut entries {
        let time = entry.pop().and_then(|time| time.as_f64()).unwrap();
        let age = std::time::SystemTime::UNIX_EPOCH.elapsed().unwrap().as_secs_f64() - time;
        assert!((0.0..600.0).contains(&age), "{age}");
    }
    // Threads write on their own.
    entries.sort_by_key(|entry| entry[3].as_u64());
    let found: Vec<_> = entries.into_iter().map(Value::from).collect();
    let host = "127.0.0.1";
    assert_eq!(
        found,
        [
            json!([host, true, "POST /v1/qr/a HTTP/1.1", 200, true, referer, agent]),
            json!([host, false, "GET /\"nowhere HTTP/1.1", 400, true, null, null]),
            json!([host, false, "GET /nowhere HTTP/1.1", 404, true, null, null]),
        ]
    );
}
