//! Saved runs, and two gateways side by side.

use std::time::Duration;

use loadtest::tools::{self, BindAddress, RunningTools, Settings};
use shared::tool::Tool;
use tokio::process::Command;

use crate::loadtest_run::{RunOutput, loadtest_run, run_output};

/// Tools of which `seo` is as slow as this.
async fn slow(millis: u64) -> RunningTools {
    let running = tools::start(BindAddress::LOOPBACK).await.unwrap();
    let latency = Duration::from_millis(millis);
    running.tool(Tool::Seo).set(Settings { latency, ..Settings::default() });
    running
}

async fn saved(options: &[&str]) -> RunOutput {
    run_output(Command::new(env!("CARGO_BIN_EXE_loadtest")).args(options).output().await.unwrap())
}

/// What is unclear from raw logs is unclear from JSON reports, and what is worse is worse.
#[tokio::test]
async fn json_reports_are_compared_as_raw_logs_are() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    for (name, millis) in [("fast", 5), ("slow", 60)] {
        let running = slow(millis).await;
        let (log, json) = (file(&format!("{name}.bin")), file(&format!("{name}.json")));
        let load =
            ["--path", "/any", "--rate", "60", "--duration", "2s", "--log", &log, "--json-file", &json];
        assert_eq!(loadtest_run(running.addr(Tool::Seo), &load, &[]).await.code, Some(0));
    }
    let [logs, reports] =
        ["bin", "json"].map(|kind| ["fast", "slow"].map(|name| file(&format!("{name}.{kind}"))));
    let [by_logs, by_reports] =
        [saved(&["compare", &logs[0], &logs[1]]).await, saved(&["compare", &reports[0], &reports[1]]).await];
    assert_eq!(by_logs.code, Some(3), "{}", by_logs.stdout);
    // A raw log has microseconds, and a report all digits.
    let verdicts = |output: &RunOutput| -> Vec<String> {
        let words = output.stdout.lines().map(|line| line.split("  ").last().unwrap_or_default().to_owned());
        words.filter(|word| word.chars().all(char::is_alphabetic)).collect()
    };
    assert!(verdicts(&by_logs).contains(&"WORSE".to_owned()), "{}", by_logs.stdout);
    assert_eq!((by_reports.code, verdicts(&by_reports)), (by_logs.code, verdicts(&by_logs)));
    assert_eq!(saved(&["compare", &reports[0], &reports[0]]).await.code, Some(0));
}

#[tokio::test]
async fn runs_of_different_paths_are_not_compared() {
    let (running, folder) = (slow(0).await, tempfile::tempdir().unwrap());
    let file = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let [one, two] = ["one.bin", "two.bin"].map(file);
    for (path, log) in [("/one", &one), ("/two", &two)] {
        let load = ["--path", path, "--rate", "20", "--duration", "1s", "--log", log];
        assert_eq!(loadtest_run(running.addr(Tool::Seo), &load, &[]).await.code, Some(0));
    }
    let output = saved(&["compare", &one, &two]).await;
    assert_eq!(output.code, Some(1), "{}", output.stdout);
    let expected = "the list of paths is `GET /two`, and that of the other run `GET /one`";
    assert!(output.stderr.contains(expected), "{}", output.stderr);
    assert_eq!(saved(&["compare", &one, &two, "--anyway", "--noise", "900%"]).await.code, Some(0));
}

#[tokio::test]
async fn gateways_are_compared_while_calls_take_turns() {
    let (fast, slow, folder) = (slow(5).await, slow(60).await, tempfile::tempdir().unwrap());
    let log = folder.path().join("run.bin").to_str().unwrap().to_owned();
    let url = |running: &RunningTools| format!("http://{}", running.addr(Tool::Seo));
    let (fast_url, slow_url) = (url(&fast), url(&slow));
    let load = ["--path", "/any", "--rate", "60", "--duration", "2s", "--log", &log];
    let worse = [&load[..], &["--against", &slow_url]].concat();
    let run = loadtest_run(fast.addr(Tool::Seo), &worse, &[]).await;
    assert_eq!(run.code, Some(3), "{}{}", run.stdout, run.stderr);
    assert!(run.stdout.contains("WORSE") && run.stdout.contains("(after)"), "{}", run.stdout);
    // Of 120 calls each got every second one.
    for running in [&fast, &slow] {
        assert_eq!(running.tool(Tool::Seo).counters().calls, 60);
    }
    let better = [&load[..], &["--against", &fast_url]].concat();
    let run = loadtest_run(slow.addr(Tool::Seo), &better, &[]).await;
    assert_eq!(run.code, Some(0), "{}{}", run.stdout, run.stderr);
    for name in ["run.a.bin", "run.b.bin"] {
        assert!(folder.path().join(name).exists(), "{name}");
    }
}

/// The report says with what the run was made.
#[tokio::test]
async fn report_names_machine_and_command_without_secrets() {
    let running = slow(0).await;
    let load = ["--path", "/any", "--rate", "5", "--duration", "1s", "--json", "--header", "X-API-Key: hush"];
    let run = loadtest_run(running.addr(Tool::Seo), &load, &[]).await;
    let report = run.report();
    let command = report["run"]["command"].as_str().unwrap();
    assert!(command.starts_with("loadtest run --url http://"), "{command}");
    assert!(command.contains("--rate 5") && !run.stdout.contains("hush"), "{command}");
    assert!(report["run"]["machine"].as_str().unwrap().contains(" × "), "{report:#}");
    assert_eq!(report["run"]["paths"], serde_json::json!(["GET /any"]));
}
