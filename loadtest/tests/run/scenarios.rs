//! Scenarios, against a fake gateway that is correct or faulty.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use loadtest::tools::{self, BindAddress};
use serde_json::Value;
use shared::tool::Tool;
use tokio::process::Command;

use crate::gateway::{Gateway, NEW_KEY, OLD_KEY};
use crate::loadtest_run::{command, loadtest_run, run_output};

const KEY: [(&str, &str); 1] = [("LT_KEY", OLD_KEY)];

fn scenario(folder: &Path, text: &str) -> PathBuf {
    let path = folder.join("own.toml");
    std::fs::write(&path, text).unwrap();
    path
}

const FLOOD: &str = "name = \"flood\"\nstages = [\"1s:30\"]\nallow = [\"429\"]\n\
                     expect = [\"status(429)>0\", \"admitted=exact\", \"usable=100%\", \"missing_retry_after=0\"]\n\
                     [[keys]]\nname = \"main\"\n[[request]]\nname = \"main\"\npath = \"/v1/idea/x\"\nkeys = \"main\"\n";

#[tokio::test]
async fn limit_certificate_is_exact_with_exactly_the_limit() {
    let (gateway, folder) = (Gateway::start(10, 10).await, tempfile::tempdir().unwrap());
    let path = scenario(folder.path(), FLOOD);
    let options = ["--scenario", path.to_str().unwrap(), "--key-env", "LT_KEY", "--json"];
    let run = loadtest_run(gateway.addr, &options, &KEY).await;
    assert_eq!((run.code, run.calls_with(200), run.calls_with(429)), (Some(0), 10, 20), "{}", run.stdout);
    let report = run.report();
    assert_eq!(report["rows"][1]["code"], "quota-exceeded");
    assert_eq!((&report["limits"]["violations"], &report["limits"]["usable"]), (&0.into(), &1.0.into()));
    assert_eq!(gateway.calls_with(OLD_KEY), 30);
}

#[tokio::test]
async fn one_call_too_many_fails_the_limit_certificate() {
    let (gateway, folder) = (Gateway::start(11, 10).await, tempfile::tempdir().unwrap());
    let path = scenario(folder.path(), FLOOD);
    let options = ["--scenario", path.to_str().unwrap(), "--key-env", "LT_KEY", "--json"];
    let run = loadtest_run(gateway.addr, &options, &KEY).await;
    assert_eq!(run.code, Some(3), "{}", run.stdout);
    let report = run.report();
    let failed: Vec<&Value> =
        report["checks"].as_array().unwrap().iter().filter(|check| check["passed"] == false).collect();
    assert_eq!(failed.len(), 2, "{report:#}");
    assert_eq!((&failed[0]["check"], &failed[0]["found"]), (&"admitted=exact".into(), &"no".into()));
    let fullest = report["limits"]["fullest"].as_str().unwrap();
    assert!(fullest.starts_with("11 calls in 60 s"), "{fullest}");
}

#[tokio::test]
async fn key_rotation_uses_both_keys_and_saves_new_one() {
    let (gateway, folder) = (Gateway::start(1000, 1000).await, tempfile::tempdir().unwrap());
    let path = scenario(
        folder.path(),
        "name = \"rotation\"\nstages = [\"2s:40\"]\nexpect = [\"admitted=exact\"]\n[[keys]]\nname = \"main\"\n\
         [[request]]\nname = \"main\"\npath = \"/x\"\nkeys = \"main\"\n[[event]]\nat = \"50%\"\nphase = \"rotated\"\nrotate-key = \"main\"\n",
    );
    let file = folder.path().join("new-key");
    let options = [
        "--scenario",
        path.to_str().unwrap(),
        "--key-env",
        "LT_KEY",
        "--new-key-file",
        file.to_str().unwrap(),
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

#[tokio::test]
async fn refused_key_and_unknown_path_fail_without_any_option() {
    let running = tools::start(BindAddress::LOOPBACK).await.unwrap();
    for code in ["401", "404", "429", "503"] {
        let path = format!("/status?code={code}");
        let options = ["--path", &path, "--rate", "5", "--duration", "1s"];
        let run = loadtest_run(running.addr(Tool::Seo), &options, &[]).await;
        assert_eq!(run.code, Some(3), "{}", run.stdout);
        assert!(
            run.stdout.contains(&format!("FAIL  every response is expected: 5 of 5: 5 × {code}")),
            "{}",
            run.stdout
        );
    }
}

/// A tool is stopped and started again, and the run measures how long it took.
const OUTAGE: &str = "name = \"outage\"\nstages = [\"3s:40\"]\nallow = [\"failed of main in stopped\"]\n\
                      expect = [\"failed of main in stopped = 100%\", \"success in before = 100%\", \"success in restarted = 100%\"]\n\
                      [[request]]\nname = \"main\"\npath = \"/x\"\n\
                      [[event]]\nat = \"33%\"\nphase = \"stopped\"\ntool = { name = \"qr\", do = \"stop\" }\n\
                      [[event]]\nat = \"66%\"\nphase = \"restarted\"\ntool = { name = \"qr\", do = \"start\" }\n";

#[tokio::test]
async fn outage_splits_the_run_into_phases_with_their_own_checks() {
    let (running, folder) =
        (tools::start(BindAddress::LOOPBACK).await.unwrap(), tempfile::tempdir().unwrap());
    let path = scenario(folder.path(), OUTAGE);
    let control = format!("http://{}", running.control());
    let options = ["--scenario", path.to_str().unwrap(), "--control", &control, "--json"];
    let run = loadtest_run(running.addr(Tool::Qr), &options, &[]).await;
    let report = run.report();
    assert_eq!(run.code, Some(0), "{report:#}");
    let phases: Vec<&str> =
        report["events"].as_array().unwrap().iter().map(|event| event["phase"].as_str().unwrap()).collect();
    assert_eq!(phases, ["stopped", "restarted"]);
    let recovery = &report["events"][1]["recoveries"][0];
    assert!(recovery["first_good_s"].as_f64().unwrap() > 0.0, "{report:#}");
    assert!(running.tool(Tool::Qr).is_listening().await);
}

#[tokio::test]
async fn interrupted_outage_leaves_tool_running() {
    let (running, folder) =
        (tools::start(BindAddress::LOOPBACK).await.unwrap(), tempfile::tempdir().unwrap());
    let path = scenario(folder.path(), OUTAGE);
    let control = format!("http://{}", running.control());
    let options =
        ["--scenario", path.to_str().unwrap(), "--control", &control, "--duration", "30m", "--rate", "1"];
    let mut child = command(running.addr(Tool::Qr), &options);
    let child =
        child.args(["--stage", "100ms:10", "--stage", "1h:1"]).stdout(Stdio::piped()).spawn().unwrap();
    while running.tool(Tool::Qr).counters().calls < 1 {
        tokio::task::yield_now().await;
    }
    running.tool(Tool::Qr).stop().await;
    let id = child.id().unwrap().to_string();
    assert!(std::process::Command::new("kill").args(["-INT", &id]).status().unwrap().success());
    let run = run_output(child.wait_with_output().await.unwrap());
    assert!(run.stdout.contains("interrupted"), "{}{}", run.stdout, run.stderr);
    assert!(running.tool(Tool::Qr).is_listening().await);
}

const KNEE: [&str; 5] = ["--path", "/v1/idea/x", "--key-env", "LT_KEY", "--quiet"];

/// A step that fails once by chance does not end the search.
#[tokio::test]
async fn knee_step_that_fails_once_is_repeated() {
    let gateway = Gateway::start_failing(1000, 1000, Some(2)).await;
    let options = [&KNEE[..], &["--knee", "5..6", "--duration", "1s"]].concat();
    let run = loadtest_run(gateway.addr, &options, &KEY).await;
    assert_eq!(run.code, Some(0), "{}{}", run.stdout, run.stderr);
    let steps: Vec<&str> = run.stdout.lines().filter(|line| line.starts_with("step ")).collect();
    assert!(steps.len() == 2 && steps[0].contains("5/s passed 2 of 3 times"), "{steps:?}");
    assert!(steps[0].contains("503") && steps[1].contains("6/s passed, p99"), "{steps:?}");
    assert!(run.stdout.contains("PASS  the highest rate at which all checks pass: 6/s"), "{}", run.stdout);
}

/// 429 are the limit of the keys, and say nothing about the gateway.
#[tokio::test]
async fn knee_at_the_limit_of_keys_names_the_keys_needed() {
    let gateway = Gateway::start(7, 7).await;
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("run.bin");
    std::fs::write(&log, "the log of an earlier run").unwrap();
    let options = ["--knee", "5..60", "--duration", "1s", "--log", log.to_str().unwrap()];
    let run = loadtest_run(gateway.addr, &[&KNEE[..], &options].concat(), &KEY).await;
    assert_eq!(run.code, Some(3), "{}{}", run.stdout, run.stderr);
    // 3,600 calls a minute with 80 % of 7 each.
    assert!(run.stdout.contains("643 keys of 7 calls a minute are needed for 60/s"), "{}", run.stdout);
    let failed: Vec<&str> = run.stdout.lines().filter(|line| line.contains("failed 2 of")).collect();
    assert!(failed.len() == 1 && failed[0].starts_with("step "), "{}", run.stdout);
    // The log is that of the step that passed: five calls.
    let report = Command::new(env!("CARGO_BIN_EXE_loadtest")).arg("report").arg(&log).arg("--json").output();
    assert_eq!(run_output(report.await.unwrap()).report()["calls"]["due"], 5);
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
}

/// An event that fails half-way ends the run, and what was measured until then is kept.
#[tokio::test]
async fn run_that_an_event_breaks_leaves_its_reports() {
    let (gateway, folder) = (Gateway::start(1000, 1000).await, tempfile::tempdir().unwrap());
    let path = scenario(
        folder.path(),
        "name = \"broken\"\nstages = [\"20m:20\"]\n[[request]]\nname = \"main\"\npath = \"/x\"\n\
         [[event]]\nat = \"500ms\"\nphase = \"after\"\nhook = \"fail\"\n",
    );
    let file = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let [log, json, html, csv] = ["run.bin", "run.json", "run.html", "run.csv"].map(file);
    let reports = ["--log", &log, "--json-file", &json, "--html-file", &html, "--csv-file", &csv];
    let around = ["--scenario", path.to_str().unwrap(), "--hook", "fail=echo no; exit 7"];
    let run = loadtest_run(gateway.addr, &[&around[..], &reports].concat(), &[]).await;
    assert_eq!(run.code, Some(1), "{}{}", run.stdout, run.stderr);
    for text in [&run.stdout, &run.stderr] {
        assert!(text.contains("hook `fail`") && text.contains("exit status: 7"), "{text}");
    }
    let report: Value = serde_json::from_str(&std::fs::read_to_string(&json).unwrap()).unwrap();
    assert!(report["end"]["broken"].is_string() && report["calls"]["due"].as_u64() > Some(0), "{report:#}");
    assert!(std::fs::read_to_string(&html).unwrap().contains("because of an error"));
    assert!(std::fs::read_to_string(&csv).unwrap().lines().count() > 1);
    let saved = Command::new(env!("CARGO_BIN_EXE_loadtest")).args(["report", &log, "--json"]).output();
    let saved = run_output(saved.await.unwrap());
    assert_eq!((saved.code, &saved.report()["calls"]), (Some(1), &report["calls"]), "{}", saved.stderr);
}

#[tokio::test]
async fn wrong_event_is_found_before_the_first_call() {
    let (gateway, folder) = (Gateway::start(1000, 1000).await, tempfile::tempdir().unwrap());
    let control = format!("http://{}", gateway.addr);
    for (action, named) in [
        ("tool = { name = \"idee\", do = \"stop\" }", "unknown tool `idee`"),
        ("tool = { name = \"idea\", do = \"stopp\" }", "`do = stopp`"),
        ("tool = { name = \"idea\", set = { error_rat = 1 } }", "error_rat"),
        ("request = { path = \"/x\", keys = \"nobody\" }", "unknown keys `nobody`"),
    ] {
        let text = format!(
            "name = \"typo\"\nstages = [\"1s:5\"]\n[[keys]]\nname = \"main\"\n[[request]]\nname = \"main\"\n\
             path = \"/x\"\nkeys = \"main\"\n[[event]]\nat = \"90%\"\nphase = \"late\"\n{action}\n"
        );
        let path = scenario(folder.path(), &text);
        let options =
            ["--scenario", path.to_str().unwrap(), "--key-env", "LT_KEY", "--control", control.as_str()];
        let run = loadtest_run(gateway.addr, &options, &KEY).await;
        assert!(run.code == Some(1) && run.stderr.contains(named), "{}{}", run.stdout, run.stderr);
        assert!(run.stderr.contains("event `late`"), "{}", run.stderr);
    }
    assert_eq!(gateway.calls_with(OLD_KEY), 0);
}

/// Five calls that wait for the only connection are five good calls.
#[tokio::test]
async fn few_good_calls_of_a_slow_gateway_pass_with_a_warning() {
    let running = tools::start(BindAddress::LOOPBACK).await.unwrap();
    let slow = tools::Settings { latency: std::time::Duration::from_millis(300), ..Default::default() };
    running.tool(Tool::Seo).set(slow);
    let run = |options: &'static [&'static str]| {
        let url = format!("http://{}", running.addr(Tool::Seo));
        let mut command = Command::new(env!("CARGO_BIN_EXE_loadtest"));
        let load = ["--path", "/any", "--rate", "5", "--duration", "1s", "--connections", "1"];
        command.args(["run", "--url", &url]).args(load).args(options);
        async move { run_output(command.output().await.unwrap()) }
    };
    let few = run(&[]).await;
    assert_eq!(few.code, Some(0), "{}{}", few.stdout, few.stderr);
    assert!(few.stdout.contains("WARN  calls find a free connection"), "{}", few.stdout);
    for judged in [&["--fail-if", "p99>60s"][..], &["--max-send-lag", "1ms"]] {
        let judged = run(judged).await;
        assert_eq!(judged.code, Some(3), "{}{}", judged.stdout, judged.stderr);
    }
}
