//! A pool whose servers are in a file that another program writes.

use std::{
    fs,
    net::SocketAddr,
    path::{Path, PathBuf},
};

use shared::tool::Tool;

use tests::{
    FakeTool, ToolBehavior,
    grant::call,
    proxy::{Proxy, ProxyConfig},
    until,
};

fn write(path: &Path, servers: &[&FakeTool]) {
    write_addresses(path, &servers.iter().map(|server| server.address).collect::<Vec<_>>());
}

fn write_addresses(path: &Path, addresses: &[SocketAddr]) {
    let addresses: Vec<_> = addresses.iter().map(ToString::to_string).collect();
    let temporary = path.with_extension("new");
    fs::write(&temporary, serde_json::json!([{ "targets": addresses, "labels": {} }]).to_string()).unwrap();
    fs::rename(&temporary, path).unwrap();
}

async fn one_of(folder: &Path) -> (PathBuf, FakeTool, FakeTool, Proxy) {
    let file = folder.join("qr.json");
    let (one, other) =
        (FakeTool::start(ToolBehavior::Describe).await, FakeTool::start(ToolBehavior::Describe).await);
    write(&file, &[&one]);
    let socket = folder.join("admin.sock");
    let config = ProxyConfig::new().line("server", &format!("admin_socket = {socket:?}"));
    let proxy = config.upstreams_file(Tool::Qr, &file).ready().await;
    (file, one, other, proxy)
}

#[tokio::test]
async fn written_file_changes_the_servers_of_a_pool() {
    let folder = tempfile::tempdir().unwrap();
    let (file, one, other, proxy) = one_of(folder.path()).await;
    assert_eq!(proxy.send(call("GET", "/v1/qr/a")).await.status, 200);
    write(&file, &[&other]);
    until("it is used", || async { proxy.upstream_names(Tool::Qr).await == [other.address.to_string()] })
        .await;
    assert_eq!(proxy.send(call("GET", "/v1/qr/a")).await.status, 200);
    assert_eq!((one.calls(), other.calls()), (1, 1));
    let (added, removed) = (other.address, one.address);
    let servers = format!("servers=1 added=\"{added}\" removed=\"{removed}\"");
    proxy.logs(&format!("servers changed: tool=qr by=configuration {servers}")).await;
    proxy.logs("config reloaded: generation=2 changed=pools.qr.upstreams\n").await;
}

#[tokio::test]
async fn admin_port_among_the_servers_shows_nothing_to_a_call() {
    let folder = tempfile::tempdir().unwrap();
    let (file, _one, _other, proxy) = one_of(folder.path()).await;
    write_addresses(&file, &[proxy.admin]);
    until("it is used", || async { proxy.upstream_names(Tool::Qr).await == [proxy.admin.to_string()] }).await;
    for action in ["metrics", "pools", "healthz"] {
        let response = proxy.send(call("GET", &format!("/v1/qr/{action}"))).await;
        assert_eq!(response.status, 421, "{action}: {response:?}");
    }
    assert_eq!(proxy.admin_get("/pools").await.status, 200, "to whoever asks it directly");
}

#[tokio::test]
async fn change_of_an_operator_outlives_a_change_of_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let (file, one, other, proxy) = one_of(folder.path()).await;
    let ctl = |arguments: &[&str]| {
        let mut command = std::process::Command::new(tests::process::binary("proxy"));
        command.arg("ctl").arg("--socket").arg(folder.path().join("admin.sock")).args(arguments);
        assert!(command.status().unwrap().success());
    };
    ctl(&["drain", "qr", &one.address.to_string()]);
    write(&file, &[&one, &other]);
    until("it is used", || async { proxy.upstream_names(Tool::Qr).await.len() == 2 }).await;
    for _ in 0..4 {
        assert_eq!(proxy.send(call("GET", "/v1/qr/a")).await.status, 200);
    }
    assert_eq!((one.calls(), other.calls()), (0, 4));
    ctl(&["reload"]);
    for _ in 0..4 {
        assert_eq!(proxy.send(call("GET", "/v1/qr/a")).await.status, 200);
    }
    assert!(one.calls() > 0, "a reload of the configuration drops it");
}
