//! A pool whose servers are SRV records of a name server, `dnsmasq`.

use std::{
    net::{TcpListener, UdpSocket},
    process::Command,
};

use shared::tool::Tool;
use tempfile::TempDir;
use tests::{
    FakeTool, ToolBehavior,
    grant::call,
    process::Process,
    proxy::{Proxy, ProxyConfig},
    until,
};

use crate::ctl::ctl;

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
    let [added] = names(&[&later]).try_into().unwrap();
    proxy.logs(&format!("servers changed: tool=qr by=dns servers=1 added=\"{added}\" removed=\"")).await;
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

/// Returns how many of twelve calls each server got.
async fn shares<const N: usize>(proxy: &Proxy, servers: [&FakeTool; N]) -> [usize; N] {
    let before = servers.map(FakeTool::calls);
    for _ in 0..12 {
        assert_eq!(proxy.send(call("GET", "/v1/qr/a")).await.status, 200);
    }
    let mut after = servers.map(FakeTool::calls);
    after.iter_mut().zip(before).for_each(|(after, before)| *after -= before);
    after
}

/// Returns the configuration with an admin socket in a folder, and its path.
fn operated(config: &ProxyConfig, folder: &TempDir) -> (ProxyConfig, String) {
    let (socket, changes) = (folder.path().join("admin.sock"), folder.path().join("changes.json"));
    let lines = format!("admin_socket = {socket:?}\nadmin_changes = {changes:?}");
    let config = config.clone().line("server", &lines).line("defaults", "slow_start = \"0s\"");
    (config, socket.to_str().unwrap().to_owned())
}

/// A record's weight is its own, so that the one of its name would be in effect nowhere.
#[tokio::test]
async fn operator_weights_and_drains_one_server_of_the_records() {
    let [one, other] = tools().await;
    let (port, folder) = (free_port(), tempfile::tempdir().unwrap());
    let _dns = serve(port, &[(&one, 10, 1), (&other, 10, 1)]);
    let (config, socket) = operated(&config(port), &folder);
    let mut proxy = config.ready().await;
    let act = |arguments: &[&str]| ctl(&[&["--socket", &socket], arguments].concat());
    let [name] = names(&[&one]).try_into().unwrap();
    let refused = act(&["weight", "qr", SERVICE, "3"]).unwrap_err();
    assert!(refused.contains("has the weights of its SRV records") && refused.contains(&name), "{refused}");
    assert_eq!(shares(&proxy, [&one, &other]).await, [6, 6]);
    act(&["weight", "qr", &name, "3", "--persist"]).unwrap();
    assert_eq!(shares(&proxy, [&one, &other]).await, [9, 3]);
    proxy.signal("TERM");
    proxy.exited().await;
    let proxy = config.ready().await;
    assert_eq!(shares(&proxy, [&one, &other]).await, [9, 3], "it was stored");
    let same = act(&["weight", "qr", &name, "1"]).unwrap();
    assert!(same.contains("each gets the same share"), "{same}");
    act(&["drain", "qr", &name]).unwrap();
    assert_eq!(shares(&proxy, [&one, &other]).await, [0, 12]);
    let unknown = act(&["drain", "qr", "server-1.test/127.0.0.1:1"]).unwrap_err();
    assert!(unknown.contains("has no server") && unknown.contains(&name), "{unknown}");
    act(&["enable", "qr", &name]).unwrap();
    assert_eq!(shares(&proxy, [&one, &other]).await, [6, 6]);
}

/// `localhost` has one address or two, of which the tool listens at the first.
#[tokio::test]
async fn operator_drains_one_address_of_a_name() {
    let [tool] = tools().await;
    let (folder, entry) = (tempfile::tempdir().unwrap(), format!("localhost:{}", tool.address.port()));
    let (config, socket) = operated(&ProxyConfig::new().upstreams(Tool::Qr, &[&entry]), &folder);
    let proxy = config.ready().await;
    let act = |arguments: &[&str]| ctl(&[&["--socket", &socket], arguments].concat());
    let same = act(&["weight", "qr", &entry, "9"]).unwrap();
    assert!(same.contains("all servers of qr have the same weight now"), "{same}");
    assert_eq!(shares(&proxy, [&tool]).await, [12]);
    let address = format!("localhost/{}", tool.address);
    act(&["drain", "qr", &address]).unwrap();
    let shown = proxy.admin_get("/pools").await.json();
    for server in shown["pools"]["qr"]["upstreams"].as_array().unwrap() {
        let expected = if server["name"] == address { "draining" } else { "calls" };
        assert_eq!(server["duty"], expected, "{server}");
    }
    assert_eq!(proxy.send(call("GET", "/v1/qr/a")).await.status, 503);
    act(&["enable", "qr", &address]).unwrap();
    assert_eq!(shares(&proxy, [&tool]).await, [12]);
}
