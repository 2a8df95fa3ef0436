//! TLS towards clients.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use shared::tool::Tool;
use tokio_rustls::rustls::version::{TLS12, TLS13};

use tests::{
    Client, FakeTool, Request, ToolBehavior,
    grant::{call, post},
    http2::Http2Client,
    proxy::{Proxy, ProxyConfig},
    tls::{Authority, NAME, TempFiles, TlsClient},
    until,
};

/// Starts a proxy with a certificate of `authority`. `more` is appended to `[server.tls]`.
async fn safe(authority: &Authority, folder: &TempFiles, more: &str) -> (FakeTool, Proxy) {
    let tool = FakeTool::start(ToolBehavior::Describe).await;
    let config = ProxyConfig::new()
        .tool(Tool::Qr, &[&tool])
        .line("clients", "header_timeout = \"400ms\"\nidle_timeout = \"5s\"")
        .section("server.tls", &(folder.server(&authority.identity(NAME)) + more));
    (tool, config.ready().await)
}

/// Waits until so many handshakes had this outcome.
async fn counted(proxy: &Proxy, outcome: &str, count: f64) {
    let series = format!("utg_tls_handshakes_total{{outcome=\"{outcome}\"}}");
    until(&format!("{count} handshakes are counted as {outcome}"), || async {
        proxy.metric(&series).await == Some(count)
    })
    .await;
}

#[tokio::test]
async fn call_over_tls_has_the_response_of_a_plain_call() {
    let (authority, folder) = (Authority::generate(), TempFiles::create());
    let (_tool, proxy) = safe(&authority, &folder, "").await;
    for (number, version) in [&TLS12, &TLS13].into_iter().enumerate() {
        let mut client =
            TlsClient::new(&authority).version(version).alpn("http/1.1").connect(proxy.listen).await;
        for body in [String::new(), "{}".to_owned(), format!("\"{}\"", "a".repeat(300_000))] {
            client.write(&post("/v1/qr/generate", &body).bytes()).await;
            let response = client.response("POST").await.expect("a response");
            assert_eq!((response.status, response.json()["body"].as_str()), (200, Some(body.as_str())));
        }
        client.write(b"GET /v1/qr/generate HTTP/1.1\r\nHost: a\r\nA_b: c\r\n\r\n").await;
        assert_eq!(client.response("GET").await.expect("a response").problem(), "header-malformed");
        counted(&proxy, "done", (number + 1) as f64).await;
    }
}

#[tokio::test]
async fn plain_http_on_a_tls_port_is_closed_and_counted() {
    let (authority, folder) = (Authority::generate(), TempFiles::create());
    let (_tool, proxy) = safe(&authority, &folder, "").await;
    let plain = call("GET", "/v1/qr/generate").bytes();
    for (number, sent) in [&plain[..], &[0; 64], b"\x16\x03\x01\x00\x05hello"].into_iter().enumerate() {
        let mut client = Client::connect(proxy.listen).await;
        client.write(sent).await;
        assert!(client.response("GET").await.is_none(), "no response that could be read");
        counted(&proxy, "not-tls", (number + 1) as f64).await;
    }
    let gone = Client::connect(proxy.listen).await;
    drop(gone);
    counted(&proxy, "closed", 1.0).await;
    until("the log says why", || async { proxy.output().contains("tls handshake failed: outcome=not-tls") })
        .await;
}

#[tokio::test]
async fn stalled_handshake_is_closed_after_header_timeout() {
    let (authority, folder) = (Authority::generate(), TempFiles::create());
    let (_tool, proxy) = safe(&authority, &folder, "").await;
    for (number, begun) in [&b""[..], b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"].into_iter().enumerate()
    {
        let mut client = Client::connect(proxy.listen).await;
        client.write(begun).await;
        assert!(client.is_closed().await);
        counted(&proxy, "timeout", (number + 1) as f64).await;
    }
    // A completed handshake does not extend `header_timeout`.
    let mut silent = TlsClient::new(&authority).connect(proxy.listen).await;
    assert!(silent.is_closed().await);
}

#[tokio::test]
async fn tls_version_below_the_minimum_is_refused() {
    let (authority, folder) = (Authority::generate(), TempFiles::create());
    let (_tool, proxy) = safe(&authority, &folder, "min_version = \"1.3\"\n").await;
    let mut old = Client::connect(proxy.listen).await;
    old.write(&hello_of_tls_11()).await;
    assert!(old.response("GET").await.is_none());
    counted(&proxy, "incompatible", 1.0).await;
    assert!(TlsClient::new(&authority).version(&TLS12).stream(proxy.listen).await.is_err());
    counted(&proxy, "incompatible", 2.0).await;
    assert!(TlsClient::new(&authority).version(&TLS13).stream(proxy.listen).await.is_ok());
}

/// Returns a ClientHello that offers TLS 1.1 at most.
fn hello_of_tls_11() -> Vec<u8> {
    let mut hello = vec![0x03, 0x02];
    hello.extend([7; 32]);
    // No session, the suite RSA with AES-128-CBC and SHA, no compression, no extension.
    hello.extend([0, 0, 2, 0x00, 0x2f, 1, 0]);
    let length = hello.len() as u8;
    [&[0x16, 0x03, 0x01, 0, length + 4, 0x01, 0, 0, length], hello.as_slice()].concat()
}

#[tokio::test]
async fn client_ca_admits_only_certificates_of_its_authority() {
    let (authority, clients, folder) = (Authority::generate(), Authority::generate(), TempFiles::create());
    let (_tool, proxy) = safe(&authority, &folder, &folder.client_ca(&clients)).await;
    let stranger = Authority::generate();
    let refused = |visitor: TlsClient| {
        let to = proxy.listen;
        async move {
            // With TLS 1.3 the handshake is over for the client before the server has verified its
            // certificate.
            let Ok(stream) = visitor.stream(to).await else { return true };
            let mut client = Client::over(stream);
            client.try_write(&call("GET", "/v1/qr/generate").bytes()).await;
            client.response("GET").await.is_none()
        }
    };
    for (count, version) in [(1.0, &TLS12), (2.0, &TLS13)] {
        let visitor = || TlsClient::new(&authority).version(version);
        assert!(refused(visitor()).await);
        counted(&proxy, "no-certificate", count).await;
        assert!(refused(visitor().identity(&stranger.identity("edge"))).await);
        counted(&proxy, "bad-certificate", count).await;
        assert!(refused(visitor().identity(&clients.until("edge", 2020))).await);
        counted(&proxy, "expired-certificate", count).await;
        let mut edge = visitor().identity(&clients.identity("edge")).connect(proxy.listen).await;
        edge.write(&call("GET", "/v1/qr/generate").bytes()).await;
        assert_eq!(edge.response("GET").await.expect("a response").status, 200);
    }
    for (why, level) in [("issuer not in client_ca", "INFO"), ("reason=\"expired\"", "WARN")] {
        let level = Some(level.to_owned());
        let texts = ["tls handshake failed: outcome=", why];
        until("the log says why", || async { level_of(&proxy.output(), texts) == level }).await;
    }
}

/// Returns the level of the first line that has these texts.
fn level_of(output: &str, texts: [&str; 2]) -> Option<String> {
    let line = output.lines().find(|line| texts.iter().all(|text| line.contains(text)))?;
    line.split_whitespace().nth(1).map(str::to_owned)
}

/// Lines for those who have no Prometheus: at the start and after a reload.
#[tokio::test]
async fn certificate_near_its_end_is_in_the_log_by_level() {
    const DAY: u64 = 86_400;
    let (authority, folder) = (Authority::generate(), TempFiles::create());
    let section = folder.server(&authority.until(NAME, 2020));
    let proxy = ProxyConfig::new().section("server.tls", &section).ready().await;
    const LINE: &str = "server certificate needs renewal: expires_at=";
    let said = async |text: &str, level: &str| {
        until(text, || async { level_of(&proxy.output(), [LINE, text]).as_deref() == Some(level) }).await;
    };
    said("expired at 2020-12-31", "ERROR").await;
    folder.server(&authority.expiring(NAME, 10 * DAY - 60));
    said("in 9 days", "WARN").await;
    folder.server(&authority.expiring(NAME, 2 * DAY - 60));
    said("in 1 days", "ERROR").await;
    let lines = proxy.output().matches(LINE).count();
    folder.server(&authority.expiring(NAME, 20 * DAY));
    let expires = || async { proxy.metric("utg_certificate_expiry_timestamp_seconds").await };
    let now = std::time::UNIX_EPOCH.elapsed().unwrap().as_secs();
    until("the new one is in use", || async { expires().await > Some((now + 15 * DAY) as f64) }).await;
    folder.server(&authority.until(NAME, 2021));
    said("expired at 2021-12-31", "ERROR").await;
    assert_eq!(proxy.output().matches(LINE).count(), lines + 1, "nothing is said of a good one");
}

#[tokio::test]
async fn client_that_rejects_the_certificate_is_counted() {
    let (authority, folder) = (Authority::generate(), TempFiles::create());
    let (_tool, proxy) = safe(&authority, &folder, "").await;
    assert!(TlsClient::new(&Authority::generate()).stream(proxy.listen).await.is_err());
    counted(&proxy, "client-refused", 1.0).await;
}

#[tokio::test]
async fn sigterm_does_not_wait_for_handshakes() {
    let (authority, folder) = (Authority::generate(), TempFiles::create());
    let config = ProxyConfig::new().section("server.tls", &folder.server(&authority.identity(NAME)));
    let config = config.line("server", "grace = \"10m\"").line("clients", "header_timeout = \"10m\"");
    let mut proxy = config.ready().await;
    let mut begun = Client::connect(proxy.listen).await;
    begun.write(b"\x16\x03\x01").await;
    let mut idle = TlsClient::new(&authority).connect(proxy.listen).await;
    idle.write(&Request::new("GET", "/healthz").bytes()).await;
    assert_eq!(idle.response("GET").await.expect("a response").status, 200);
    proxy.signal("TERM");
    assert!(proxy.exited().await.success());
}

#[tokio::test]
async fn certificate_reload_under_load_fails_no_call() {
    let (old, new, folder) = (Authority::generate(), Authority::generate(), TempFiles::create());
    let tool = FakeTool::start(ToolBehavior::Describe).await;
    let section = folder.server(&old.until(NAME, 2040));
    let config = ProxyConfig::new().tool(Tool::Qr, &[&tool]).section("server.tls", &section);
    let proxy = config.ready().await;
    let mut kept = TlsClient::new(&old).connect(proxy.listen).await;
    let expires = || async { proxy.metric("utg_certificate_expiry_timestamp_seconds").await };
    assert_eq!(expires().await, Some(2_240_524_800.0));

    // A key that does not match the certificate changes nothing and is reported.
    folder.write("key.pem", &new.identity(NAME).key);
    until("it is reported", || async {
        let failed = proxy.config_status().await["failed_files"][0].clone();
        let error = failed["error"].as_str().unwrap_or_default().to_owned();
        failed["in_use"] == "last good" && error.contains("the key does not belong to the certificate")
    })
    .await;
    assert!(TlsClient::new(&old).stream(proxy.listen).await.is_ok());

    // Calls continue on new connections. The clients trust the old and the new certificate.
    let ending = Arc::new(AtomicBool::new(false));
    let load = {
        let (visitor, to, ending) = (TlsClient::new(&old).and(&new), proxy.listen, Arc::clone(&ending));
        tokio::spawn(async move {
            let mut calls = 0;
            while !ending.load(Ordering::Relaxed) {
                let mut client = visitor.connect(to).await;
                client.write(&call("GET", "/v1/qr/generate").bytes()).await;
                assert_eq!(client.response("GET").await.expect("a response").status, 200);
                calls += 1;
            }
            calls
        })
    };
    folder.server(&new.until(NAME, 2041));
    until("the new certificate is served", || async { expires().await == Some(2_272_060_800.0) }).await;
    assert!(TlsClient::new(&new).stream(proxy.listen).await.is_ok());
    assert!(TlsClient::new(&old).stream(proxy.listen).await.is_err());
    kept.write(&call("GET", "/v1/qr/generate").bytes()).await;
    assert_eq!(
        kept.response("GET").await.expect("a response").status,
        200,
        "connections go on as they were made"
    );
    ending.store(true, Ordering::Relaxed);
    assert!(load.await.expect("no call fails") > 0);
}

/// The proxy sends `Strict-Transport-Security` on connections that it considers encrypted.
#[tokio::test]
async fn connection_made_before_tls_was_configured_stays_plain() {
    const HSTS: &str = "strict-transport-security";
    let (authority, folder, state) =
        (Authority::generate(), TempFiles::create(), tempfile::tempdir().unwrap());
    let tool = FakeTool::start(ToolBehavior::Describe).await;
    let state = state.path().join("keys");
    let keys = format!("direct = true\nsecret = \"${{KEY_SIGNING_SECRET}}\"\nstate = {state:?}\n");
    let plain = || ProxyConfig::new().tool(Tool::Qr, &[&tool]).section("keys", &keys);
    let proxy = plain().ready().await;
    let (key, _) = tests::keys::fresh(shared::tier::Tier::Pro);
    let call = Request::new("GET", "/v1/qr/a").header("X-API-Key", &key);
    let mut before = Client::connect(proxy.listen).await;
    before.write(&call.bytes()).await;
    assert_eq!(before.response("GET").await.expect("a response").header(HSTS), None);

    proxy.reload(&plain().section("server.tls", &folder.server(&authority.identity(NAME))));
    until("TLS has begun", || async { TlsClient::new(&authority).stream(proxy.listen).await.is_ok() }).await;
    let mut safe = TlsClient::new(&authority).connect(proxy.listen).await;
    safe.write(&call.bytes()).await;
    let response = safe.response("GET").await.expect("a response");
    assert_eq!((response.status, response.header(HSTS).is_some()), (200, true));
    let response = Http2Client::over_tls(TlsClient::new(&authority), proxy.listen).await.send(&call).await;
    assert_eq!((response.status, response.header(HSTS).is_some()), (200, true));
    before.write(&call.bytes()).await;
    assert_eq!(before.response("GET").await.expect("a response").header(HSTS), None);
}
