//! TLS towards upstreams: trust, and the error of an upstream that is not trusted.

use shared::tool::Tool;
use tokio::{io::AsyncWriteExt, net::TcpListener};

use tests::{
    FakeTool, ToolBehavior,
    grant::{call, post},
    proxy::{Proxy, ProxyConfig},
    tls::{Authority, NAME, TempFiles, TlsTerminator, quoted},
    transport::Transport,
    until,
};

/// Returns the lines of a pool that trusts an authority.
fn trusting(authority: &Authority, folder: &TempFiles, file: &str) -> String {
    let ca = quoted(&folder.write(file, &authority.pem));
    format!("tls = true\ntls_name = \"{NAME}\"\ntls_ca = {ca}\nanswer_timeout = \"2s\"")
}

async fn refused(proxy: &Proxy, tool: Tool, error: &str) {
    for request in [call("GET", &format!("/v1/{tool}/a")), post(&format!("/v1/{tool}/a"), "{}")] {
        let response = proxy.send(request).await;
        assert_eq!((response.status, response.problem().as_str()), (503, "tool-unavailable"), "{error}");
        let status = response.header("proxy-status").expect("Proxy-Status");
        assert_eq!(status, format!("utg-proxy; error={error}"));
    }
}

#[tokio::test]
async fn upstream_with_a_trusted_certificate_is_called_and_probed() {
    let (authority, folder) = (Authority::generate(), TempFiles::create());
    let tool = FakeTool::start(ToolBehavior::Describe).await;
    let front = TlsTerminator::start(&authority.identity(NAME), tool.address).await;
    let by_address = TlsTerminator::start(&authority.identity("127.0.0.1"), tool.address).await;
    let lines = trusting(&authority, &folder, "ca.pem");
    let config = ProxyConfig::new()
        .upstreams(Tool::Qr, &[&front.address.to_string()])
        .pool_line(Tool::Qr, &lines)
        .upstreams(Tool::Pdf, &[&by_address.address.to_string()])
        .pool_line(Tool::Pdf, &lines.replace("tls_name", "# tls_name"));
    let proxy = config.ready().await;
    for tool in [Tool::Qr, Tool::Pdf] {
        assert_eq!(proxy.upstream_health(tool).await, ["healthy"]);
        for length in [2, 300_000] {
            let body = "a".repeat(length);
            let response = proxy.send(post(&format!("/v1/{tool}/a"), &body)).await;
            assert_eq!((response.status, response.json()["body"].as_str()), (200, Some(body.as_str())));
        }
        assert_eq!(proxy.send(call("GET", &format!("/v1/{tool}/a?b=c"))).await.json()["target"], "/a?b=c");
    }
    // The status of the probe still counts.
    tool.set_healthy(false);
    until("it is unhealthy", || async { proxy.upstream_health(Tool::Qr).await == ["unhealthy"] }).await;
    until("the log says why", || async { proxy.output().contains("the probe got status 500") }).await;
}

#[tokio::test]
async fn upstream_with_an_untrusted_certificate_is_unhealthy() {
    let (authority, folder) = (Authority::generate(), TempFiles::create());
    let tool = FakeTool::start(ToolBehavior::Describe).await;
    let lines = trusting(&authority, &folder, "ca.pem");
    for (why, identity) in [
        ("of another name", authority.identity("other.test")),
        ("of another authority", Authority::generate().identity(NAME)),
        ("expired", authority.until(NAME, 2020)),
    ] {
        let front = TlsTerminator::start(&identity, tool.address).await;
        let config =
            ProxyConfig::new().upstreams(Tool::Qr, &[&front.address.to_string()]).pool_line(Tool::Qr, &lines);
        let proxy = config.ready().await;
        assert_eq!(proxy.upstream_health(Tool::Qr).await, ["unhealthy"], "{why}");
        until("the log says why", || async {
            proxy.output().contains("the probe failed: invalid peer certificate")
        })
        .await;
    }
    assert_eq!(tool.calls(), 0);
}

#[tokio::test]
async fn failed_upstream_handshake_is_503_with_its_cause() {
    every_failure_of_a_handshake(ProxyConfig::new(), "").await;
}

#[tokio::test]
async fn failed_upstream_handshake_with_alpn_is_503_with_its_cause() {
    let config = ProxyConfig::new().transport(Transport::PingoraProxy);
    every_failure_of_a_handshake(config, "\nhttp2 = true").await;
}

async fn every_failure_of_a_handshake(config: ProxyConfig, more: &str) {
    let (authority, folder) = (Authority::generate(), TempFiles::create());
    // Probes succeed at another port, so that calls reach the failing handshake.
    let (tool, good) = (FakeTool::start(ToolBehavior::Describe).await, authority.identity(NAME));
    let probed = TlsTerminator::start(&good, tool.address).await;
    let stranger = TlsTerminator::start(&Authority::generate().identity(NAME), tool.address).await;
    let silent = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let rude = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let rude_address = rude.local_addr().unwrap();
    let rudeness = tokio::spawn(async move {
        while let Ok((mut stream, _)) = rude.accept().await {
            let _said = stream.write_all(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n").await;
        }
    });
    let lines = trusting(&authority, &folder, "ca.pem")
        + &format!("\nconnect_timeout = \"300ms\"\nprobe.port = {}\nprobe.fall = 100", probed.address.port())
        + more;
    let plain = tool.address.to_string();
    let pools = [
        (Tool::Qr, stranger.address.to_string(), "tls_certificate_error"),
        (Tool::Pdf, plain, "connection_timeout"),
        (Tool::Seo, rude_address.to_string(), "tls_protocol_error"),
        (Tool::Yt, silent.local_addr().unwrap().to_string(), "connection_timeout"),
        (Tool::Flow, "127.0.0.1:1".to_owned(), "connection_refused"),
    ];
    let config = pools.iter().fold(config, |config, (tool, address, _)| {
        config.upstreams(*tool, &[address]).pool_line(*tool, &lines)
    });
    let proxy = config.ready().await;
    for (tool, _, error) in &pools {
        refused(&proxy, *tool, error).await;
    }
    rudeness.abort();
}

#[tokio::test]
async fn connection_is_not_reused_after_its_authority_is_replaced() {
    let (old, new, folder) = (Authority::generate(), Authority::generate(), TempFiles::create());
    let tool = FakeTool::start(ToolBehavior::Describe).await;
    let front = TlsTerminator::start(&old.identity(NAME), tool.address).await;
    let probed = TlsTerminator::start(&new.identity(NAME), tool.address).await;
    let lines = trusting(&old, &folder, "ca.pem");
    let config =
        ProxyConfig::new().upstreams(Tool::Qr, &[&front.address.to_string()]).pool_line(Tool::Qr, &lines);
    let proxy = config.ready().await;
    assert_eq!(proxy.send(call("GET", "/v1/qr/a")).await.status, 200);
    // Only the file of authorities changes. Probes succeed at a port with a certificate of the new
    // authority.
    let lines = trusting(&new, &folder, "new.pem") + &format!("\nprobe.port = {}", probed.address.port());
    let config =
        ProxyConfig::new().upstreams(Tool::Qr, &[&front.address.to_string()]).pool_line(Tool::Qr, &lines);
    proxy.reload(&config);
    until("the old authority is not trusted any more", || async {
        proxy.send(call("GET", "/v1/qr/a")).await.status == 503
    })
    .await;
    refused(&proxy, Tool::Qr, "tls_certificate_error").await;
}
