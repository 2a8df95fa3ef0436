//! Direct mode: the proxy verifies keys and counts quotas itself.

mod changes;
mod console;
mod contention;
mod full_disk;
mod issuing;
mod leaving;
mod links;
mod meters;
mod secrets;
mod state;
mod told_quota;
mod units;

use std::{
    fs,
    io::Read as _,
    net::{IpAddr, SocketAddr, UdpSocket},
    path::PathBuf,
};

use flate2::read::GzDecoder;
use serde_json::Value;
use shared::{
    key::{ApiKey, KeyEnv, KeyId},
    secret::MacKeys,
    tier::Tier,
    tool::Tool,
};
use tempfile::TempDir;
use tests::keys;

use tests::{
    Client, FakeTool, Request, Response, ToolBehavior,
    http2::Http2Client,
    proxy::{Proxy, ProxyConfig},
    tls::{Authority, NAME, TempFiles, TlsClient},
    until,
};

const IN_FLIGHT: &str = r#"utg_calls_in_flight{tool="qr"}"#;

/// A proxy in direct mode with one tool, and the folder of its state.
struct Direct {
    proxy: Proxy,
    folder: TempDir,
    config: ProxyConfig,
}

impl Direct {
    async fn start(behavior: ToolBehavior) -> Self {
        Self::with(behavior, |config| config).await
    }

    async fn with(behavior: ToolBehavior, change: impl FnOnce(ProxyConfig) -> ProxyConfig) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let tool = FakeTool::start(behavior).await;
        let config = ProxyConfig::new().direct(&folder.path().join("keys")).tool(Tool::Qr, &[&tool]);
        let config = change(config);
        Self { proxy: config.ready().await, folder, config }
    }

    async fn call(&self, key: &str) -> Response {
        self.proxy.send(call(key)).await
    }

    /// Makes so many calls in sequence. Returns the number of those that pass.
    async fn pass(&self, key: &str, calls: usize) -> usize {
        let mut passed = 0;
        for _ in 0..calls {
            passed += usize::from(self.call(key).await.status == 200);
        }
        passed
    }

    /// Returns the body of `GET /v1/keys/me`.
    async fn me(&self, key: &str) -> Value {
        let me = self.proxy.send(Request::new("GET", "/v1/keys/me").header("X-API-Key", key)).await;
        assert_eq!(me.status, 200, "{me:?}");
        me.json()
    }

    /// Returns the path of the state file.
    fn state(&self) -> PathBuf {
        self.folder.path().join("keys")
    }

    /// Ends the process with a signal and starts another one with the same configuration.
    async fn restart(mut self, signal: &str) -> Self {
        self.proxy.signal(signal);
        self.proxy.exited().await;
        Self { proxy: self.config.ready().await, ..self }
    }
}

/// Removes the TLS terminator in front of the proxy from a configuration.
fn without_terminator(config: ProxyConfig) -> ProxyConfig {
    let text = config.text();
    let state = text.lines().find(|line| line.starts_with("state = ")).unwrap();
    config.section("keys", &format!("direct = true\nsecret = \"${{KEY_SIGNING_SECRET}}\"\n{state}\n"))
}

fn call(key: &str) -> Request {
    Request::new("GET", "/v1/qr/generate").header("X-API-Key", key)
}

/// Makes `each` calls of a key in sequence on each of so many parallel connections. Returns how
/// many were 200 and how many were 429.
async fn calls_at_once(proxy: &Proxy, key: &str, connections: usize, each: usize) -> (usize, usize) {
    let bytes = call(key).bytes();
    let sent = (0..connections).map(|_| {
        let (bytes, to) = (bytes.clone(), proxy.listen);
        tokio::spawn(async move {
            let mut client = Client::connect(to).await;
            let mut statuses = Vec::new();
            for _ in 0..each {
                client.write(&bytes).await;
                statuses.push(client.response("GET").await.unwrap().status);
            }
            statuses
        })
    });
    let mut statuses = Vec::new();
    for sent in sent.collect::<Vec<_>>() {
        statuses.extend(sent.await.unwrap());
    }
    let count = |status| statuses.iter().filter(|own| **own == status).count();
    assert_eq!(count(200) + count(429), statuses.len(), "{statuses:?}");
    (count(200), count(429))
}

fn limits(response: &Response) -> (&str, &str) {
    (response.header("ratelimit-policy").unwrap(), response.header("ratelimit").unwrap())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn concurrent_calls_pass_exactly_up_to_the_limit() {
    let direct = Direct::start(ToolBehavior::Describe).await;
    let (pro, _) = keys::fresh(Tier::Pro);
    assert_eq!(calls_at_once(&direct.proxy, &pro, 10, 50).await, (100, 400));
    let (free, _) = keys::fresh(Tier::Free);
    assert_eq!(calls_at_once(&direct.proxy, &free, 10, 50).await, (10, 490));
    let (other, _) = keys::fresh(Tier::Free);
    assert_eq!(direct.call(&other).await.status, 200, "each key has its own quota");
}

#[tokio::test]
async fn flood_of_bad_keys_is_throttled_and_good_calls_pass() {
    let flood = |config: ProxyConfig| without_terminator(config.line("clients", "refusals_per_second = 20"));
    let direct = Direct::with(ToolBehavior::Describe, flood).await;
    let mut client = Client::connect(direct.proxy.listen).await;
    for target in ["/v1/qr/generate", "/v1/keys/me"] {
        let mut stopped = 0;
        for key in ["", "X-API-Key: utg_live_no\r\n"].into_iter().cycle().take(200) {
            client.write(format!("GET {target} HTTP/1.1\r\nHost: localhost\r\n{key}\r\n").as_bytes()).await;
            let response = client.response("GET").await.unwrap();
            if response.status == 429 {
                let told = (response.json()["code"].clone(), response.header("retry-after"));
                assert_eq!(told, ("too-many-requests".into(), Some("1")));
                stopped += 1;
            } else {
                assert_eq!(response.status, 401, "{response:?}");
            }
        }
        assert!(stopped > 0, "{target}");
    }
    let (key, _) = keys::fresh(Tier::Free);
    let good = format!("GET /v1/qr/generate HTTP/1.1\r\nHost: localhost\r\nX-API-Key: {key}\r\n\r\n");
    client.write(good.as_bytes()).await;
    assert_eq!(client.response("GET").await.unwrap().status, 200);
}

#[tokio::test]
async fn responses_have_quota_headers_and_refusals_retry_after() {
    let direct = Direct::start(ToolBehavior::Describe).await;
    let (key, id) = keys::fresh(Tier::Free);
    let first = direct.call(&key).await;
    assert_eq!(first.status, 200);
    assert_eq!(limits(&first).0, r#""minute";q=10;w=60, "day";q=100;w=86400"#);
    assert!(limits(&first).1.starts_with(r#""minute";r=9;t="#), "{first:?}");
    assert_eq!(first.header("access-control-allow-origin"), Some("*"));
    assert!(first.header("server-timing").unwrap().contains("origin;dur="), "{first:?}");
    for _ in 0..9 {
        direct.call(&key).await;
    }
    let refused = direct.call(&key).await;
    assert_eq!((refused.status, refused.json()["code"].as_str()), (429, Some("quota-exceeded")));
    assert_eq!(refused.json()["violated-policies"][0], "minute");
    assert!(limits(&refused).1.starts_with(r#""minute";r=0;t="#), "{refused:?}");
    let wait: u64 = refused.header("retry-after").unwrap().parse().unwrap();
    assert!((59..=61).contains(&wait), "{wait}");
    assert_eq!(refused.header("x-gateway-problem"), Some("quota-exceeded"));
    let me = direct.proxy.send(Request::new("GET", "/v1/keys/me").header("X-API-Key", &key)).await;
    let told = me.json();
    assert_eq!((me.status, told["id"].as_str()), (200, Some(id.to_string().as_str())));
    assert_eq!((&told["usage"]["minute"]["used"], &told["usage"]["day"]["used"]), (&10.into(), &10.into()));
    assert_eq!(
        (&told["today"]["by_tool"]["qr"], &told["today"]["by_status"]["200"]),
        (&10.into(), &10.into())
    );
    assert!(told["last_used_at"].is_string());
    assert!(limits(&me).1.starts_with(r#""minute";r=0;t="#), "{me:?}");
}

#[tokio::test]
async fn refused_calls_and_missing_tools_are_not_charged() {
    let direct = Direct::start(ToolBehavior::Describe).await;
    let (key, _) = keys::fresh(Tier::Pro);
    let away = direct.proxy.send(Request::new("GET", "/v1/pdf/merge").header("X-API-Key", &key)).await;
    assert_eq!((away.status, away.json()["code"].as_str()), (503, Some("tool-unavailable")));
    assert!(limits(&away).1.contains(r#""day";r=9999;"#), "{away:?}");
    let text = Request::new("POST", "/v1/qr/generate")
        .header("X-API-Key", &key)
        .header("Content-Type", "text/plain")
        .body(b"x");
    let refused = direct.proxy.send(text).await;
    assert_eq!((refused.status, refused.json()["code"].as_str()), (415, Some("media-type-unsupported")));
    let usage = direct.me(&key).await["usage"].clone();
    assert_eq!((&usage["minute"]["used"], &usage["day"]["used"]), (&1.into(), &0.into()));
    assert_eq!(direct.pass(&key, 1).await, 1);
    let usage = direct.me(&key).await["usage"].clone();
    assert_eq!((&usage["minute"]["used"], &usage["day"]["used"]), (&2.into(), &1.into()));
}

/// A form of `curl -d`, for example, until its sender has found the right type.
#[tokio::test]
async fn bodies_of_another_type_do_not_use_up_the_minute() {
    let direct = Direct::start(ToolBehavior::Describe).await;
    let (key, _) = keys::fresh(Tier::Free);
    let post = || Request::new("POST", "/v1/qr/generate").header("X-API-Key", &key);
    for at in 0..20 {
        let kind = ["application/x-www-form-urlencoded", "text/plain", "application/octet-stream"][at % 3];
        let refused = direct.proxy.send(post().header("Content-Type", kind).body(b"url=x")).await;
        assert_eq!(refused.status, 415);
    }
    let right = direct.proxy.send(post().json("{}")).await;
    assert_eq!(right.status, 200);
    let quota = limits(&right).1;
    assert!(quota.contains(r#""minute";r=9;"#) && quota.contains(r#""day";r=99;"#), "{quota}");
}

#[tokio::test]
async fn response_that_the_tool_breaks_off_is_refunded() {
    let chunked = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n".to_vec();
    let short = b"HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\nhalf".to_vec();
    let (key, _) = keys::fresh(Tier::Pro);
    for behavior in [
        ToolBehavior::RespondAndClose(chunked),
        ToolBehavior::RespondAndClose(short.clone()),
        ToolBehavior::RespondAndReset(short.clone()),
        ToolBehavior::Respond(short),
    ] {
        let pause = |config: ProxyConfig| config.pool_line(Tool::Qr, "pause_timeout = \"300ms\"");
        let direct = Direct::with(behavior, pause).await;
        let broken = direct.call(&key).await;
        assert_eq!((broken.status, broken.complete), (200, false));
        until("it is refunded", || async { direct.me(&key).await["usage"]["day"]["used"] == 0 }).await;
        let me = direct.me(&key).await;
        assert_eq!(me["usage"]["minute"]["used"], 1, "the minute protects the tool");
        assert_eq!(me["today"]["by_status"], serde_json::json!({ "503": 1 }));
    }
}

#[tokio::test]
async fn response_that_the_client_breaks_off_is_charged() {
    let half = b"HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\nhalf".to_vec();
    let direct = Direct::start(ToolBehavior::Respond(half)).await;
    let (key, _) = keys::fresh(Tier::Pro);
    let mut client = Client::connect_abortive(direct.proxy.listen).await;
    client.write(&call(&key).bytes()).await;
    assert!(client.head().await.is_some());
    drop(client);
    let aborted = r#"utg_upstream_responses_aborted_total{by="client",tool="qr""#;
    until("it is counted", || async {
        let page = direct.proxy.admin_get("/metrics").await.text();
        page.lines().any(|line| line.starts_with(aborted) && line.ends_with(" 1"))
    })
    .await;
    let me = direct.me(&key).await;
    assert_eq!((&me["usage"]["day"]["used"], &me["today"]["by_status"]["200"]), (&1.into(), &1.into()));
}

/// A call that reached no tool is refunded, as at the edge. Anything else would let a client begin a
/// tool's work for nothing.
#[tokio::test]
async fn upload_that_the_client_cuts_off_is_charged_once_a_tool_has_a_part() {
    let direct = Direct::start(ToolBehavior::Describe).await;
    let piece = vec![b'a'; 100 << 10];
    let chunk = [b"19000\r\n", &piece[..], b"\r\n"].concat();
    for (framing, sent, used) in [
        ("Content-Length: 40", &piece[..10], 0),
        ("Content-Length: 200000", &piece[..10], 0),
        ("Content-Length: 200000", &piece[..], 1),
        ("Transfer-Encoding: chunked", &chunk[..], 1),
    ] {
        let (key, _) = keys::fresh(Tier::Pro);
        let mut client = Client::connect(direct.proxy.listen).await;
        let head = format!(
            "POST /v1/qr/generate HTTP/1.1\r\nHost: localhost\r\nX-API-Key: {key}\r\n\
             Content-Type: application/json\r\n{framing}\r\n\r\n"
        );
        client.write(head.as_bytes()).await;
        client.write(sent).await;
        if used > 0 {
            until("the tool has a part", || async { direct.proxy.metric(IN_FLIGHT).await == Some(1.0) })
                .await;
        }
        drop(client);
        until("it is settled", || async { direct.me(&key).await["today"]["by_status"]["400"] == 1 }).await;
        assert_eq!(direct.me(&key).await["usage"]["day"]["used"], used, "{framing}, {} bytes", sent.len());
    }
}

/// An attack: the client never ends its upload, and gets a response.
#[tokio::test]
async fn upload_that_stalls_within_a_tool_is_charged() {
    let short =
        |config: ProxyConfig| config.short_timeouts(Tool::Qr).line("clients", "min_upload_rate = \"0B\"");
    let direct = Direct::with(ToolBehavior::Describe, short).await;
    for (sent, used) in [(10, 0), (100 << 10, 1)] {
        let (key, _) = keys::fresh(Tier::Pro);
        let mut client = Client::connect(direct.proxy.listen).await;
        let upload = Request::new("POST", "/v1/qr/generate")
            .header("X-API-Key", &key)
            .header("Content-Type", "application/json")
            .header("Content-Length", "200000");
        client.write(&upload.bytes()).await;
        client.write(&vec![b'a'; sent]).await;
        assert_eq!(client.response("POST").await.unwrap().status, 408);
        assert_eq!(direct.me(&key).await["usage"]["day"]["used"], used, "{sent} bytes");
    }
}

#[tokio::test]
async fn key_over_plain_http_from_loopback_is_accepted() {
    let direct = Direct::with(ToolBehavior::Describe, without_terminator).await;
    let (key, _) = keys::fresh(Tier::Pro);
    assert_eq!(direct.call(&key).await.status, 200, "the peer is a loopback address");
    let without_key = direct.proxy.send(Request::new("GET", "/v1/qr/generate")).await;
    assert_eq!(without_key.json()["code"], "key-missing");
}

/// Calls through an address of this machine that is not a loopback address. `shared` tests the rule
/// itself.
#[tokio::test]
async fn key_over_plain_http_from_network_is_refused() {
    let direct =
        Direct::with(ToolBehavior::Describe, |config| without_terminator(config).listen("0.0.0.0:0")).await;
    let (key, _) = keys::fresh(Tier::Pro);
    let Some(own) = network_address() else { return };
    let to = SocketAddr::new(own, direct.proxy.listen.port());
    for target in ["/v1/qr/generate", "/v1/keys/me"] {
        let mut client = Client::connect(to).await;
        let local = format!("GET {target} HTTP/1.1\r\nHost: localhost:80\r\nX-API-Key: {key}\r\n\r\n");
        client.write(local.as_bytes()).await;
        let refused = client.response("GET").await.unwrap();
        assert_eq!(
            (refused.status, refused.json()["code"].as_str()),
            (403, Some("https-required")),
            "{target}"
        );
    }
}

/// Returns the address of this machine in the network of its default route. Nothing is sent.
fn network_address() -> Option<IpAddr> {
    let socket = UdpSocket::bind("0.0.0.0:0").ok()?;
    socket.connect("203.0.113.1:9").ok()?;
    socket.local_addr().ok().map(|address| address.ip()).filter(|address| !address.is_loopback())
}

#[tokio::test]
async fn documents_are_compressed_and_revalidated_by_etag() {
    let direct = Direct::start(ToolBehavior::Describe).await;
    for target in ["/docs", "/openapi.json", "/problems/key-missing"] {
        let plain = direct.proxy.send(Request::new("GET", target)).await;
        assert_eq!((plain.status, plain.header("content-encoding")), (200, None), "{target}");
        let gzip = Request::new("GET", target).header("Accept-Encoding", "br, gzip");
        let packed = direct.proxy.send(gzip.clone()).await;
        assert_eq!((packed.status, packed.header("content-encoding")), (200, Some("gzip")), "{target}");
        let mut unpacked = Vec::new();
        GzDecoder::new(&packed.body[..]).read_to_end(&mut unpacked).unwrap();
        assert!(unpacked == plain.body && packed.body.len() * 2 < plain.body.len(), "{target}");
        let length = packed.body.len().to_string();
        assert_eq!(packed.header("content-length"), Some(length.as_str()));
        let tag = plain.header("etag").unwrap();
        assert_eq!((packed.header("etag"), packed.header("vary")), (Some(tag), Some("accept-encoding")));
        let known = direct.proxy.send(gzip.header("If-None-Match", tag)).await;
        assert_eq!((known.status, known.body.len(), known.header("etag")), (304, 0, Some(tag)), "{target}");
        assert_eq!((known.header("content-length"), known.header("content-encoding")), (None, None));
        let head = direct.proxy.send(Request::new("HEAD", target).header("Accept-Encoding", "gzip")).await;
        assert_eq!((head.header("content-length"), head.body.len()), (Some(length.as_str()), 0), "{target}");
    }
}

#[tokio::test]
async fn responses_over_tls_have_hsts() {
    const YEAR: Option<&str> = Some("max-age=31536000");
    let direct = Direct::start(ToolBehavior::Describe).await;
    let (key, _) = keys::fresh(Tier::Pro);
    assert_eq!(direct.call(&key).await.header("strict-transport-security"), YEAR);
    for target in ["/docs", "/v1/qr/generate", "/nothing"] {
        let response = direct.proxy.send(Request::new("GET", target)).await;
        assert_eq!(response.header("strict-transport-security"), YEAR, "{target}");
    }
    let plain = Direct::with(ToolBehavior::Describe, without_terminator).await;
    for response in [plain.call(&key).await, plain.proxy.send(Request::new("GET", "/docs")).await] {
        assert_eq!(response.header("strict-transport-security"), None, "over plain HTTP it means nothing");
    }
    let said = b"HTTP/1.1 200 OK\r\nStrict-Transport-Security: max-age=1\r\nContent-Length: 0\r\n\r\n";
    let passes = "pass_response_headers = [\"strict-transport-security\"]";
    for (line, expected) in [("", YEAR), (passes, Some("max-age=1"))] {
        let behavior = ToolBehavior::Respond(said.to_vec());
        let direct = Direct::with(behavior, |config| config.pool_line(Tool::Qr, line)).await;
        let response = direct.call(&key).await;
        assert_eq!(response.header("strict-transport-security"), expected);
        assert_eq!(response.header_values("strict-transport-security").len(), 1);
    }
}

#[tokio::test]
async fn pages_and_preflights_match_the_edge() {
    let direct = Direct::start(ToolBehavior::Describe).await;
    let get = |target: &'static str| direct.proxy.send(Request::new("GET", target));
    let description = get("/openapi.json").await;
    assert_eq!(description.json()["servers"][0]["url"], "https://gateway.test");
    assert_eq!(description.header("cache-control"), Some("public, max-age=300"));
    let reference = get("/docs").await;
    assert!(String::from_utf8(reference.body.clone()).unwrap().contains("https://gateway.test/v1/"));
    assert!(reference.header("content-security-policy").is_some());
    assert_eq!(get("/problems/quota-exceeded").await.status, 200);
    assert_eq!(get("/healthz").await.header("x-content-type-options"), Some("nosniff"));
    assert_eq!(get("/v1/status").await.status, 200);
    let preflight = direct.proxy.send(Request::new("OPTIONS", "/v1/keys/me")).await;
    assert_eq!((preflight.status, preflight.header("allow")), (204, Some("GET, HEAD, DELETE, OPTIONS")));
}

#[tokio::test]
async fn denied_call_is_logged_and_counted_with_its_key() {
    let direct = Direct::start(ToolBehavior::Describe).await;
    let (key, id) = keys::fresh(Tier::Free);
    direct.pass(&key, 11).await;
    let line = format!("\"key_id\":\"{id}\"");
    let lines = || direct.proxy.output().lines().filter(|own| own.contains(&line)).count();
    until("all calls are in the log", || async { lines() == 11 }).await;
    assert!(direct.proxy.output().lines().any(|own| own.contains(&line) && own.contains("quota-exceeded")));
    let series = |status: &str| format!("utg_calls_total{{status=\"{status}\",tier=\"free\",tool=\"qr\"}}");
    assert_eq!(direct.proxy.metric(&series("4xx")).await, Some(1.0));
    assert_eq!(direct.proxy.metric(&series("2xx")).await, Some(10.0));
}

#[tokio::test]
async fn signing_secret_rotates_without_refusing_calls() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("signing");
    fs::write(&file, keys::KEY_SIGNING_SECRET).unwrap();
    let named = |config: ProxyConfig| {
        let text =
            config.text().replace("secret = \"${KEY_SIGNING_SECRET}\"", &format!("secret_file = {file:?}"));
        let keys = text.split_once("[keys]\n").unwrap().1.split_once("\n[").unwrap().0.to_owned();
        config.section("keys", &format!("{keys}\n"))
    };
    let direct = Direct::with(ToolBehavior::Describe, named).await;
    let (old, _) = keys::fresh(Tier::Pro);
    let new_secret = "another-key-signing-secret-of-the-tests";
    let both = format!("2:{new_secret},1:{}", keys::KEY_SIGNING_SECRET);
    let signing = MacKeys::parse(&both).unwrap();
    let (new, _) = ApiKey::mint(KeyEnv::Live, KeyId::new([9; 12]), Tier::Pro, keys::now(), [8; 16], &signing);
    let new = new.reveal();
    assert_eq!((direct.call(&old).await.status, direct.call(&new).await.status), (200, 401));
    fs::write(&file, both).unwrap();
    until("the new secret is taken", || async { direct.call(&new).await.status == 200 }).await;
    assert_eq!(direct.call(&old).await.status, 200);
    fs::write(&file, format!("2:{new_secret}")).unwrap();
    until("the old secret is gone", || async { direct.call(&old).await.status == 401 }).await;
    assert_eq!(direct.call(&new).await.status, 200);
}

#[tokio::test]
async fn keys_over_tls_are_accepted_in_both_http_versions() {
    let (authority, folder) = (Authority::generate(), TempFiles::create());
    let tls = folder.server(&authority.identity(NAME));
    let direct =
        Direct::with(ToolBehavior::Describe, |config| without_terminator(config).section("server.tls", &tls))
            .await;
    let (key, _) = keys::fresh(Tier::Pro);
    let mut client = TlsClient::new(&authority).connect(direct.proxy.listen).await;
    client.write(&call(&key).bytes()).await;
    let response = client.response("GET").await.unwrap();
    assert_eq!(response.status, 200);
    assert!(limits(&response).1.starts_with(r#""minute";r=99;"#), "{response:?}");
    let http2 = Http2Client::over_tls(TlsClient::new(&authority), direct.proxy.listen).await;
    let response = http2.send(&call(&key)).await;
    assert_eq!(response.status, 200);
    assert!(limits(&response).1.starts_with(r#""minute";r=98;"#), "{response:?}");
    let me = http2.send(&Request::new("GET", "/v1/keys/me").header("X-API-Key", &key)).await;
    assert_eq!(me.json()["usage"]["day"]["used"], 2);
}
