//! The scenarios, against a stand-in that keeps or breaks its promises.

use std::os::unix::fs::PermissionsExt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use loadtest::driver::{Stop, Template};
use loadtest::scenario::{self, Moments, Script};
use loadtest::target::Target;
use loadtest::tools::{self, BindAddress};
use shared::tool::Tool;
use tokio::sync::watch;

use crate::gateway::{Gateway, NEW_KEY, OLD_KEY};
use crate::loadtest_run::loadtest_run;

const KEY: [(&str, &str); 1] = [("LT_KEY", OLD_KEY)];

#[tokio::test]
async fn over_limit_holds_where_exactly_the_limit_gets_through() {
    let gateway = Gateway::start(10, 10).await;
    let options =
        ["--scenario", "over-limit", "--key-env", "LT_KEY", "--rate", "30", "--seconds", "1", "--json"];
    let run = loadtest_run(gateway.addr, &options, &KEY).await;
    assert_eq!((run.code, run.calls_with(200), run.calls_with(429)), (Some(0), 10, 20), "{}", run.stdout);
    assert_eq!(run.report()["rows"][1]["code"], "quota-exceeded");
    assert_eq!(gateway.calls_with(OLD_KEY), 30);
}

#[tokio::test]
async fn over_limit_fails_where_one_call_too_many_gets_through() {
    let gateway = Gateway::start(11, 10).await;
    let options = ["--scenario", "over-limit", "--key-env", "LT_KEY", "--rate", "30", "--seconds", "1"];
    let run = loadtest_run(gateway.addr, &options, &KEY).await;
    assert_eq!(run.code, Some(3), "{}", run.stdout);
    let verdict =
        "FAILS  no 60 seconds hold more calls than the key may make: at most 11 in 60 s, 10 allowed";
    assert!(run.stdout.contains(verdict), "{}", run.stdout);
}

#[tokio::test]
async fn key_rotation_uses_both_keys_and_keeps_the_new_one_in_a_private_file() {
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

fn no_templates() -> watch::Sender<Arc<[Template]>> {
    watch::channel(Arc::from([])).0
}

#[tokio::test]
async fn tool_dies_stops_the_tool_for_the_middle_third_and_starts_it_again() {
    let running = tools::start(BindAddress::LOOPBACK).await.unwrap();
    let control = Target::resolve(&format!("http://{}", running.control()), false).await.unwrap();
    let script = Script::KillTool { control, tool: Tool::Qr };
    let length = Duration::from_millis(900);
    let (start, stop) = (Instant::now(), Stop::default());
    let play = scenario::play(script, start, length, no_templates(), &stop);
    let watch = async {
        while running.tool(Tool::Qr).is_listening().await {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        start.elapsed()
    };
    let (moments, gone) = tokio::join!(play, watch);
    let Moments::Outage(outage) = moments.unwrap() else { panic!("no outage") };
    assert!(outage.stopping >= length / 3 && outage.starting >= length * 2 / 3, "{outage:?}");
    assert!(gone >= outage.stopping && gone < outage.starting, "{gone:?} {outage:?}");
    assert!(running.tool(Tool::Qr).is_listening().await);
}

#[tokio::test]
async fn an_interrupted_outage_leaves_the_tool_running() {
    let running = tools::start(BindAddress::LOOPBACK).await.unwrap();
    let control = Target::resolve(&format!("http://{}", running.control()), false).await.unwrap();
    let script = Script::KillTool { control, tool: Tool::Qr };
    let stop = Stop::default();
    let play = scenario::play(script, Instant::now(), Duration::from_secs(3600), no_templates(), &stop);
    let interrupt = async { stop.now() };
    let (moments, ()) = tokio::join!(play, interrupt);
    assert!(moments.is_ok());
    assert!(running.tool(Tool::Qr).is_listening().await);
}
