//! A new process goes on where the one before ends.

use std::{
    fs,
    os::unix::{
        fs::PermissionsExt as _,
        net::{UnixListener, UnixStream},
    },
    path::PathBuf,
    sync::Arc,
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

/// Where processes meet.
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
async fn five_upgrades_under_load_lose_no_call() {
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
    let made = load.assert_no_failure().await;
    assert!(made > 200, "{made} calls");
}

#[tokio::test]
async fn a_connection_is_served_once_more_and_no_grant_is_good_in_both_processes() {
    let tool = FakeTool::start(ToolBehavior::Describe).await;
    let place = Place::new();
    let config = place.config().tool(Tool::Qr, &[&tool]);
    let mut old = config.ready().await;
    let [early, late] = [(); 2].map(|()| call("GET", "/v1/qr/a"));
    let mut kept = Vec::new();
    for _ in 0..5 {
        let mut client = Client::connect(old.listen).await;
        client.write(&Request::new("GET", "/healthz").bytes()).await;
        assert_eq!(client.response("GET").await.unwrap().status, 200);
        kept.push(client);
    }
    assert_eq!(old.send(early.clone()).await.status, 200);

    let new = config.upgrade();
    new.logs("upgrade complete: predecessor=").await;
    assert_eq!(new.send(early).await.status, 401, "what the old process made is known");
    let mut client = kept.pop().unwrap();
    client.write(&late.bytes()).await;
    let response = client.response("GET").await.unwrap();
    assert_eq!((response.status, response.header("connection")), (200, Some("close")));
    let remembered = || async { new.metric("utg_replay_entries").await };
    until("what it still makes is told", || async { remembered().await == Some(2.0) }).await;
    assert_eq!(new.send(late).await.status, 401);

    let mut refused = 0;
    for mut client in kept {
        let fresh = call("GET", "/v1/qr/a");
        assert_eq!(new.send(fresh.clone()).await.status, 200);
        client.write(&fresh.bytes()).await;
        refused += u32::from(client.response("GET").await.unwrap().status == 401);
    }
    // It is told within a moment; there is no way to ask the old process whether it was.
    assert!(refused > 0, "a grant that the new process has made is good in the old one");
    assert!(old.exited().await.success());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_upgrade_waits_until_the_one_before_is_over() {
    let tool = FakeTool::start(ToolBehavior::Describe).await;
    let place = Place::new();
    let config = Arc::new(place.config().tool(Tool::Qr, &[&tool]));
    let mut first = config.ready().await;
    let mut idle = Client::connect(first.listen).await;
    idle.write(&Request::new("GET", "/healthz").bytes()).await;
    assert_eq!(idle.response("GET").await.unwrap().status, 200);
    let mut second = config.upgrade();
    second.logs("upgrade complete: predecessor=").await;
    let third = tokio::task::spawn_blocking({
        let config = Arc::clone(&config);
        move || config.upgrade()
    });
    // The first still has a connection, so the second has not got over it.
    assert_eq!(second.send(call("GET", "/v1/qr/a")).await.status, 200);
    assert!(!third.is_finished());
    drop(idle);
    assert!(first.exited().await.success());
    let third = third.await.unwrap();
    third.logs("upgrade complete: predecessor=").await;
    assert!(second.exited().await.success());
    assert_eq!(third.send(call("GET", "/v1/qr/a")).await.status, 200);
}

#[tokio::test]
async fn connections_over_tls_are_served_once_more_too() {
    let (tool, authority, folder) =
        (FakeTool::start(ToolBehavior::Describe).await, Authority::new(), TempFiles::new());
    let place = Place::new();
    let section = folder.server(&authority.identity(NAME));
    let config = place.config().tool(Tool::Qr, &[&tool]).section("server.tls", &section);
    let mut old = config.ready().await;
    let mut kept = TlsClient::new(&authority).connect(old.listen).await;
    kept.write(&call("GET", "/v1/qr/a").bytes()).await;
    assert_eq!(kept.response("GET").await.unwrap().status, 200);
    let new = config.upgrade();
    new.logs("upgrade complete: predecessor=").await;
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
async fn a_process_that_does_not_get_ready_changes_nothing() {
    let tool = FakeTool::start(ToolBehavior::Describe).await;
    let place = Place::new();
    let config = place.config().tool(Tool::Qr, &[&tool]);
    let mut old = config.ready().await;
    // One whose file has a fault, one that dies before it is ready, and one that says something else.
    let (status, said) = place.config().pool_line(Tool::Qr, "balanse = 1").run(&["--upgrade"]);
    assert_eq!(status.code(), Some(2), "{said}");
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
    new.logs("upgrade complete: predecessor=").await;
    assert_eq!(new.send(call("GET", "/v1/qr/a")).await.status, 200);
    assert!(old.exited().await.success());
}

#[tokio::test]
async fn without_a_process_to_go_on_from_it_starts_as_ever() {
    let place = Place::new();
    drop(UnixListener::bind(place.socket()).unwrap());
    let mut proxy = place.config().upgrade();
    until("it is ready", || async { proxy.admin_get("/readyz").await.status == 200 }).await;
    let (status, said) = place.config().run(&[]);
    assert!(!status.success() && said.contains("--upgrade"), "{said}");
    proxy.signal("TERM");
    assert!(proxy.exited().await.success());
    assert!(!place.socket().exists(), "it leaves nothing behind");
}

#[tokio::test]
async fn a_socket_that_others_could_replace_is_not_used() {
    let place = Place::new();
    fs::set_permissions(place.0.path(), fs::Permissions::from_mode(0o770)).unwrap();
    let (status, said) = place.config().run(&[]);
    assert!(!status.success() && said.contains("others can write to"), "{said}");
    let proxy = ProxyConfig::new().upgrade();
    until("it starts without one", || async { proxy.admin_get("/readyz").await.status == 200 }).await;
    proxy.logs("upgrade not possible: ").await;
}

#[tokio::test]
async fn what_a_reload_cannot_change_an_upgrade_can() {
    let tool = FakeTool::start(ToolBehavior::Describe).await;
    let place = Place::new();
    let mut old = place.config().tool(Tool::Qr, &[&tool]).ready().await;
    // The same port, written in another way, would be bound anew; one that nobody has is.
    let new = place.config().listen("127.0.0.2:0").replay_capacity(5_000).tool(Tool::Qr, &[&tool]).upgrade();
    new.logs("upgrade complete: predecessor=").await;
    assert_eq!((new.listen.ip().to_string().as_str(), new.admin), ("127.0.0.2", old.admin));
    assert_eq!(new.metric("utg_replay_capacity").await, Some(5_000.0));
    assert_eq!(new.send(call("GET", "/v1/qr/a")).await.status, 200);
    assert!(old.exited().await.success());
    assert!(tokio::net::TcpStream::connect(old.listen).await.is_err());
}

#[tokio::test]
async fn connections_in_http2_are_told_to_come_anew_and_lose_nothing() {
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
        new.logs("upgrade complete: predecessor=").await;
        tool.release();
        new
    };
    let (response, new) = futures_util::future::join(in_flight, upgrading).await;
    assert_eq!((response.status, response.complete), (200, true));
    assert!(client.closed().await.is_ok(), "it was told, and not cut");
    assert!(old.exited().await.success());
    assert_eq!(
        Http2Client::prior_knowledge(new.listen).await.send(&post("/v1/qr/a", "{}")).await.status,
        200
    );
}
