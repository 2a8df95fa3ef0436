//! Load balancers that announce their clients.

use std::process::Command;

use tests::{
    Client,
    proxy::{Proxy, ProxyConfig},
    tls::{Authority, NAME, TempFiles},
    until,
};

const REQUEST: &str = "GET /v1/qr/a HTTP/1.1\r\nHost: a\r\n\r\n";

async fn behind(networks: &str, config: ProxyConfig) -> Proxy {
    let lines =
        format!("proxy_protocol = {networks}\nconnections_per_address = 1\nheader_timeout = \"400ms\"");
    config.line("clients", &lines).ready().await
}

/// Opens a connection that announces a client, and returns it with the status of a request without a grant.
async fn announced(proxy: &Proxy, header: &[u8]) -> (Client, Option<u16>) {
    let mut client = Client::connect(proxy.listen).await;
    client.write(&[header, REQUEST.as_bytes()].concat()).await;
    let status = client.response("GET").await.map(|response| response.status);
    (client, status)
}

fn text(client: &str) -> Vec<u8> {
    format!("PROXY TCP4 {client} 192.0.2.1 4660 443\r\n").into_bytes()
}

#[tokio::test]
async fn limits_on_addresses_are_those_of_the_announced_clients() {
    let proxy = behind("[\"127.0.0.0/8\"]", ProxyConfig::new()).await;
    let (first, status) = announced(&proxy, &text("203.0.113.7")).await;
    assert_eq!(status, Some(401));
    assert_eq!(announced(&proxy, &text("203.0.113.7")).await.1, Some(429), "as many as it may have");
    let (_other, status) = announced(&proxy, &text("203.0.113.8")).await;
    assert_eq!(status, Some(401));
    let binary = b"\r\n\r\n\0\r\nQUIT\n\x21\x11\0\x0c\xcb\0\x71\x07\xc0\0\x02\x01\x12\x34\x01\xbb";
    assert_eq!(announced(&proxy, binary).await.1, Some(429), "the same client in version 2");
    drop(first);
    until("its connection is closed", || async { announced(&proxy, binary).await.1 == Some(401) }).await;
}

#[tokio::test]
async fn connection_without_a_header_is_closed_and_a_foreign_header_is_refused() {
    let proxy = behind("[\"127.0.0.1\"]", ProxyConfig::new()).await;
    assert_eq!(announced(&proxy, b"").await.1, None);
    let silent = Client::connect(proxy.listen).await;
    until("it is closed in time", || async {
        proxy.metric("utg_limits_exceeded_total{limit=\"header_timeout\"}").await == Some(1.0)
    })
    .await;
    drop(silent);

    let proxy = behind("[\"192.0.2.0/24\", \"2001:db8::/32\"]", ProxyConfig::new()).await;
    assert_eq!(announced(&proxy, &text("203.0.113.7")).await.1, Some(400), "from an address that may not");
    until("it is closed", || async { announced(&proxy, b"").await.1 == Some(401) }).await;
}

#[tokio::test]
async fn curl_announces_its_address_before_tls() {
    let (authority, folder) = (Authority::generate(), TempFiles::create());
    let config = ProxyConfig::new().section("server.tls", &folder.server(&authority.identity(NAME)));
    let proxy = behind("[\"127.0.0.1\"]", config).await;
    let mut curl = Command::new("curl");
    curl.args([
        "--silent",
        "--insecure",
        "--haproxy-protocol",
        "--write-out",
        "%{http_code}",
        "--output",
        "-",
    ]);
    let output =
        tokio::task::spawn_blocking(move || curl.arg(format!("https://{}/v1/qr/a", proxy.listen)).output());
    let output = String::from_utf8(output.await.unwrap().unwrap().stdout).unwrap();
    assert!(output.contains("\"code\":\"grant-invalid\"") && output.ends_with("401"), "{output}");
}
