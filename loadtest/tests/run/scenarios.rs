//! The scenarios, against a fake gateway that is correct or faulty.

use std::os::unix::fs::PermissionsExt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use loadtest::driver::{CallTemplate, StopFlag};
use loadtest::scenario::{self, ScenarioEvent, Script};
use loadtest::target::Target;
use loadtest::tools::{self, BindAddress};
use shared::tool::Tool;
use tokio::sync::watch;

use crate::gateway::{Gateway, NEW_KEY, OLD_KEY};
use crate::loadtest_run::loadtest_run;

const KEY: [(&str, &str); 1] = [("LT_KEY", OLD_KEY)];

#[tokio::test]
async fn over_limit_passes_with_exactly_the_limit() {
    let gateway = Gateway::start(10, 10).await;
    let options =
        ["--scenario", "over-limit", "--key-env", "LT_KEY", "--rate", "30", "--seconds", "1", "--json"];
    let run = loadtest_run(gateway.addr, &options, &KEY).await;
    assert_eq!((run.code, run.calls_with(200), run.calls_with(429)), (Some(0), 10, 20), "{}", run.stdout);
    assert_eq!(run.report()["rows"][1]["code"], "quota-exceeded");
    assert_eq!(gateway.calls_with(OLD_KEY), 30);
}

#[tokio::test]
async fn over_limit_fails_with_one_call_too_many() {
    let gateway = Gateway::start(11, 10).await;
    let options =
        ["--scenario", "over-limit", "--key-env", "LT_KEY", "--rate", "30", "--seconds", "1", "--json"];
    let run = loadtest_run(gateway.addr, &options, &KEY).await;
    assert_eq!(run.code, Some(3), "{}", run.stdout);
    let report = run.report();
    let failed: Vec<&serde_json::Value> =
        report["checks"].as_array().unwrap().iter().filter(|check| check["passed"] == false).collect();
    assert_eq!(failed.len(), 1, "{report:#}");
    assert_eq!(failed[0]["found"], "at most 11 in 60 s, limit 10");
}

#[tokio::test]
async fn key_rotation_uses_both_keys_and_saves_new_one() {
    let gateway = Gateway::start(1000, 1000).await;
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("new-key");
    let options = [
        "--scenario",
        "key-rotation",
        "--key-env",
        "LT_KEY",
        "--new-key-file",
        file.to_str().unwrap(),
        "--rate",
        "40",
        "--seconds",
        "2",
    ];
    let run = loadtest_run(gateway.addr, &options, &KEY).await;
    assert_eq!(run.code, Some(0), "{}{}", run.stdout, run.stderr);
    let (old, new) = (gateway.calls_with(OLD_KEY), gateway.calls_with(NEW_KEY));
    assert_eq!(old + new, 80);
    assert!((1..=40).contains(&new), "{new} calls with the new key");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), format!("{NEW_KEY}\n"));
    assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    assert!(!run.stdout.contains(NEW_KEY) && !run.stdout.contains(OLD_KEY));
}

fn no_templates() -> watch::Sender<Arc<[CallTemplate]>> {
    watch::channel(Arc::from([])).0
}

#[tokio::test]
async fn tool_dies_stops_tool_for_middle_third() {
    let running = tools::start(BindAddress::LOOPBACK).await.unwrap();
    let control = Target::resolve(&format!("http://{}", running.control()), false).await.unwrap();
    let script = Script::StopTool { control, tool: Tool::Qr };
    let length = Duration::from_millis(900);
    let (start, stop) = (Instant::now(), StopFlag::default());
    let play = scenario::play(script, start, length, no_templates(), &stop);
    // Ends only if the tool is seen stopped while the script runs.
    let watch = async {
        while running.tool(Tool::Qr).is_listening().await {
            tokio::task::yield_now().await;
        }
    };
    let (event, ()) = tokio::join!(play, watch);
    let ScenarioEvent::Outage(outage) = event.unwrap() else { panic!("no outage") };
    assert!(length / 3 <= outage.stopping && outage.stopping <= outage.stopped, "{outage:?}");
    assert!(length * 2 / 3 <= outage.starting && outage.starting <= outage.started, "{outage:?}");
    assert!(running.tool(Tool::Qr).is_listening().await);
}

#[tokio::test]
async fn interrupted_outage_leaves_tool_running() {
    let running = tools::start(BindAddress::LOOPBACK).await.unwrap();
    let control = Target::resolve(&format!("http://{}", running.control()), false).await.unwrap();
    let script = Script::StopTool { control, tool: Tool::Qr };
    let stop = StopFlag::default();
    let play = scenario::play(script, Instant::now(), Duration::from_secs(3600), no_templates(), &stop);
    let interrupt = async { stop.set() };
    let (event, ()) = tokio::join!(play, interrupt);
    assert!(matches!(event, Ok(ScenarioEvent::Outage(_))), "{event:?}");
    assert!(running.tool(Tool::Qr).is_listening().await);
}
