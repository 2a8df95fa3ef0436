//! Zero-downtime upgrade: a new process takes over from the one before it.

use std::{
    fs,
    net::SocketAddr,
    os::unix::{
        fs::PermissionsExt as _,
        net::{UnixListener, UnixStream},
    },
    path::PathBuf,
    sync::Arc,
    time::Duration,
};

use shared::tool::Tool;

use tests::{
    Client, FakeTool, PATIENCE, Request, ToolBehavior,
    grant::{call, post},
    http2::Http2Client,
    keys::GRANT_SECRET,
    load::Load,
    proxy::ProxyConfig,
    tls::{Authority, NAME, TempFiles, TlsClient},
    until,
};

/// The event that the new process logs once it accepts connections.
const UPGRADED: &str = "upgrade complete: predecessor=";

/// The folder of the upgrade socket, where the processes meet.
struct Place(tempfile::TempDir);

impl Place {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn socket(&self) -> PathBuf {
        self.0.path().join("upgrade.sock")
    }

    fn config(&self) -> ProxyConfig {
        ProxyConfig::new()
            .line("server", &format!("upgrade_socket = {:?}", self.socket()))
            .line("server", "grace = \"8s\"")
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn five_upgrades_under_load_fail_no_call() {
    let (tool, slow) =
        (FakeTool::start(ToolBehavior::Describe).await, FakeTool::start(ToolBehavior::Wait).await);
    let place = Place::new();
    let config = place
        .config()
        .tool(Tool::Qr, &[&tool])
        .tool(Tool::Pdf, &[&tool])
        .tool(Tool::Yt, &[&tool])
        .tool(Tool::Idea, &[&slow]);
    let mut old = config.ready().await;
    let load = Load::start(old.listen, GRANT_SECRET);
    for upgrade in 0..5 {
        slow.set(ToolBehavior::Wait);
        let before = slow.calls();
        let mut long = Client::connect(old.listen).await;
        long.write(&post("/v1/idea/a", "{}").bytes()).await;
        until("the long call is in flight", || async { slow.calls() > before }).await;
        let new = config.upgrade();
        assert_eq!((new.listen, new.admin), (old.listen, old.admin));
        new.upgraded().await;
        load.progress().await;
        slow.release();
        assert_eq!(long.response("POST").await.unwrap().status, 200, "upgrade {upgrade}");
        assert!(old.exited().await.success());
        old = new;
    }
    let calls = load.assert_no_failure().await;
    assert!(calls > 200, "{calls} calls");
}

/// Opens a connection and makes a request on it, so that the process has accepted it.
async fn kept_connection(to: SocketAddr) -> Client {
    let mut client = Client::connect(to).await;
    client.write(&Request::get("/healthz").bytes()).await;
    assert_eq!(client.response("GET").await.unwrap().status, 200);
    client
}

/// Reads the size of the replay cache on a kept connection to the admin port.
async fn replay_entries(admin: &mut Client) -> Option<f64> {
    admin.write(&Request::get("/metrics").bytes()).await;
    let metrics = admin.response("GET").await.expect("metrics").text();
    let value = metrics.lines().find_map(|line| line.strip_prefix("utg_replay_entries "));
    value.and_then(|value| value.parse().ok())
}

/// Both processes tell each other of used grants, in order and a moment later. The old one serves
/// each kept connection once more.
#[tokio::test]
async fn used_grant_is_refused_by_both_processes_of_an_upgrade() {
    const GRANTS: usize = 4;
    const KNOWN: f64 = 2.0 + GRANTS as f64;
    let tool = FakeTool::start(ToolBehavior::Describe).await;
    let place = Place::new();
    let config = place.config().tool(Tool::Qr, &[&tool]);
    let mut old = config.ready().await;
    let (mut kept, mut admin) = (Vec::new(), Vec::new());
    for _ in 0..=GRANTS {
        kept.push(kept_connection(old.listen).await);
    }
    for _ in 0..300 {
        admin.push(kept_connection(old.admin).await);
    }
    let [early, late] = [(); 2].map(|()| call("GET", "/v1/qr/a"));
    assert_eq!(old.send(early.clone()).await.status, 200);

    let new = config.upgrade();
    new.logs(UPGRADED).await;
    assert_eq!(new.send(early).await.status, 401, "used before the upgrade");
    let mut client = kept.pop().unwrap();
    client.write(&late.bytes()).await;
    let response = client.response("GET").await.unwrap();
    assert_eq!((response.status, response.header("connection")), (200, Some("close")));
    new.metric_is("utg_replay_entries", 2.0).await;
    assert_eq!(new.send(late).await.status, 401, "used at the old process after the upgrade");

    let mut used = Vec::new();
    for _ in 0..GRANTS {
        let request = call("GET", "/v1/qr/a");
        assert_eq!(new.send(request.clone()).await.status, 200);
        used.push(request);
    }
    until("the old process knows the grants used at the new one", || {
        let mut admin = admin.pop().expect("a kept connection to the old process");
        async move { replay_entries(&mut admin).await == Some(KNOWN) }
    })
    .await;
    for (mut client, request) in kept.into_iter().zip(used) {
        client.write(&request.bytes()).await;
        assert_eq!(client.response("GET").await.unwrap().status, 401, "used at the new process");
    }
    drop(admin);
    assert!(old.exited().await.success());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn stream_outlasts_an_upgrade_for_its_own_grace() {
    let head = b"HTTP/1.1 200 OK\r\nContent-Length: 20\r\n\r\n".to_vec();
    // Fault timing: the stream takes two seconds, and nothing of `grace` is left for it.
    let drip =
        ToolBehavior::RespondAndDrip(head, b"abcdefghijklmnopqrst".to_vec(), Duration::from_millis(100));
    let tool = FakeTool::start(drip).await;
    for (own, is_whole) in [("upgrade_grace = \"60s\"", true), ("", false)] {
        let place = Place::new();
        let config = ProxyConfig::new()
            .line("server", &format!("upgrade_socket = {:?}\ngrace = \"0s\"\n{own}", place.socket()))
            .tool(Tool::Qr, &[&tool]);
        let mut old = config.ready().await;
        let (to, calls) = (old.listen, tool.calls());
        let stream = tokio::spawn(async move { Client::send_once(to, &call("GET", "/v1/qr/a")).await });
        until("the stream has begun", || async { tool.calls() > calls }).await;
        let new = config.upgrade();
        new.upgraded().await;
        let response = stream.await.unwrap();
        let got =
            response.is_some_and(|response| response.complete && response.body == b"abcdefghijklmnopqrst");
        assert_eq!(got, is_whole, "{own}");
        assert!(old.exited().await.success());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn upgrade_waits_for_the_end_of_the_previous_one() {
    let tool = FakeTool::start(ToolBehavior::Describe).await;
    let place = Place::new();
    let config = Arc::new(place.config().tool(Tool::Qr, &[&tool]));
    let mut first = config.ready().await;
    let idle = kept_connection(first.listen).await;
    let mut second = config.upgrade();
    second.logs(UPGRADED).await;
    let third = tokio::task::spawn_blocking({
        let config = Arc::clone(&config);
        move || config.upgrade()
    });
    // The first process still has a connection, so the second one is not done with it.
    assert_eq!(second.send(call("GET", "/v1/qr/a")).await.status, 200);
    assert!(!third.is_finished());
    drop(idle);
    assert!(first.exited().await.success());
    let third = third.await.unwrap();
    third.logs(UPGRADED).await;
    assert!(second.exited().await.success());
    assert_eq!(third.send(call("GET", "/v1/qr/a")).await.status, 200);
}

#[tokio::test]
async fn kept_tls_connection_is_served_once_and_closed() {
    let (tool, authority, folder) =
        (FakeTool::start(ToolBehavior::Describe).await, Authority::generate(), TempFiles::create());
    let place = Place::new();
    let section = folder.server(&authority.identity(NAME));
    let config = place.config().tool(Tool::Qr, &[&tool]).section("server.tls", &section);
    let mut old = config.ready().await;
    let mut kept = TlsClient::new(&authority).connect(old.listen).await;
    kept.write(&call("GET", "/v1/qr/a").bytes()).await;
    assert_eq!(kept.response("GET").await.unwrap().status, 200);
    let new = config.upgrade();
    new.logs(UPGRADED).await;
    let call = async |client: &mut Client| {
        client.write(&post("/v1/qr/a", "{}").bytes()).await;
        let response = client.response("POST").await.unwrap();
        (response.status, response.header("connection") == Some("close"))
    };
    assert_eq!(call(&mut kept).await, (200, true));
    // The old process may still accept the first connection.
    until("the new process accepts connections", || async {
        call(&mut TlsClient::new(&authority).connect(new.listen).await).await == (200, false)
    })
    .await;
    assert!(old.exited().await.success());
}

#[tokio::test]
async fn failed_upgrade_leaves_the_old_process_serving() {
    let tool = FakeTool::start(ToolBehavior::Describe).await;
    let place = Place::new();
    let config = place.config().tool(Tool::Qr, &[&tool]);
    let mut old = config.ready().await;
    // The file of the first one is invalid, the second one is killed before it is ready, the third
    // speaks another protocol.
    let (status, stderr) = place.config().pool_line(Tool::Qr, "balanse = 1").run(&["--upgrade"]);
    assert_eq!(status.code(), Some(2), "{stderr}");
    let silent = FakeTool::start(ToolBehavior::Describe).await;
    silent.drip_probes(PATIENCE);
    drop(place.config().tool(Tool::Qr, &[&silent]).pool_line(Tool::Qr, "probe.timeout = \"60s\"").upgrade());
    let mut stranger = UnixStream::connect(place.socket()).unwrap();
    std::io::Write::write_all(&mut stranger, b"unready").unwrap();
    old.logs("error=\"invalid data\"").await;
    assert_eq!(
        old.output().matches("upgrade failed, this process keeps serving: ").count(),
        2,
        "{}",
        old.output()
    );
    assert_eq!(old.send(call("GET", "/v1/qr/a")).await.status, 200);
    let new = config.upgrade();
    new.logs(UPGRADED).await;
    assert_eq!(new.send(call("GET", "/v1/qr/a")).await.status, 200);
    assert!(old.exited().await.success());
}

#[tokio::test]
async fn upgrade_without_a_predecessor_starts_normally() {
    let place = Place::new();
    drop(UnixListener::bind(place.socket()).unwrap());
    let mut proxy = place.config().upgrade();
    proxy.ready().await;
    let (status, stderr) = place.config().run(&[]);
    assert!(!status.success() && stderr.contains("--upgrade"), "{stderr}");
    proxy.signal("TERM");
    assert!(proxy.exited().await.success());
    assert!(!place.socket().exists(), "the socket is removed");
}

#[tokio::test]
async fn upgrade_socket_in_an_open_folder_is_refused() {
    let place = Place::new();
    fs::set_permissions(place.0.path(), fs::Permissions::from_mode(0o770)).unwrap();
    let (status, stderr) = place.config().run(&[]);
    assert!(!status.success() && stderr.contains("others can write to"), "{stderr}");
    let proxy = ProxyConfig::new().upgrade();
    proxy.ready().await;
    proxy.logs("upgrade not possible: ").await;
}

#[tokio::test]
async fn upgrade_applies_settings_that_a_reload_cannot() {
    let tool = FakeTool::start(ToolBehavior::Describe).await;
    let place = Place::new();
    let mut old = place.config().tool(Tool::Qr, &[&tool]).ready().await;
    // The new address is bound. The same port at another address would be in use.
    let new = place.config().listen("127.0.0.2:0").replay_capacity(5_000).tool(Tool::Qr, &[&tool]).upgrade();
    new.logs(UPGRADED).await;
    assert_eq!((new.listen.ip().to_string().as_str(), new.admin), ("127.0.0.2", old.admin));
    assert_eq!(new.send(call("GET", "/v1/qr/a")).await.status, 200);
    assert!(old.exited().await.success());
    assert!(tokio::net::TcpStream::connect(old.listen).await.is_err());
    // Both accept connections at the address of the metrics until the old one exits.
    assert_eq!(new.metric("utg_replay_capacity").await, Some(5_000.0));
}

#[tokio::test]
async fn http2_connection_gets_goaway_and_loses_no_call() {
    let tool = FakeTool::start(ToolBehavior::Wait).await;
    let place = Place::new();
    let config = place.config().tool(Tool::Qr, &[&tool]).line("clients", "h2c = true");
    let mut old = config.ready().await;
    let client = Http2Client::prior_knowledge(old.listen).await;
    let request = call("GET", "/v1/qr/a");
    let in_flight = client.send(&request);
    let upgrading = async {
        until("the call is in flight", || async { tool.calls() == 1 }).await;
        let new = config.upgrade();
        new.logs(UPGRADED).await;
        tool.release();
        new
    };
    let (response, new) = futures_util::future::join(in_flight, upgrading).await;
    assert_eq!((response.status, response.complete), (200, true));
    assert!(client.closed().await.is_ok(), "closed gracefully");
    assert!(old.exited().await.success());
    assert_eq!(
        Http2Client::prior_knowledge(new.listen).await.send(&post("/v1/qr/a", "{}")).await.status,
        200
    );
}
