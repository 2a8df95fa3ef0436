//! The end of the process: soon when nothing is in flight, after the last response when something is.

use shared::tool::Tool;

use tokio::{net::UnixDatagram, time::timeout};

use tests::{
    Client, FakeTool, PATIENCE, Request, ToolBehavior,
    grant::call,
    proxy::{Proxy, ProxyConfig},
    until,
};

#[tokio::test]
async fn idle_proxy_ends_without_waiting_for_grace() {
    for signal in ["TERM", "INT"] {
        let mut proxy = ProxyConfig::new().line("server", "grace = \"10m\"").ready().await;
        // Idle connections are not work.
        let mut idle = Client::connect(proxy.listen).await;
        idle.write(&Request::new("GET", "/healthz").bytes()).await;
        assert_eq!(idle.response("GET").await.unwrap().status, 200);
        proxy.signal(signal);
        assert!(proxy.exited().await.success());
        assert!(idle.is_closed().await);
    }
}

#[tokio::test]
async fn told_to_end_while_it_begins_it_ends_by_itself() {
    for signal in ["TERM", "INT"] {
        // As soon as it has said where it listens, and several at once, so that they hold each other up.
        let mut beginning: Vec<_> = (0..6).map(|_| ProxyConfig::new().start()).collect();
        beginning.iter().for_each(|proxy| proxy.signal(signal));
        for proxy in &mut beginning {
            assert!(proxy.exited().await.success(), "{signal}");
        }
    }
}

/// A proxy with a call in flight, which its tool answers when it is told to.
async fn busy(config: ProxyConfig) -> (FakeTool, Proxy, Client) {
    let tool = FakeTool::start(ToolBehavior::Wait).await;
    let proxy = config.tool(Tool::Qr, &[&tool]).ready().await;
    let mut client = Client::connect(proxy.listen).await;
    client.write(&call("GET", "/v1/qr/generate").bytes()).await;
    until("the call is in flight", || async { tool.calls() == 1 }).await;
    (tool, proxy, client)
}

#[tokio::test]
async fn what_is_under_way_is_finished_and_nothing_new_is_taken() {
    let (tool, mut proxy, mut client) = busy(ProxyConfig::new()).await;
    proxy.signal("TERM");
    until("no new connection is taken", || async {
        tokio::net::TcpStream::connect(proxy.listen).await.is_err()
    })
    .await;
    let readiness = proxy.admin_get("/readyz").await;
    assert_eq!((readiness.status, readiness.json()["status"].as_str()), (503, Some("draining")));
    tool.release();
    let response = client.response("GET").await.expect("the response that was in flight");
    assert_eq!((response.status, response.header("connection")), (200, Some("close")));
    assert!(proxy.exited().await.success());
    assert!(proxy.output().contains("\"tool\":\"qr\""), "its line is written before the end");
}

/// Load balancers learn from the readiness that the process ends, and go on sending until they have.
#[tokio::test]
async fn drain_delay_serves_new_connections_while_not_ready() {
    let tool = FakeTool::start(ToolBehavior::Describe).await;
    let config = ProxyConfig::new().tool(Tool::Qr, &[&tool]).line("server", "drain_delay = \"2s\"");
    let mut proxy = config.ready().await;
    let mut open = Client::connect(proxy.listen).await;
    proxy.signal("TERM");
    proxy.logs("drain delayed: drain_delay_ms=2000").await;
    let readiness = proxy.admin_get("/readyz").await;
    assert_eq!((readiness.status, readiness.json()["status"].as_str()), (503, Some("draining")));
    let response = proxy.send(call("GET", "/v1/qr/a")).await;
    assert_eq!((response.status, response.header("connection")), (200, None), "served as before");
    open.write(&call("GET", "/v1/qr/b").bytes()).await;
    assert_eq!(open.response("GET").await.unwrap().status, 200);
    assert!(!proxy.output().contains("draining: "), "{}", proxy.output());
    assert!(proxy.exited().await.success());
    assert!(proxy.output().contains("draining: connections="), "{}", proxy.output());
    assert!(open.is_closed().await);
}

#[tokio::test]
async fn second_signal_ends_the_drain_delay() {
    let (_tool, mut proxy, mut client) =
        busy(ProxyConfig::new().line("server", "drain_delay = \"10m\"")).await;
    proxy.signal("TERM");
    proxy.logs("drain delayed: ").await;
    proxy.signal("TERM");
    assert!(proxy.exited().await.success());
    assert!(client.response("GET").await.is_none(), "cut off, not answered");
}

#[tokio::test]
async fn the_grace_period_bounds_the_end() {
    let (_tool, mut proxy, mut client) = busy(ProxyConfig::new().line("server", "grace = \"1s\"")).await;
    proxy.signal("TERM");
    assert!(proxy.exited().await.success());
    assert!(client.response("GET").await.is_none(), "cut, not answered");
}

#[tokio::test]
async fn a_second_signal_ends_it_at_once() {
    let (_tool, mut proxy, _client) = busy(ProxyConfig::new()).await;
    proxy.signal("TERM");
    until("it drains", || async { proxy.admin_get("/readyz").await.status == 503 }).await;
    proxy.signal("INT");
    assert!(proxy.exited().await.success());
}

#[tokio::test]
async fn the_service_manager_is_told_when_it_serves_and_when_it_ends() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("notify.sock");
    let manager = UnixDatagram::bind(&path).unwrap();
    let told = async || {
        let mut told = [0; 64];
        let length = timeout(PATIENCE, manager.recv(&mut told)).await.expect("to be told").unwrap();
        String::from_utf8(told[..length].to_vec()).unwrap()
    };
    let tool = FakeTool::start(ToolBehavior::Wait).await;
    let mut proxy = ProxyConfig::new().tool(Tool::Qr, &[&tool]).variable("NOTIFY_SOCKET", &path).start();
    assert_eq!(told().await, "READY=1");
    assert_eq!(proxy.admin_get("/readyz").await.status, 200);
    let mut client = Client::connect(proxy.listen).await;
    client.write(&call("GET", "/v1/qr/a").bytes()).await;
    until("the call is in flight", || async { tool.calls() == 1 }).await;
    proxy.signal("TERM");
    assert_eq!(told().await, "STOPPING=1");
    tool.release();
    assert_eq!(client.response("GET").await.unwrap().status, 200);
    assert!(proxy.exited().await.success());
}

#[tokio::test]
async fn a_port_that_is_taken_is_told_at_once() {
    let taken = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let (status, output) = ProxyConfig::new().listen(&address).run(&[]);
    assert!(!status.success() && output.contains(&address), "{output}");
}
