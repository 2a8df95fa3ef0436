//! Graceful shutdown.

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
        // An idle connection does not delay the exit.
        let mut idle = Client::connect(proxy.listen).await;
        idle.write(&Request::new("GET", "/healthz").bytes()).await;
        assert_eq!(idle.response("GET").await.unwrap().status, 200);
        proxy.signal(signal);
        assert!(proxy.exited().await.success());
        assert!(idle.is_closed().await);
    }
}

#[tokio::test]
async fn signal_during_startup_ends_the_process() {
    for signal in ["TERM", "INT"] {
        // Right after the line with its addresses. Several processes at once slow each other down.
        let mut beginning: Vec<_> = (0..6).map(|_| ProxyConfig::new().start()).collect();
        beginning.iter().for_each(|proxy| proxy.signal(signal));
        for proxy in &mut beginning {
            assert!(proxy.exited().await.success(), "{signal}");
        }
    }
}

/// Starts a proxy with a call in flight. The tool responds once it is released.
async fn busy(config: ProxyConfig) -> (FakeTool, Proxy, Client) {
    let tool = FakeTool::start(ToolBehavior::Wait).await;
    let proxy = config.tool(Tool::Qr, &[&tool]).ready().await;
    let mut client = Client::connect(proxy.listen).await;
    client.write(&call("GET", "/v1/qr/generate").bytes()).await;
    until("the call is in flight", || async { tool.calls() == 1 }).await;
    (tool, proxy, client)
}

#[tokio::test]
async fn sigterm_finishes_calls_in_flight_and_closes_the_listener() {
    let (tool, mut proxy, mut client) = busy(ProxyConfig::new()).await;
    proxy.signal("TERM");
    until("new connections are refused", || async {
        tokio::net::TcpStream::connect(proxy.listen).await.is_err()
    })
    .await;
    let readiness = proxy.admin_get("/readyz").await;
    assert_eq!((readiness.status, readiness.json()["status"].as_str()), (503, Some("draining")));
    tool.release();
    let response = client.response("GET").await.expect("the response in flight");
    assert_eq!((response.status, response.header("connection")), (200, Some("close")));
    assert!(proxy.exited().await.success());
    assert!(proxy.output().contains("\"tool\":\"qr\""), "the access log is complete at the exit");
}

/// The process stands still meanwhile, as on a busy machine, and continues with the signal and all requests
/// at the same time.
#[tokio::test]
async fn requests_that_arrived_before_sigterm_are_served() {
    let tool = FakeTool::start(ToolBehavior::Describe).await;
    for _ in 0..3 {
        let mut proxy = ProxyConfig::new().tool(Tool::Qr, &[&tool]).ready().await;
        let mut clients = Vec::new();
        for _ in 0..60 {
            let mut client = Client::connect(proxy.listen).await;
            client.write(&call("GET", "/v1/qr/a").bytes()).await;
            assert_eq!(client.response("GET").await.unwrap().status, 200);
            clients.push(client);
        }
        proxy.signal("STOP");
        for client in &mut clients {
            client.write(&call("GET", "/v1/qr/b").bytes()).await;
        }
        proxy.signal("TERM");
        proxy.signal("CONT");
        for client in &mut clients {
            assert_eq!(client.response("GET").await.expect("a response").status, 200);
        }
        assert!(proxy.exited().await.success());
    }
}

/// Load balancers see in `/readyz` that the process stops, and send calls until then.
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
    assert_eq!((response.status, response.header("connection")), (200, Some("close")));
    open.write(&call("GET", "/v1/qr/b").bytes()).await;
    let response = open.response("GET").await.unwrap();
    assert_eq!((response.status, response.header("connection")), (200, Some("close")));
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
    assert!(client.response("GET").await.is_none(), "cut off without a response");
}

#[tokio::test]
async fn call_in_flight_is_cut_after_grace() {
    let (_tool, mut proxy, mut client) = busy(ProxyConfig::new().line("server", "grace = \"1s\"")).await;
    proxy.signal("TERM");
    assert!(proxy.exited().await.success());
    assert!(client.response("GET").await.is_none(), "cut off without a response");
}

#[tokio::test]
async fn second_signal_exits_at_once() {
    let (_tool, mut proxy, _client) = busy(ProxyConfig::new()).await;
    proxy.signal("TERM");
    until("it drains", || async { proxy.admin_get("/readyz").await.status == 503 }).await;
    proxy.signal("INT");
    assert!(proxy.exited().await.success());
}

#[tokio::test]
async fn notify_socket_gets_ready_and_stopping() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("notify.sock");
    let manager = UnixDatagram::bind(&path).unwrap();
    let notified = async || {
        let mut message = [0; 64];
        let length = timeout(PATIENCE, manager.recv(&mut message)).await.expect("a message").unwrap();
        String::from_utf8(message[..length].to_vec()).unwrap()
    };
    let tool = FakeTool::start(ToolBehavior::Wait).await;
    let mut proxy = ProxyConfig::new().tool(Tool::Qr, &[&tool]).variable("NOTIFY_SOCKET", &path).start();
    assert_eq!(notified().await, "READY=1");
    assert_eq!(proxy.admin_get("/readyz").await.status, 200);
    let mut client = Client::connect(proxy.listen).await;
    client.write(&call("GET", "/v1/qr/a").bytes()).await;
    until("the call is in flight", || async { tool.calls() == 1 }).await;
    proxy.signal("TERM");
    assert_eq!(notified().await, "STOPPING=1");
    tool.release();
    assert_eq!(client.response("GET").await.unwrap().status, 200);
    assert!(proxy.exited().await.success());
}

#[tokio::test]
async fn listen_on_a_port_in_use_is_an_error() {
    let taken = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let (status, output) = ProxyConfig::new().listen(&address).run(&[]);
    assert!(!status.success() && output.contains(&address), "{output}");
}
