//! Why an upstream was ejected, and its return: in the log, on `/pools` and in the metric.

use std::time::Duration;

use serde_json::Value;
use shared::tool::Tool;
use tests::{
    FakeTool, ToolBehavior,
    grant::{call, post},
    proxy::{Proxy, ProxyConfig},
    until,
};

const OK: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
const FAULT: &[u8] = b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 4\r\n\r\noops";

struct Ejecting {
    bad: FakeTool,
    _others: [FakeTool; 2],
    proxy: Proxy,
}

impl Ejecting {
    /// Starts a pool of three servers, each of which has served a few calls. The first one then
    /// misbehaves until it is ejected.
    async fn of(behavior: ToolBehavior, lines: &str) -> Self {
        let bad = FakeTool::start(ToolBehavior::Describe).await;
        let others =
            [FakeTool::start(ToolBehavior::Describe).await, FakeTool::start(ToolBehavior::Describe).await];
        let config = ProxyConfig::new().tool(Tool::Qr, &[&bad, &others[0], &others[1]]);
        let lines = format!("slow_start = \"0s\"\nprobe.rise = 100\neject_time = \"300ms\"\n{lines}");
        let proxy = config.pool_line(Tool::Qr, &lines).ready().await;
        for _ in 0..15 {
            assert_eq!(proxy.send(call("GET", "/v1/qr/a")).await.status, 200);
        }
        bad.set(behavior);
        let ejecting = Self { bad, _others: others, proxy };
        until("it is ejected", || async {
            ejecting.proxy.send(post("/v1/qr/a", "{}")).await;
            ejecting.proxy.ejections(&ejecting.name()).await > 0.0
        })
        .await;
        ejecting
    }

    fn name(&self) -> String {
        self.bad.address.to_string()
    }

    /// Returns the first line of the log with this event of the bad server.
    async fn logged(&self, event: &str) -> String {
        let start = format!("{event}: tool=qr upstream={} ", self.name());
        let find = || {
            let output = self.proxy.output();
            output.lines().find_map(|line| Some(line.split_once(&start)?.1.to_owned()))
        };
        until(event, || async { find().is_some() }).await;
        find().unwrap()
    }

    async fn shown(&self) -> Value {
        let pools = self.proxy.admin_get("/pools").await.json();
        pools["pools"]["qr"]["upstreams"][0]["last_ejection"].clone()
    }

    async fn counted(&self, reason: &str, failure: &str) -> Option<f64> {
        let name = self.name();
        let labels = format!(r#"failure="{failure}",reason="{reason}",tool="qr",upstream="{name}""#);
        self.proxy.metric(&format!("utg_upstream_ejections_total{{{labels}}}")).await
    }
}

/// The reasons are those that the behavior of the server has, and its figures are those of the calls that
/// it got.
#[tokio::test]
async fn ejection_names_its_reason_with_the_figures() {
    // A second, so that the others are ten times as quick on a busy machine too.
    let slow = ToolBehavior::Drip(OK.to_vec(), Duration::from_millis(25));
    for (behavior, lines, reason, failure, last) in [
        (ToolBehavior::RespondAndClose(Vec::new()), "", "consecutive", "no_response", "no whole response"),
        (
            ToolBehavior::Respond(FAULT.to_vec()),
            "eject_statuses = [503]",
            "consecutive",
            "status",
            "status 503",
        ),
        (slow, "eject_slow_factor = 10", "consecutive", "slow", "slow: "),
        (
            ToolBehavior::RespondAndClose(Vec::new()),
            "eject_after = 1000\neject_failure_percent = 20",
            "share",
            "no_response",
            "no whole response",
        ),
    ] {
        let ejecting = Ejecting::of(behavior, lines).await;
        let line = ejecting.logged("upstream ejected").await;
        assert!(
            line.contains(&format!(" reason={reason} ")) && line.contains(&format!(" last=\"{last}")),
            "{line}"
        );
        let shown = ejecting.shown().await;
        assert_eq!(shown["reason"], reason, "{shown}");
        assert!(shown["last_failure"].as_str().unwrap().starts_with(last), "{shown}");
        // The five of the warm-up were good, as far as they were within ten seconds.
        let [failed, of] = ["failed", "of"].map(|member| shown[member].as_u64().unwrap());
        assert!((failed..=failed + 5).contains(&of) && shown["consecutive"] == failed, "{shown}");
        assert!(line.contains(&format!("consecutive={failed} failed={failed} of={of} ")), "{line}");
        assert_eq!(if reason == "share" { failed } else { 5 }, failed, "{line}");
        assert_eq!(ejecting.counted(reason, failure).await, Some(1.0));
        assert_eq!(ejecting.counted("trial", failure).await, Some(0.0));
    }
}

#[tokio::test]
async fn return_has_a_line_and_failed_trial_is_a_reason() {
    let ejecting = Ejecting::of(ToolBehavior::RespondAndClose(Vec::new()), "").await;
    let returned = ejecting.logged("upstream returned").await;
    assert_eq!(returned, "after_ms=300 ended_by=time reason=consecutive");
    until("its trial fails", || async {
        ejecting.proxy.send(post("/v1/qr/a", "{}")).await;
        ejecting.counted("trial", "no_response").await > Some(0.0)
    })
    .await;
    assert_eq!(ejecting.shown().await["reason"], "trial");
}
