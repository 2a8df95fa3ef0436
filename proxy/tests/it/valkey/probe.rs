//! What `--check --connect` and the log of the start say of servers with a fault.

use std::path::Path;

use shared::{tier::Tier, tool::Tool};
use tests::{
    FakeTool, Request, ToolBehavior, grant, keys,
    proxy::{Proxy, ProxyConfig},
    redis::{self, Deployment, Kind, Redis},
    until,
};

/// The permissions that each kind does without.
fn unneeded(kind: Kind) -> &'static [&'static str] {
    match kind {
        Kind::Single => &["+wait", "+role", "+ping", "+asking", "+cluster|slots"],
        Kind::Sentinel => &["+ping", "+asking", "+cluster|slots"],
        Kind::Cluster => &["+role"],
    }
}

/// Returns the configuration of a proxy with its meters in these servers, without any warning.
fn direct(state: &Path, section: &str) -> ProxyConfig {
    ProxyConfig::new()
        .section("", "idle_upstream_connections = 100\n")
        .section("defaults.probe", "interval = \"2s\"\n")
        .line("clients", "connections = 100")
        .direct(state)
        .line("keys", &format!("admin_secret = {:?}", keys::ADMIN_SECRET))
        .section("limits", "authority = \"valkey\"\n")
        .section("valkey", section)
}

/// Returns the configuration of a proxy behind an edge with its used grants in these servers.
fn behind_edge(section: &str) -> ProxyConfig {
    ProxyConfig::new()
        .section("", "idle_upstream_connections = 100\n")
        .section("defaults.probe", "interval = \"2s\"\n")
        .line("clients", "connections = 100")
        .line("grants", "replay_store = \"valkey\"")
        .section("valkey", section)
}

/// Returns the exit code of the check, and what it says.
fn check(config: &ProxyConfig) -> (i32, String) {
    let (status, said) = config.run(&["--check", "--connect", "--strict"]);
    (status.code().unwrap(), said)
}

/// The document lists nothing that is not needed, and the check finds each permission that is missing: at a
/// primary an error, at a replica a warning.
fn assert_each_permission_is_checked(kind: Kind) {
    let (valkey, state) = (Deployment::start(kind), tempfile::tempdir().unwrap());
    let config = direct(&state.path().join("keys"), &valkey.section());
    assert_eq!(check(&config), (0, String::new()));
    assert_eq!(valkey.denied(), [""; 0]);
    let documented = redis::documented();
    let needed: Vec<_> = documented.iter().filter(|one| one.starts_with(['+', '~'])).collect();
    for &lack in &needed {
        let (primary, replica) = (0, valkey.ports().len() - 1);
        let code = match lack.as_str() {
            // A name that the client library tells for information.
            "+client|setinfo" => 0,
            lack if unneeded(kind).contains(&lack) => 0,
            "+info" => 2,
            _ => 1,
        };
        for (server, code) in [(primary, code), (replica, code.min(1) * 2)] {
            valkey.permit(server, &without(lack));
            let (found, said) = check(&config);
            assert_eq!(found, code, "{kind:?} without {lack} at {server}: {said}");
            let port = format!("127.0.0.1:{}", valkey.ports()[server]);
            let line = said.lines().find(|line| line.contains(&format!("lacks {lack}")));
            let is_named = line.is_some_and(|line| line.contains(&port) && line.contains("valkey.user"));
            assert_eq!(is_named, code != 0, "{kind:?} without {lack} at {server}: {said}");
            valkey.permit(server, &documented);
        }
    }
    assert_eq!(check(&config), (0, String::new()));
}

#[test]
fn each_permission_that_a_server_lacks_is_named() {
    assert_each_permission_is_checked(Kind::Single);
}

#[test]
fn each_permission_that_sentinels_servers_lack_is_named() {
    assert_each_permission_is_checked(Kind::Sentinel);
}

#[test]
fn each_permission_that_a_node_lacks_is_named() {
    assert_each_permission_is_checked(Kind::Cluster);
}

#[test]
fn store_of_used_grants_needs_set_only() {
    let valkey = Deployment::start(Kind::Single);
    let config = behind_edge(&valkey.section());
    let permissions = ["~utg:*", "+set", "+info"].map(str::to_owned);
    (0..2).for_each(|server| valkey.permit(server, &permissions));
    assert_eq!(check(&config), (0, String::new()));
    valkey.permit(0, &permissions[..1]);
    let (code, said) = check(&config);
    assert_eq!(code, 1);
    assert!(said.contains(": error: valkey.user: ") && said.contains("lacks +set"), "{said}");
}

/// Each fault is an error or a warning at its setting, which names the server.
#[test]
fn fault_of_a_server_is_reported_at_its_setting() {
    let (valkey, state) = (Deployment::start(Kind::Single), tempfile::tempdir().unwrap());
    let state = state.path().join("keys");
    let [primary, replica] = valkey.ports()[..] else { panic!("two servers") };
    let with = |change: &dyn Fn(String) -> String| direct(&state, &change(valkey.section()));
    let reports = |config: &ProxyConfig, code: i32, words: &[&str]| {
        let (found, said) = check(config);
        assert_eq!(found, code, "{words:?}: {said}");
        let is_reported = |line: &str| words.iter().all(|word| line.contains(word));
        assert!(said.lines().any(is_reported), "{words:?}: {said}");
    };
    let wrong = with(&|section| section.replace("of-the-tests", "of-nobody"));
    reports(&wrong, 1, &["error: valkey.password: ", &primary.to_string(), "refuses the user"]);
    let wrong = with(&|section| section.replace("\"gateway\"", "\"nobody\""));
    reports(&wrong, 1, &["error: valkey.password: ", "refuses the user"]);
    let servers = |section: String, servers: &str| {
        let rest = section.split_once('\n').unwrap().1.to_owned();
        format!("servers = [{servers}]\n{rest}")
    };
    let none = with(&|section| servers(section, "\"127.0.0.1:9\"").lines().next().unwrap().to_owned());
    reports(&none, 1, &["error: valkey.servers: 127.0.0.1:9: cannot be reached"]);
    let anonymous = with(&|section| section.lines().next().unwrap().to_owned());
    reports(&anonymous, 1, &["error: valkey.password: ", "asks for a password"]);
    let only_replica = with(&|section| servers(section, &format!("\"127.0.0.1:{replica}\"")));
    reports(&only_replica, 1, &["error: valkey.servers: ", "is a replica, expected the primary"]);
    let one_away = with(&|section| servers(section, &format!("\"127.0.0.1:9\", \"127.0.0.1:{primary}\"")));
    reports(&one_away, 2, &["warning: valkey.servers: 127.0.0.1:9: cannot be reached"]);
    let replicated = with(&|section| section + "replicas = 2\n");
    reports(&replicated, 1, &["error: valkey.replicas: ", "has 1 connected replicas, expected 2"]);
    let sentinel = with(&|section| section + "kind = \"sentinel\"\nmaster = \"limits\"\n");
    reports(&sentinel, 1, &["error: valkey.servers: ", "does not name the master"]);
    let cluster = with(&|section| section + "kind = \"cluster\"\n");
    reports(&cluster, 1, &["error: valkey.kind: ", "cluster support disabled"]);

    let usual = with(&|section| section);
    assert_eq!(valkey.send(0, &["CONFIG", "SET", "maxmemory-policy", "allkeys-lru"]), ["OK"]);
    reports(&usual, 2, &["warning: valkey.servers: ", "maxmemory-policy allkeys-lru", "expected noeviction"]);
    assert_eq!(valkey.send(0, &["CONFIG", "SET", "maxmemory-policy", "noeviction"]), ["OK"]);
    assert_eq!(valkey.send(0, &["CONFIG", "SET", "maxmemory", "1"]), ["OK"]);
    reports(&usual, 1, &["error: valkey.servers: ", "refuses SET: ", "OOM"]);
    assert_eq!(valkey.send(0, &["CONFIG", "SET", "maxmemory", "0"]), ["OK"]);
    assert_eq!(check(&usual), (0, String::new()));
}

#[test]
fn sentinels_and_clusters_with_a_fault_are_reported() {
    let state = tempfile::tempdir().unwrap();
    let state = state.path().join("keys");
    let (sentinel, cluster) = (Deployment::start(Kind::Sentinel), Deployment::start(Kind::Cluster));
    let other = direct(&state, &sentinel.section().replace("\"limits\"", "\"other\""));
    let (code, said) = check(&other);
    assert_eq!(code, 1, "{said}");
    assert!(said.contains("error: valkey.master: "), "{said}");
    assert!(said.contains("does not know the master `other`, but [limits]"), "{said}");
    let as_single = direct(&state, &cluster.section().replace("kind = \"cluster\"\nreplicas = 1\n", ""));
    let (code, said) = check(&as_single);
    assert_eq!(code, 1, "{said}");
    assert!(said.contains("error: valkey.kind: ") && said.contains("is a node of a cluster"), "{said}");
}

/// What such a server says has several lines to the client library.
#[tokio::test]
async fn server_that_speaks_http_is_one_line() {
    let (tool, state) = (FakeTool::start(ToolBehavior::Describe).await, tempfile::tempdir().unwrap());
    let config = direct(&state.path().join("keys"), &format!("servers = [\"{}\"]\n", tool.address));
    let (code, said) = check(&config);
    assert_eq!((code, said.lines().count()), (1, 1), "{said}");
    assert!(said.contains("error: valkey.servers: ") && said.contains("cannot be reached"), "{said}");
    let proxy = config.tool(Tool::Qr, &[&tool]).ready().await;
    proxy.logs("valkey unusable: key=valkey.servers").await;
    assert_eq!(call(&proxy).await, 503);
    let output = proxy.output();
    let failed = output.lines().find(|line| line.contains("meter authority failed")).unwrap();
    assert!(failed.ends_with('"'), "{output}");
}

#[test]
fn servers_that_speak_tls_are_checked() {
    let (valkey, state) = (Redis::start_secured(), tempfile::tempdir().unwrap());
    let config = direct(&state.path().join("keys"), &valkey.section());
    assert_eq!(check(&config), (0, String::new()));
    let section = valkey.section();
    let untrusted: Vec<_> = section.lines().filter(|line| !line.contains("tls_ca")).collect();
    let (code, said) = check(&direct(&state.path().join("keys"), &untrusted.join("\n")));
    assert_eq!(code, 1, "{said}");
    assert!(said.contains("error: valkey.servers: ") && said.contains("cannot be reached"), "{said}");
}

/// Makes a call of a Free key, which needs its meter.
async fn call(proxy: &Proxy) -> u16 {
    let (key, _) = keys::fresh(Tier::Free);
    proxy.send(Request::new("GET", "/v1/qr/generate").header("X-API-Key", &key)).await.status
}

/// The cause is in the log before the first call, and the metric of its alert says so.
#[tokio::test]
async fn start_with_a_missing_permission_logs_it() {
    let (valkey, state) = (Deployment::start(Kind::Sentinel), tempfile::tempdir().unwrap());
    let tool = FakeTool::start(ToolBehavior::Describe).await;
    let mut permissions = without("+role");
    // The client library can do with this instead, and then calls are served.
    permissions.retain(|one| one != "+info");
    valkey.permit(0, &permissions);
    let config = direct(&state.path().join("keys"), &valkey.section()).tool(Tool::Qr, &[&tool]);
    let proxy = config.ready().await;
    proxy.logs("valkey unusable: key=valkey.user").await;
    assert!(proxy.output().contains("lacks +role"), "{}", proxy.output());
    proxy.metric_is("utg_meter_reachable", 0.0).await;
    assert_eq!((call(&proxy).await, tool.calls()), (503, 0));
    valkey.permit(0, &redis::documented());
    until("the meter responds", || async { call(&proxy).await == 200 }).await;
    proxy.metric_is("utg_meter_reachable", 1.0).await;
}

/// An outage that passes by itself must not hide a refusal that does not.
#[tokio::test]
async fn refusal_amid_an_outage_is_logged() {
    let (valkey, state) = (Deployment::start(Kind::Single), tempfile::tempdir().unwrap());
    let tool = FakeTool::start(ToolBehavior::Describe).await;
    let config = direct(&state.path().join("keys"), &valkey.section()).tool(Tool::Qr, &[&tool]);
    let proxy = config.ready().await;
    assert_eq!(call(&proxy).await, 200);
    valkey.send(0, &["CONFIG", "SET", "maxmemory", "1"]);
    assert_eq!(call(&proxy).await, 503);
    let logged = |words: &str| proxy.output().matches(words).count();
    assert_eq!((logged("meter authority failed"), logged("OOM")), (1, 1), "{}", proxy.output());
    valkey.permit(0, &without("+evalsha"));
    assert_eq!([call(&proxy).await, call(&proxy).await], [503; 2]);
    assert_eq!((logged("meter authority failed"), logged("'evalsha'")), (2, 1), "{}", proxy.output());
    valkey.permit(0, &redis::documented());
    valkey.send(0, &["CONFIG", "SET", "maxmemory", "0"]);
    until("the meter responds", || async { call(&proxy).await == 200 }).await;
    assert_eq!(logged("meter authority recovered"), 1);
}

/// A full server responds to messages that only read. That is no recovery: every call is refused.
#[tokio::test]
async fn full_server_counts_as_unreachable_while_reads_pass() {
    let (valkey, state) = (Deployment::start(Kind::Single), tempfile::tempdir().unwrap());
    let tool = FakeTool::start(ToolBehavior::Describe).await;
    let config = direct(&state.path().join("keys"), &valkey.section()).tool(Tool::Qr, &[&tool]);
    let proxy = config.ready().await;
    let (known, _) = keys::fresh(Tier::Free);
    let request = |path: &str| Request::new("GET", path).header("X-API-Key", &known);
    assert_eq!(proxy.send(request("/v1/qr/generate")).await.status, 200);
    valkey.send(0, &["CONFIG", "SET", "maxmemory-policy", "noeviction"]);
    valkey.send(0, &["CONFIG", "SET", "maxmemory", "1"]);
    for calls in 1..=6 {
        assert_eq!(call(&proxy).await, 503);
        assert_eq!(proxy.send(request("/v1/keys/me")).await.status, 200, "reads pass");
        assert_eq!(proxy.metric("utg_meter_reachable").await, Some(0.0), "{}", proxy.output());
        let failures = proxy.metric(r#"utg_meter_failures_total{reason="full"}"#).await;
        assert!(failures >= Some(f64::from(calls)), "{failures:?} after {calls} calls");
    }
    let logged = |words: &str| proxy.output().matches(words).count();
    assert_eq!((logged("meter authority failed: reason=full"), logged("meter authority")), (1, 1));
    valkey.send(0, &["CONFIG", "SET", "maxmemory", "0"]);
    until("the meter responds", || async { call(&proxy).await == 200 }).await;
    proxy.metric_is("utg_meter_reachable", 1.0).await;
}

/// Each proxy goes by its own memory then. It connects again once a second rather than with each call.
#[tokio::test]
async fn store_of_used_grants_that_refuses_set_is_logged_once() {
    let valkey = Deployment::start(Kind::Single);
    let tool = FakeTool::start(ToolBehavior::Describe).await;
    let proxy = behind_edge(&valkey.section()).tool(Tool::Qr, &[&tool]).ready().await;
    proxy.logs("used grants available").await;
    valkey.permit(0, &without("+set"));
    for _ in 0..20 {
        assert_eq!(proxy.send(grant::call("GET", "/v1/qr/generate")).await.status, 200);
    }
    let logged = |words: &str| proxy.output().matches(words).count();
    // The call that found it, and the connections after that.
    assert_eq!((logged("used grants unavailable"), logged("used grants available")), (2, 1));
    assert!(logged("'set'") > 0, "{}", proxy.output());
    valkey.permit(0, &redis::documented());
    until("it is available again", || std::future::ready(logged("used grants available") == 2)).await;
}

/// Returns the documented permissions without one.
fn without(lack: &str) -> Vec<String> {
    redis::documented().into_iter().filter(|one| one != lack).collect()
}
