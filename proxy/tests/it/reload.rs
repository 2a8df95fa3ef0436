//! Reload of the configuration while calls are made.

use std::{
    fs,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
};

use shared::tool::Tool;

use tests::{
    Client, FakeTool, Signer, ToolBehavior,
    grant::{call, post},
    keys::GRANT_SECRET,
    load::Load,
    proxy::ProxyConfig,
    until,
};

/// Returns a grant secret with its number.
fn secret(number: u32) -> String {
    format!("{number}:{GRANT_SECRET}-{number}")
}

/// Returns an upstream without calls that `/pools` shows while this reload is in use.
fn marker(reload: u32) -> String {
    format!("127.0.0.1:{}", 10_000 + reload)
}

/// A secret mounted as by Kubernetes: a link to a link to a file. An update replaces the link in
/// the middle.
struct Mounted(tempfile::TempDir);

impl Mounted {
    fn new(text: &str) -> Self {
        let mounted = Self(tempfile::tempdir().unwrap());
        mounted.set(text);
        symlink("..data/secret", mounted.file()).unwrap();
        mounted
    }

    fn set(&self, text: &str) {
        let at = |name: &str| self.0.path().join(name);
        let version = tempfile::tempdir_in(self.0.path()).unwrap().keep();
        fs::write(version.join("secret"), text).unwrap();
        symlink(version.file_name().map(Path::new).unwrap(), at("..new")).unwrap();
        fs::rename(at("..new"), at("..data")).unwrap();
    }

    fn file(&self) -> PathBuf {
        self.0.path().join("secret")
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_hundred_reloads_under_load_fail_no_call() {
    const RELOADS: u32 = 200;
    let tools =
        [FakeTool::start(ToolBehavior::Describe).await, FakeTool::start(ToolBehavior::Describe).await];
    let mounted = Mounted::new(&secret(1));
    let config = |reload: u32| {
        let (one, two) = (&tools[0], &tools[1]);
        let of_qr = [vec![one], vec![two], vec![two, one]];
        let of_pdf = [one, two][reload as usize % 2];
        ProxyConfig::new()
            .grant_secret_file(&mounted.file())
            .tool(Tool::Qr, &of_qr[reload as usize % 3])
            .tool(Tool::Pdf, &[of_pdf])
            .upstreams(
                Tool::Yt,
                &[&one.address.to_string(), &two.address.to_string(), &format!("{} off", marker(reload))],
            )
            .pool_line(Tool::Yt, ["balance = \"key-hash\"", "slow_start = \"1s\""][reload as usize % 2])
            .line("clients", &format!("requests_per_connection = {}", 20 + reload))
            .line("clients", &format!("idle_timeout = \"{}s\"", 20 + reload))
    };
    let proxy = config(0).ready().await;
    let load = Load::start(proxy.listen, &secret(1));
    for reload in 1..=RELOADS {
        let number = reload / 20 + 1;
        match reload % 20 {
            // Two secrets are configured, then the new one signs, then the old one is removed.
            0 => mounted.set(&format!("{},{}", secret(number - 1), secret(number))),
            1 if number > 1 => load.sign_with(&secret(number)).await,
            2 => mounted.set(&secret(number)),
            7 => {
                proxy.reload(&config(reload).pool_line(Tool::Qr, "balanse = 1"));
                until("it is refused", || async { proxy.config_status().await["rejected"].is_string() })
                    .await;
            }
            _ => {}
        }
        proxy.replace_config(&config(reload));
        if reload % 20 != 10 {
            proxy.signal("HUP");
        }
        // Not the next generation: that may be the configuration before, read once more.
        until("it is in use", || async { proxy.admin_get("/pools").await.text().contains(&marker(reload)) })
            .await;
    }
    let made = load.assert_no_failure().await;
    assert!(made > 500, "{made} calls");
    assert!(tools.iter().all(|tool| tool.calls() > made / 10));
    // The signal and the watched file may each be the reason to read the same text.
    assert!(proxy.metric(r#"utg_config_reloads_total{outcome="applied"}"#).await >= Some(f64::from(RELOADS)));
    assert!(proxy.metric(r#"utg_config_reloads_total{outcome="rejected"}"#).await >= Some(10.0));
}

#[tokio::test]
async fn sighup_during_startup_reloads() {
    for reload in 0..5 {
        let proxy = ProxyConfig::new().start();
        proxy.reload(&ProxyConfig::new().upstreams(Tool::Yt, &[&format!("{} off", marker(reload))]));
        until("it is ready", || async { proxy.admin_get("/readyz").await.status == 200 }).await;
        // A process that lost the signal would serve the file that it began with.
        until("it is in use", || async { proxy.admin_get("/pools").await.text().contains(&marker(reload)) })
            .await;
    }
}

#[tokio::test]
async fn invalid_file_keeps_the_active_configuration() {
    let tool = FakeTool::start(ToolBehavior::Describe).await;
    let config = ProxyConfig::new().tool(Tool::Qr, &[&tool]);
    let proxy = config.ready().await;
    proxy.replace_config(&ProxyConfig::new().pool_line(Tool::Qr, "balanse = 1"));
    until("it is reported", || async {
        let refused = proxy.config_status().await["rejected"].clone();
        refused.as_str().is_some_and(|text| text.contains("did you mean `balance`?"))
    })
    .await;
    assert_eq!(proxy.metric("utg_config_rejected").await, Some(1.0));
    assert_eq!(proxy.config_status().await["generation"], 1);
    assert_eq!(proxy.send(call("GET", "/v1/qr/a")).await.status, 200);
    proxy.replace_config(&config);
    until("it is taken", || async { proxy.config_status().await["rejected"].is_null() }).await;
    assert_eq!(proxy.metric("utg_config_rejected").await, Some(0.0));
    assert_eq!(proxy.metric("utg_config_generation").await, Some(2.0));
}

#[tokio::test]
async fn reload_applies_all_but_settings_that_need_a_restart() {
    let tools =
        [FakeTool::start(ToolBehavior::Describe).await, FakeTool::start(ToolBehavior::Describe).await];
    let proxy = ProxyConfig::new().tool(Tool::Qr, &[&tools[0]]).ready().await;
    proxy.replace_config(
        &ProxyConfig::new()
            .tool(Tool::Qr, &[&tools[1]])
            .listen("127.0.0.1:9")
            .replay_capacity(5_000)
            .line("server", "grace = \"7s\""),
    );
    assert_eq!(proxy.generation_after(1).await, 2);
    let needs_restart = serde_json::json!(["server.listen", "grants.replay_capacity"]);
    assert_eq!(proxy.config_status().await["needs_restart"], needs_restart);
    assert_eq!(proxy.metric("utg_config_needs_restart").await, Some(2.0));
    assert_eq!(proxy.metric("utg_replay_capacity").await, Some(100_000.0));
    proxy.logs("settings=server.listen,grants.replay_capacity").await;
    assert_eq!(proxy.send(call("GET", "/v1/qr/a")).await.status, 200);
    assert_eq!(tools.map(|tool| tool.calls()), [0, 1]);
}

#[tokio::test]
async fn changed_secret_file_is_applied_without_a_signal() {
    let tool = FakeTool::start(ToolBehavior::Describe).await;
    let mounted = Mounted::new(&secret(1));
    let mut proxy =
        ProxyConfig::new().grant_secret_file(&mounted.file()).tool(Tool::Qr, &[&tool]).ready().await;
    let call = |number| {
        let signer = Signer { secret: secret(number), ..Signer::default() };
        signer.granted(tests::Request::new("GET", "/v1/qr/a"))
    };
    assert_eq!(proxy.send(call(1)).await.status, 200);
    assert_eq!(proxy.send(call(2)).await.status, 401);
    mounted.set(&secret(2));
    proxy.generation_after(1).await;
    assert_eq!(proxy.send(call(1)).await.status, 401);
    assert_eq!(proxy.send(call(2)).await.status, 200);
    proxy.signal("TERM");
    assert!(proxy.exited().await.success());
    assert!(!proxy.output().contains(GRANT_SECRET));
}

#[tokio::test]
async fn reloaded_limits_and_log_detail_apply_to_the_next_call() {
    let tool = FakeTool::start(ToolBehavior::Wait).await;
    let config = || ProxyConfig::new().tool(Tool::Qr, &[&tool]);
    let mut proxy = config().ready().await;
    let mut waiting = Client::connect(proxy.listen).await;
    waiting.write(&call("GET", "/v1/qr/a").bytes()).await;
    until("the call is in flight", || async { tool.calls() == 1 }).await;
    proxy.replace_config(
        &config().line("clients", "calls_in_flight_per_key = 1").line("log", "detail = \"failures\""),
    );
    proxy.generation_after(1).await;
    let refused = proxy.send(post("/v1/qr/a", "{}")).await;
    assert_eq!((refused.status, refused.problem()), (503, "tool-overloaded".to_owned()));
    tool.release();
    assert_eq!(waiting.response("GET").await.unwrap().status, 200);
    proxy.signal("TERM");
    assert!(proxy.exited().await.success());
    assert!(proxy.output().contains("\"tool-overloaded\""), "{}", proxy.output());
    assert_eq!(proxy.output().matches("\"request_id\"").count(), 1, "{}", proxy.output());
}

#[tokio::test]
async fn metrics_of_a_removed_upstream_are_removed() {
    let tools =
        [FakeTool::start(ToolBehavior::Describe).await, FakeTool::start(ToolBehavior::Describe).await];
    let proxy = ProxyConfig::new().tool(Tool::Qr, &[&tools[0]]).ready().await;
    let series = |tool: &FakeTool| {
        format!(r#"utg_upstream_connect_failures_total{{tool="qr",upstream="{}"}}"#, tool.address)
    };
    assert_eq!(proxy.metric(&series(&tools[0])).await, Some(0.0));
    proxy.reload(&ProxyConfig::new().tool(Tool::Qr, &[&tools[1]]));
    proxy.generation_after(1).await;
    assert_eq!(proxy.metric(&series(&tools[0])).await, None);
    assert_eq!(proxy.metric(&series(&tools[1])).await, Some(0.0));
}

#[tokio::test]
async fn reload_says_which_keys_have_changed() {
    let tool = FakeTool::start(ToolBehavior::Describe).await;
    let config = ProxyConfig::new().tool(Tool::Qr, &[&tool]);
    let proxy = config.ready().await;
    let changed =
        config.clone().pool_line(Tool::Qr, "answer_timeout = \"7s\"").line("server", "grace = \"9s\"");
    proxy.reload(&changed);
    proxy.logs("config reloaded: generation=2 changed=pools.qr.answer_timeout,server.grace\n").await;
    proxy.reload(&config);
    proxy.logs("config reloaded: generation=3 changed=pools.qr.answer_timeout,server.grace\n").await;
}
