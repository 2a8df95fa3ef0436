//! `proxy ctl`: an operator drains, weights and ejects servers, and switches tools off, while the proxy
//! runs.

use std::{
    fs,
    os::unix::net::UnixStream,
    path::{Path, PathBuf},
    process::Command,
};

use serde_json::Value;
use shared::tool::Tool;
use tempfile::TempDir;

use tests::{
    Client, FakeTool, Request, ToolBehavior,
    grant::call,
    process::binary,
    proxy::{Proxy, ProxyConfig},
    until,
};

struct Operator {
    directory: TempDir,
}

impl Operator {
    fn new() -> Self {
        Self { directory: tempfile::tempdir().unwrap() }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    fn config(&self, tools: &[&FakeTool]) -> ProxyConfig {
        let (socket, changes) = (self.path("admin.sock"), self.path("changes.json"));
        let lines = format!("admin_socket = {socket:?}\nadmin_changes = {changes:?}");
        ProxyConfig::new().tool(Tool::Qr, tools).line("server", &lines)
    }

    fn ctl(&self, arguments: &[&str]) -> Result<String, String> {
        let socket = self.path("admin.sock");
        ctl(&[&["--socket", socket.to_str().unwrap()], arguments].concat())
    }

    fn done(&self, arguments: &[&str]) {
        self.ctl(arguments).unwrap_or_else(|error| panic!("{arguments:?}: {error}"));
    }
}

/// Runs `proxy ctl`. Returns what it printed, as `Err` if it failed.
pub(crate) fn ctl(arguments: &[&str]) -> Result<String, String> {
    let output = Command::new(binary("proxy")).arg("ctl").args(arguments).output().unwrap();
    match output.status.code() {
        Some(0) => Ok(String::from_utf8(output.stdout).unwrap()),
        Some(1) => Err(String::from_utf8(output.stderr).unwrap()),
        other => panic!("{arguments:?}: {other:?} {output:?}"),
    }
}

async fn two() -> (Operator, FakeTool, FakeTool, Proxy) {
    let operator = Operator::new();
    let (one, other) =
        (FakeTool::start(ToolBehavior::Describe).await, FakeTool::start(ToolBehavior::Describe).await);
    let config = operator.config(&[&one, &other]).line("defaults", "slow_start = \"0s\"");
    let proxy = config.ready().await;
    // A service of its own opens it, which may begin after the one that says that the proxy is ready.
    until("the admin socket is there", || async { operator.path("admin.sock").exists() }).await;
    (operator, one, other, proxy)
}

/// Returns how many of twelve calls each tool got.
async fn shares(proxy: &Proxy, tools: [&FakeTool; 2]) -> [usize; 2] {
    let before = tools.map(FakeTool::calls);
    for _ in 0..12 {
        assert_eq!(proxy.send(call("GET", "/v1/qr/a")).await.status, 200);
    }
    let [one, other] = tools.map(FakeTool::calls);
    [one - before[0], other - before[1]]
}

async fn pools(proxy: &Proxy) -> Value {
    proxy.admin_get("/pools").await.json()
}

#[tokio::test]
async fn operator_drains_enables_and_weights_a_server() {
    let (operator, one, other, proxy) = two().await;
    let server = one.address.to_string();
    operator.done(&["drain", "qr", &server, "--reason", "kernel update"]);
    assert_eq!(shares(&proxy, [&one, &other]).await, [0, 12]);
    let shown = pools(&proxy).await;
    assert_eq!(shown["pools"]["qr"]["upstreams"][0]["duty"], "draining");
    let recent = &shown["changes"]["recent"][0];
    assert_eq!(
        (&recent["do"]["drain"]["server"], &recent["reason"]),
        (&server.into(), &"kernel update".into())
    );
    assert!(recent["by"].as_str().unwrap().starts_with("uid="), "{recent}");
    let server = one.address.to_string();
    operator.done(&["enable", "qr", &server]);
    assert_eq!(shares(&proxy, [&one, &other]).await, [6, 6]);
    operator.done(&["weight", "qr", &server, "3"]);
    assert_eq!(shares(&proxy, [&one, &other]).await, [9, 3]);
    operator.done(&["reset"]);
    assert_eq!(shares(&proxy, [&one, &other]).await, [6, 6]);
    let shown: Value = serde_json::from_str(&operator.ctl(&["show"]).unwrap()).unwrap();
    assert_eq!(shown["recent"].as_array().unwrap().len(), 4);
    proxy.logs("change applied: by=\"uid=").await;
}

#[tokio::test]
async fn drained_pool_and_disabled_tool_are_in_the_metrics() {
    let (operator, one, other, proxy) = two().await;
    let servers = [&one, &other].map(|tool| tool.address.to_string());
    let counts = async || {
        let of_duty = async |duty| {
            let series = format!(r#"utg_pool_upstreams{{duty="{duty}",tool="qr"}}"#);
            proxy.metric(&series).await.unwrap()
        };
        let disabled = proxy.metric(r#"utg_tool_disabled{tool="qr"}"#).await.unwrap();
        [of_duty("calls").await, of_duty("draining").await, of_duty("off").await, disabled]
    };
    assert_eq!(counts().await, [2.0, 0.0, 0.0, 0.0]);
    operator.done(&["drain", "qr", &servers[0]]);
    assert_eq!(counts().await, [1.0, 1.0, 0.0, 0.0]);
    operator.done(&["drain", "qr", &servers[1]]);
    assert_eq!(counts().await, [0.0, 2.0, 0.0, 0.0]);
    assert_eq!(proxy.send(call("GET", "/v1/qr/a")).await.status, 503);
    operator.done(&["reset"]);
    operator.done(&["off", "qr"]);
    assert_eq!(counts().await, [2.0, 0.0, 0.0, 1.0]);
    assert_eq!(proxy.send(call("GET", "/v1/qr/a")).await.status, 503);
    operator.done(&["on", "qr"]);
    assert_eq!(counts().await, [2.0, 0.0, 0.0, 0.0]);
    assert_eq!(proxy.send(call("GET", "/v1/qr/a")).await.status, 200);
}

#[tokio::test]
async fn server_that_an_operator_ejects_stays_out_until_unejected() {
    let (operator, one, other, proxy) = two().await;
    let server = one.address.to_string();
    operator.done(&["eject", "qr", &server, "--for", "1h"]);
    assert_eq!(shares(&proxy, [&one, &other]).await, [0, 12]);
    // Probes pass meanwhile, and do not bring it back.
    let ejected = pools(&proxy).await["pools"]["qr"]["upstreams"][0]["ejected_for_ms"].as_u64().unwrap();
    assert!(ejected > 3_000_000, "{ejected}");
    operator.done(&["uneject", "qr", &server]);
    assert_eq!(shares(&proxy, [&one, &other]).await, [6, 6]);
}

#[tokio::test]
async fn tool_is_switched_off_with_a_reason_and_on() {
    let (operator, _one, _other, proxy) = two().await;
    operator.done(&["off", "qr", "--for", "1h", "--reason", "moving house"]);
    let refused = proxy.send(call("GET", "/v1/qr/a")).await;
    assert_eq!((refused.status, refused.problem().as_str()), (503, "tool-disabled"));
    assert!(refused.text().contains("moving house"), "{}", refused.text());
    let wait: u64 = refused.header("retry-after").unwrap().parse().unwrap();
    assert!((3_500..=3_601).contains(&wait), "{wait}");
    operator.done(&["on", "qr"]);
    assert_eq!(proxy.send(call("GET", "/v1/qr/a")).await.status, 200);
}

#[tokio::test]
async fn reload_drops_changes_unless_they_are_persisted() {
    let (operator, one, other, mut proxy) = two().await;
    let (server, second) = (one.address.to_string(), other.address.to_string());
    operator.done(&["drain", "qr", &server]);
    assert!(!operator.path("changes.json").exists());
    operator.done(&["reload"]);
    let dropped = format!(r#"{{"tools":{{"qr":{{"servers":{{"{server}":{{"state":"draining"}}}}}}}}}}"#);
    proxy.logs(&format!("changes dropped: reason=reload changes={dropped}")).await;
    proxy.logs("config reloaded: generation=2 changed=nothing").await;
    assert_eq!(shares(&proxy, [&one, &other]).await, [6, 6]);
    operator.done(&["drain", "qr", &server, "--persist"]);
    operator.done(&["weight", "qr", &second, "2"]);
    operator.done(&["reload"]);
    assert_eq!(shares(&proxy, [&one, &other]).await, [0, 12]);
    let shown = pools(&proxy).await;
    assert_eq!(shown["changes"]["until_reload"], serde_json::json!({}));
    assert_eq!(shown["pools"]["qr"]["upstreams"][1]["weight"], 1);
    // It outlives the process.
    proxy.signal("TERM");
    assert!(proxy.exited().await.success());
    assert!(!operator.path("admin.sock").exists());
    let proxy = operator.config(&[&one, &other]).line("defaults", "slow_start = \"0s\"").ready().await;
    assert_eq!(shares(&proxy, [&one, &other]).await, [0, 12]);
    // A file that was damaged is a fault: the running process keeps its changes, and takes all else.
    fs::write(operator.path("changes.json"), "{").unwrap();
    let told = operator.ctl(&["reload"]).unwrap();
    assert!(told.contains("changes.json"), "{told}");
    assert_eq!(proxy.config_status().await["failed_files"][0]["key"], "server.admin_changes");
    assert_eq!(shares(&proxy, [&one, &other]).await, [0, 12]);
    operator.done(&["reset", "--persist"]);
    assert_eq!(shares(&proxy, [&one, &other]).await, [6, 6]);
    operator.done(&["reload"]);
}

#[tokio::test]
async fn invalid_change_is_refused_with_what_is_expected() {
    let (operator, one, other, proxy) = two().await;
    let server = one.address.to_string();
    for (arguments, expected) in [
        (&["drain", "qs", &server][..], "unknown tool `qs`"),
        (&["drain", "qr", "10.0.0.1:1"], "expected one of"),
        (&["eject", "qr", "10.0.0.1:1"], "expected one of"),
        (&["eject", "qr", &server, "--persist"], "cannot be persisted"),
        (&["weight", "qr", &server, "0"], "1 to 100"),
        (&["off", "qr", "--until", "yesterday"], "RFC 3339"),
        (&["log-level", "loud"], "off, error"),
        (&["off", "qr", "--reason", "two\nlines"], "one line"),
    ] {
        let refused = operator.ctl(arguments).unwrap_err();
        assert!(refused.starts_with("refused: ") && refused.contains(expected), "{refused}");
    }
    assert_eq!(shares(&proxy, [&one, &other]).await, [6, 6]);
    assert_eq!(pools(&proxy).await["changes"]["recent"], serde_json::json!([]));
    let nowhere =
        Command::new(binary("proxy")).args(["ctl", "--socket", "/nowhere.sock", "show"]).output().unwrap();
    assert_eq!(nowhere.status.code(), Some(1));
    assert!(String::from_utf8(nowhere.stderr).unwrap().contains("/nowhere.sock does not respond"));
}

#[tokio::test]
async fn log_level_changes_at_run_time() {
    let (operator, one, _other, proxy) = two().await;
    operator.done(&["log-level", "off"]);
    operator.done(&["drain", "qr", &one.address.to_string(), "--reason", "unheard"]);
    operator.done(&["log-level", "info"]);
    operator.done(&["enable", "qr", &one.address.to_string(), "--reason", "heard"]);
    proxy.logs("\"reason\":\"heard\"").await;
    assert!(!proxy.output().contains("unheard"));
}

#[tokio::test]
async fn debug_level_shows_the_way_of_a_call() {
    let (operator, one, other, proxy) = two().await;
    proxy.send(call("GET", "/v1/qr/before?token=hush")).await;
    operator.done(&["log-level", "debug"]);
    one.set(ToolBehavior::RespondAndClose(Vec::new()));
    for _ in 0..4 {
        assert_eq!(proxy.send(call("GET", "/v1/qr/a?token=hush")).await.status, 200);
    }
    let refused = Client::send_once(proxy.listen, &Request::new("GET", "/v1/qr/a?token=hush")).await;
    assert_eq!(refused.unwrap().status, 401);
    let line = |event: &str, members: &[&str]| {
        let output = proxy.output();
        let has_all =
            |line: &&str| line.contains(event) && members.iter().all(|member| line.contains(member));
        output.lines().find(has_all).map(str::to_owned)
    };
    let (one, other) = (format!("upstream={}", one.address), other.address.to_string());
    until("a retried call is told", || async {
        line("call routed: request_id=", &["tool=qr action=a", &one]).is_some()
            && line("attempt failed: request_id=", &[&one, "cause=\"", &format!("next={other}")]).is_some()
            && line("request ended: ", &["status=200", "attempts=2", &format!("upstream={other}")]).is_some()
            && line("request ended: ", &["status=401 code=grant-", "upstream=-"]).is_some()
    })
    .await;
    operator.done(&["log-level", "info"]);
    assert_eq!(proxy.send(call("GET", "/v1/qr/after")).await.status, 200);
    let output = proxy.output();
    assert!(!output.contains("action=before ") && !output.contains("action=after "), "{output}");
    assert!(!output.contains("hush"), "no query is logged: {output}");
}

#[tokio::test]
async fn upgraded_process_takes_the_admin_socket_over() {
    let operator = Operator::new();
    let tool = FakeTool::start(ToolBehavior::Describe).await;
    let upgrade = format!("upgrade_socket = {:?}", operator.path("upgrade.sock"));
    let config = operator.config(&[&tool]).line("server", &upgrade);
    let mut old = config.ready().await;
    operator.done(&["show"]);
    let new = config.upgrade();
    new.ready().await;
    assert!(old.exited().await.success());
    until("the new process responds", || async { responds(&operator.path("admin.sock")) }).await;
    operator.done(&["off", "qr"]);
    assert_eq!(new.send(call("GET", "/v1/qr/a")).await.problem(), "tool-disabled");
}

fn responds(socket: &Path) -> bool {
    UnixStream::connect(socket).is_ok()
}

const TOKEN: &str = "token-of-the-operators-0123456789";

fn change(token: &str, body: &str) -> Request {
    let request = Request::new("POST", "/changes").header("Authorization", &format!("Bearer {token}"));
    request.body(body)
}

#[tokio::test]
async fn holder_of_the_token_makes_changes_over_http() {
    let (tool, state) = (FakeTool::start(ToolBehavior::Describe).await, tempfile::tempdir().unwrap());
    let changes = state.path().join("changes.json");
    let lines = format!("admin_token = \"${{ADMIN_TOKEN}}\"\nadmin_changes = {changes:?}");
    let config = ProxyConfig::new().tool(Tool::Qr, &[&tool]).line("server", &lines);
    let proxy = config.variable("ADMIN_TOKEN", TOKEN).ready().await;
    let off = r#"{"do":{"off":{"tool":"qr"}},"persist":true,"reason":"upkeep"}"#;
    for token in ["", "token-of-somebody-else-0123456789", &TOKEN[1..]] {
        let response = proxy.admin_send(change(token, off)).await;
        assert_eq!((response.status, response.header("www-authenticate")), (401, Some("Bearer")), "{token}");
    }
    assert_eq!(proxy.send(call("GET", "/v1/qr/a")).await.status, 200);
    let response = proxy.admin_send(change(TOKEN, off)).await;
    assert_eq!((response.status, response.json()["applied"].is_string()), (200, true), "{response:?}");
    assert_eq!(proxy.send(call("GET", "/v1/qr/a")).await.problem(), "tool-disabled");
    assert!(fs::read_to_string(&changes).unwrap().contains("upkeep"));
    let recent = &pools(&proxy).await["changes"]["recent"][0];
    assert!(recent["by"].as_str().unwrap().starts_with("address=127.0.0.1:"), "{recent}");
    let large = format!("{}{off}", " ".repeat(65 << 10));
    for body in [r#"{"do":{"off":{"tool":"video"}}}"#, "{", &large] {
        assert_eq!(proxy.admin_send(change(TOKEN, body)).await.status, 400);
    }
    assert_eq!(proxy.admin_get("/changes").await.status, 405);
    proxy.logs("change applied: by=\"address=").await;
    assert!(!proxy.output().contains(TOKEN));
}

#[tokio::test]
async fn without_a_token_the_admin_port_changes_nothing() {
    let proxy = ProxyConfig::new().ready().await;
    let response = proxy.admin_send(change("", r#"{"do":"reload"}"#)).await;
    assert_eq!(response.status, 403, "{response:?}");
}

#[tokio::test]
async fn ctl_acts_over_http_with_the_token_of_a_file() {
    let operator = Operator::new();
    let tool = FakeTool::start(ToolBehavior::Describe).await;
    let config = operator.config(&[&tool]).line("server", "admin_token = \"${ADMIN_TOKEN}\"");
    let proxy = config.variable("ADMIN_TOKEN", TOKEN).ready().await;
    let file = |name: &str, text: &str| {
        fs::write(operator.path(name), text).unwrap();
        operator.path(name).to_str().unwrap().to_owned()
    };
    let (url, token) = (format!("http://{}", proxy.admin), file("token", &format!("{TOKEN}\n")));
    let over_http =
        |token: &str, arguments: &[&str]| ctl(&[&["--url", &url, "--token-file", token], arguments].concat());
    let server = tool.address.to_string();
    let over_socket = operator.ctl(&["weight", "qr", &server, "2"]).unwrap();
    assert_eq!(over_http(&token, &["weight", "qr", &server, "2"]).unwrap(), over_socket);
    over_http(&token, &["off", "qr", "--reason", "moving house"]).unwrap();
    assert_eq!(proxy.send(call("GET", "/v1/qr/a")).await.problem(), "tool-disabled");
    assert_eq!(over_http(&token, &["show"]), operator.ctl(&["show"]));
    let (wrong, empty) = (file("wrong", "token-of-somebody-else-0123456789"), file("empty", "\n"));
    let nowhere = operator.path("nowhere").to_str().unwrap().to_owned();
    for (token, arguments, expected) in [
        (&token, &["drain", "qs", "a:1"][..], "refused: unknown tool `qs`"),
        (&wrong, &["on", "qr"], "refused: send the header Authorization: Bearer"),
        (&empty, &["on", "qr"], "it is empty"),
        (&nowhere, &["on", "qr"], "cannot be read"),
    ] {
        let refused = over_http(token, arguments).unwrap_err();
        assert!(refused.contains(expected), "{refused}");
    }
    let port_of_calls = format!("http://{}", proxy.listen);
    for (url, expected) in
        [(port_of_calls.as_str(), "status 404"), ("http://127.0.0.1:1", "does not respond")]
    {
        let refused = ctl(&["--url", url, "--token-file", &token, "show"]).unwrap_err();
        assert!(refused.contains(expected), "{refused}");
    }
    assert_eq!(proxy.send(call("GET", "/v1/qr/a")).await.problem(), "tool-disabled");
}
