//! A pool whose servers are SRV records of a name server, `dnsmasq`.

use std::{
    net::{TcpListener, UdpSocket},
    process::Command,
};

use shared::tool::Tool;
use tests::{FakeTool, ToolBehavior, grant::call, process::Process, proxy::ProxyConfig, until};

const SERVICE: &str = "_http._tcp.qr.test";

/// A record: the server, its priority and its weight.
type Record<'a> = (&'a FakeTool, u16, u16);

/// Returns a port that is free for both protocols.
fn free_port() -> u16 {
    let port = |listener: TcpListener| listener.local_addr().unwrap().port();
    let ports = std::iter::repeat_with(|| port(TcpListener::bind("127.0.0.1:0").unwrap()));
    ports.take(100).find(|port| UdpSocket::bind(("127.0.0.1", *port)).is_ok()).unwrap()
}

/// Starts a name server. `scripts/system-packages.sh servers` installs it.
fn serve(port: u16, records: &[Record<'_>]) -> Process {
    let mut command = Command::new("dnsmasq");
    command.args(["--no-daemon", "--no-resolv", "--no-hosts", "--conf-file=/dev/null", "--pid-file="]);
    command.args([
        "--user=",
        "--local=/test/",
        "--bind-interfaces",
        "--listen-address=127.0.0.1",
        "--log-facility=-",
    ]);
    command.arg(format!("--port={port}"));
    for (server, priority, weight) in records {
        let port = server.address.port();
        command.arg(format!("--host-record=server-{port}.test,127.0.0.1"));
        command.arg(format!("--srv-host={SERVICE},server-{port}.test,{port},{priority},{weight}"));
    }
    Process::start(&mut command, |line| line.contains("started, version").then_some(())).0
}

async fn tools<const N: usize>() -> [FakeTool; N] {
    let started = (0..N).map(|_| FakeTool::start(ToolBehavior::Describe));
    futures_util::future::join_all(started).await.try_into().ok().unwrap()
}

fn names(servers: &[&FakeTool]) -> Vec<String> {
    let ports = servers.iter().map(|server| server.address.port());
    let mut names: Vec<_> = ports.map(|port| format!("server-{port}.test/127.0.0.1:{port}")).collect();
    names.sort();
    names
}

fn config(dns: u16) -> ProxyConfig {
    let top = format!("resolve_interval = \"100ms\"\ndns_servers = [\"127.0.0.1:{dns}\"]\n");
    ProxyConfig::new().section("", &top).upstreams(Tool::Qr, &[SERVICE])
}

#[tokio::test]
async fn records_are_the_servers_of_a_pool_with_their_weights_and_priorities() {
    let [heavy, light, backup, later] = tools().await;
    let port = free_port();
    let mut dns = serve(port, &[(&heavy, 10, 3), (&light, 10, 1), (&backup, 20, 9)]);
    let proxy = config(port).ready().await;
    let mut found = proxy.upstream_names(Tool::Qr).await;
    found.sort();
    assert_eq!(found, names(&[&heavy, &light, &backup]));
    for _ in 0..20 {
        assert_eq!(proxy.send(call("GET", "/v1/qr/a")).await.status, 200);
    }
    assert_eq!([heavy.calls(), light.calls(), backup.calls()], [15, 5, 0]);

    // A name server that is away changes nothing.
    dns.kill();
    until("it is noticed", || async {
        let metrics = proxy.admin_get("/metrics").await.text();
        metrics.lines().any(|line| {
            line.strip_prefix("utg_name_resolution_failures_total ").is_some_and(|count| count != "0")
        })
    })
    .await;
    assert_eq!(proxy.send(call("GET", "/v1/qr/a")).await.status, 200);

    let _dns = serve(port, &[(&later, 10, 1)]);
    until("its new record is used", || async { proxy.upstream_names(Tool::Qr).await == names(&[&later]) })
        .await;
    assert_eq!(proxy.send(call("GET", "/v1/qr/a")).await.status, 200);
    assert_eq!(later.calls(), 1);
}

#[tokio::test]
async fn service_without_records_is_503_until_it_has_one() {
    let [tool] = tools().await;
    let port = free_port();
    let mut dns = serve(port, &[]);
    let proxy = config(port).ready().await;
    assert_eq!(proxy.upstream_names(Tool::Qr).await, [SERVICE]);
    assert_eq!(proxy.send(call("GET", "/v1/qr/a")).await.status, 503);
    dns.kill();
    let _dns = serve(port, &[(&tool, 0, 0)]);
    until("it is used", || async { proxy.send(call("GET", "/v1/qr/a")).await.status == 200 }).await;
}

#[tokio::test]
async fn restart_while_the_name_server_is_away_uses_the_last_addresses() {
    let [tool] = tools().await;
    let (port, state) = (free_port(), tempfile::tempdir().unwrap());
    let mut dns = serve(port, &[(&tool, 10, 1)]);
    let config = config(port).state_directory(state.path());
    let first = config.ready().await;
    let stored =
        || std::fs::read_to_string(state.path().join("proxy.toml.last-good.json")).unwrap_or_default();
    until("they are stored", || async { stored().contains(SERVICE) }).await;
    drop(first);
    dns.kill();
    let second = config.ready().await;
    assert_eq!(second.upstream_names(Tool::Qr).await, names(&[&tool]));
    assert_eq!(second.send(call("GET", "/v1/qr/a")).await.status, 200);
    drop(second);
    // What was stored is not preferred to what the name server says.
    let [later] = tools().await;
    let _dns = serve(port, &[(&later, 10, 1)]);
    let third = config.ready().await;
    assert_eq!(third.upstream_names(Tool::Qr).await, names(&[&later]));
}
