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

use crate::support::{
    Client, FakeTool, Manner, PATIENCE, Request,
    grant::{SECRET, call, post},
    h2::Http2,
    load::Load,
    proxy::Setup,
    tls::{Authority, Folder, NAME, Visitor},
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

    fn setup(&self) -> Setup {
        Setup::new()
            .line("server", &format!("upgrade_socket = {:?}", self.socket()))
            .line("server", "grace = \"8s\"")
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn five_upgrades_under_load_lose_no_call() {
    let (tool, slow) = (FakeTool::start(Manner::Describe).await, FakeTool::start(Manner::Wait).await);
    let place = Place::new();
    let setup = place
        .setup()
        .tool(Tool::Qr, &[&tool])
        .tool(Tool::Pdf, &[&tool])
        .tool(Tool::Yt, &[&tool])
        .tool(Tool::Idea, &[&slow]);
    let mut old = setup.ready().await;
    let load = Load::start(old.listen, SECRET);
    for upgrade in 0..5 {
        slow.set(Manner::Wait);
        let before = slow.calls();
        let mut long = Client::connect(old.listen).await;
        long.write(&post("/v1/idea/a", "{}").bytes()).await;
        until("the long call is under way", || async { slow.calls() > before }).await;
        let new = setup.upgrade();
        assert_eq!((new.listen, new.admin), (old.listen, old.admin));
        new.took_over().await;
        load.goes_on().await;
        slow.release();
        assert_eq!(long.answer("POST").await.unwrap().status, 200, "upgrade {upgrade}");
        assert!(old.ended().await.success());
        old = new;
    }
    let made = load.lost_nothing().await;
    assert!(made > 200, "{made} calls");
}

#[tokio::test]
async fn a_connection_is_served_once_more_and_no_grant_is_good_in_both_processes() {
    let tool = FakeTool::start(Manner::Describe).await;
    let place = Place::new();
    let setup = place.setup().tool(Tool::Qr, &[&tool]);
    let mut old = setup.ready().await;
    let [early, late] = [(); 2].map(|()| call("GET", "/v1/qr/a"));
    let mut kept = Vec::new();
    for _ in 0..5 {
        let mut client = Client::connect(old.listen).await;
        client.write(&Request::new("GET", "/healthz").bytes()).await;
        assert_eq!(client.answer("GET").await.unwrap().status, 200);
        kept.push(client);
    }
    assert_eq!(old.send(early.clone()).await.status, 200);

    let new = setup.upgrade();
    new.says("upgrade complete: predecessor=").await;
    assert_eq!(new.send(early).await.status, 401, "what the old process made is known");
    let mut client = kept.pop().unwrap();
    client.write(&late.bytes()).await;
    let answer = client.answer("GET").await.unwrap();
    assert_eq!((answer.status, answer.header("connection")), (200, Some("close")));
    let remembered = || async { new.metric("utg_replay_entries").await };
    until("what it still makes is told", || async { remembered().await == Some(2.0) }).await;
    assert_eq!(new.send(late).await.status, 401);

    let mut refused = 0;
    for mut client in kept {
        let fresh = call("GET", "/v1/qr/a");
        assert_eq!(new.send(fresh.clone()).await.status, 200);
        client.write(&fresh.bytes()).await;
        refused += u32::from(client.answer("GET").await.unwrap().status == 401);
    }
    // It is told within a moment; there is no way to ask the old process whether it was.
    assert!(refused > 0, "a grant that the new process has made is good in the old one");
    assert!(old.ended().await.success());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_upgrade_waits_until_the_one_before_is_over() {
    let tool = FakeTool::start(Manner::Describe).await;
    let place = Place::new();
    let setup = Arc::new(place.setup().tool(Tool::Qr, &[&tool]));
    let mut first = setup.ready().await;
    let mut idle = Client::connect(first.listen).await;
    idle.write(&Request::new("GET", "/healthz").bytes()).await;
    assert_eq!(idle.answer("GET").await.unwrap().status, 200);
    let mut second = setup.upgrade();
    second.says("upgrade complete: predecessor=").await;
    let third = tokio::task::spawn_blocking({
        let setup = Arc::clone(&setup);
        move || setup.upgrade()
    });
    // The first still has a connection, so the second has not got over it.
    assert_eq!(second.send(call("GET", "/v1/qr/a")).await.status, 200);
    assert!(!third.is_finished());
    drop(idle);
    assert!(first.ended().await.success());
    let third = third.await.unwrap();
    third.says("upgrade complete: predecessor=").await;
    assert!(second.ended().await.success());
    assert_eq!(third.send(call("GET", "/v1/qr/a")).await.status, 200);
}

#[tokio::test]
async fn connections_over_tls_are_served_once_more_too() {
    let (tool, authority, folder) =
        (FakeTool::start(Manner::Describe).await, Authority::new(), Folder::new());
    let place = Place::new();
    let section = folder.server(&authority.identity(NAME));
    let setup = place.setup().tool(Tool::Qr, &[&tool]).section("server.tls", &section);
    let mut old = setup.ready().await;
    let mut kept = Visitor::new(&authority).connect(old.listen).await;
    kept.write(&call("GET", "/v1/qr/a").bytes()).await;
    assert_eq!(kept.answer("GET").await.unwrap().status, 200);
    let new = setup.upgrade();
    new.says("upgrade complete: predecessor=").await;
    let mut fresh = Visitor::new(&authority).connect(new.listen).await;
    for (client, ends) in [(&mut kept, true), (&mut fresh, false)] {
        client.write(&post("/v1/qr/a", "{}").bytes()).await;
        let answer = client.answer("POST").await.unwrap();
        assert_eq!((answer.status, answer.header("connection") == Some("close")), (200, ends));
    }
    assert!(old.ended().await.success());
}

#[tokio::test]
async fn a_process_that_does_not_get_ready_changes_nothing() {
    let tool = FakeTool::start(Manner::Describe).await;
    let place = Place::new();
    let setup = place.setup().tool(Tool::Qr, &[&tool]);
    let mut old = setup.ready().await;
    // One whose file has a fault, one that dies before it is ready, and one that says something else.
    let (status, said) = place.setup().pool_line(Tool::Qr, "balanse = 1").fail_with(&["--upgrade"]);
    assert_eq!(status.code(), Some(2), "{said}");
    let silent = FakeTool::start(Manner::Describe).await;
    silent.drip_probes(PATIENCE);
    drop(place.setup().tool(Tool::Qr, &[&silent]).pool_line(Tool::Qr, "probe.timeout = \"60s\"").upgrade());
    let mut stranger = UnixStream::connect(place.socket()).unwrap();
    std::io::Write::write_all(&mut stranger, b"unready").unwrap();
    old.says("error=\"invalid data\"").await;
    assert_eq!(
        old.output().matches("upgrade failed, this process keeps serving: ").count(),
        2,
        "{}",
        old.output()
    );
    assert_eq!(old.send(call("GET", "/v1/qr/a")).await.status, 200);
    let new = setup.upgrade();
    new.says("upgrade complete: predecessor=").await;
    assert_eq!(new.send(call("GET", "/v1/qr/a")).await.status, 200);
    assert!(old.ended().await.success());
}

#[tokio::test]
async fn without_a_process_to_go_on_from_it_starts_as_ever() {
    let place = Place::new();
    drop(UnixListener::bind(place.socket()).unwrap());
    let mut proxy = place.setup().upgrade();
    until("it is ready", || async { proxy.admin_get("/readyz").await.status == 200 }).await;
    let (status, said) = place.setup().fail();
    assert!(!status.success() && said.contains("--upgrade"), "{said}");
    proxy.signal("-TERM");
    assert!(proxy.ended().await.success());
    assert!(!place.socket().exists(), "it leaves nothing behind");
}

#[tokio::test]
async fn a_socket_that_others_could_replace_is_not_used() {
    let place = Place::new();
    fs::set_permissions(place.0.path(), fs::Permissions::from_mode(0o770)).unwrap();
    let (status, said) = place.setup().fail();
    assert!(!status.success() && said.contains("others can write to"), "{said}");
    let proxy = Setup::new().upgrade();
    until("it starts without one", || async { proxy.admin_get("/readyz").await.status == 200 }).await;
    proxy.says("upgrade not possible: ").await;
}

#[tokio::test]
async fn what_a_reload_cannot_change_an_upgrade_can() {
    let tool = FakeTool::start(Manner::Describe).await;
    let place = Place::new();
    let mut old = place.setup().tool(Tool::Qr, &[&tool]).ready().await;
    // The same port, written in another way, would be bound anew; one that nobody has is.
    let new = place.setup().listen("127.0.0.2:0").replay_capacity(5_000).tool(Tool::Qr, &[&tool]).upgrade();
    new.says("upgrade complete: predecessor=").await;
    assert_eq!((new.listen.ip().to_string().as_str(), new.admin), ("127.0.0.2", old.admin));
    assert_eq!(new.metric("utg_replay_capacity").await, Some(5_000.0));
    assert_eq!(new.send(call("GET", "/v1/qr/a")).await.status, 200);
    assert!(old.ended().await.success());
    assert!(tokio::net::TcpStream::connect(old.listen).await.is_err());
}

#[tokio::test]
async fn connections_in_http2_are_told_to_come_anew_and_lose_nothing() {
    let tool = FakeTool::start(Manner::Wait).await;
    let place = Place::new();
    let setup = place.setup().tool(Tool::Qr, &[&tool]).line("clients", "h2c = true");
    let mut old = setup.ready().await;
    let client = Http2::plain(old.listen).await;
    let request = call("GET", "/v1/qr/a");
    let under_way = client.send(&request);
    let upgrading = async {
        until("the call is under way", || async { tool.calls() == 1 }).await;
        let new = setup.upgrade();
        new.says("upgrade complete: predecessor=").await;
        tool.release();
        new
    };
    let (answer, new) = futures_util::future::join(under_way, upgrading).await;
    assert_eq!((answer.status, answer.complete), (200, true));
    assert!(client.ended().await.is_ok(), "it was told, and not cut");
    assert!(old.ended().await.success());
    assert_eq!(Http2::plain(new.listen).await.send(&post("/v1/qr/a", "{}")).await.status, 200);
}
