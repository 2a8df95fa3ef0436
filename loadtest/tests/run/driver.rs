//! The driver: calls sent, their timing, failures and bounds.

use std::net::SocketAddr;
use std::process::Stdio;
use std::time::Duration;

use loadtest::tools::{self, BindAddress, Fault, FaultKind, Settings};
use shared::tool::Tool;

use crate::loadtest_run::{command, loadtest_run, run_output};

#[tokio::test]
async fn each_due_call_is_sent_once() {
    let running = tools::start(BindAddress::LOOPBACK).await.unwrap();
    let options = ["--path", "/any", "--rate", "200", "--duration", "2s", "--connections", "4", "--json"];
    let run = loadtest_run(running.addr(Tool::Seo), &options, &[]).await;
    let report = run.report();
    assert_eq!(run.code, Some(0), "{report:#}");
    assert_eq!(run.calls_with(200), 400);
    let counters = running.tool(Tool::Seo).counters();
    assert_eq!((counters.calls, counters.connections), (400, 4));
    let rate = report["achieved_rate"].as_f64().unwrap();
    assert!(rate > 0.0 && rate <= 200.0, "{rate}");
    assert!(report["bytes_received"].as_u64().unwrap() > 400 * 100);
}

#[tokio::test]
async fn latency_includes_wait_for_busy_connection() {
    let running = tools::start(BindAddress::LOOPBACK).await.unwrap();
    running.tool(Tool::Seo).set(Settings { latency: Duration::from_millis(100), ..Settings::default() });
    // Twenty calls of 100 ms, due within one second, on one connection: the last completes a second
    // late.
    let options = ["--path", "/any", "--rate", "20", "--duration", "1s", "--connections", "1", "--json"];
    let report = loadtest_run(running.addr(Tool::Seo), &options, &[]).await.report();
    let latency = &report["rows"][0]["latency_ms"];
    assert!(latency["max"].as_f64().unwrap() >= 1000.0, "{report:#}");
    assert!(report["send_lag_ms"]["max"].as_f64().unwrap() >= 900.0, "{report:#}");
}

#[tokio::test]
async fn post_sends_body_and_key_and_prints_no_key() {
    let running = tools::start(BindAddress::LOOPBACK).await.unwrap();
    let secret = "utg_test_0123456789secret";
    for format in [&[][..], &["--json"]] {
        let mut options = vec![
            "--path",
            "/any?a=1",
            "--body",
            r#"{"a":1}"#,
            "--key-env",
            "LT_KEY",
            "--rate",
            "5",
            "--duration",
            "1s",
        ];
        options.extend(format);
        let run = loadtest_run(running.addr(Tool::Seo), &options, &[("LT_KEY", secret)]).await;
        assert_eq!(run.code, Some(0), "{}", run.stderr);
        assert!(!run.stdout.contains(secret) && !run.stderr.contains(secret));
    }
    // `echo` streams the body back: as many bytes as were sent.
    let echo = ["--path", "/echo", "--body", r#"{"a":1}"#, "--rate", "5", "--duration", "1s", "--json"];
    assert_eq!(loadtest_run(running.addr(Tool::Seo), &echo, &[]).await.report()["bytes_received"], 35);
}

#[tokio::test]
async fn failures_are_reported_by_cause_and_fail_the_check() {
    let running = tools::start(BindAddress::LOOPBACK).await.unwrap();
    let addr = running.addr(Tool::Pdf);
    let cases = [
        (FaultKind::Reset, "no response"),
        (FaultKind::Garbage, "no response"),
        (FaultKind::HalfResponse, "response truncated"),
        (FaultKind::Hang, "timed out"),
    ];
    for (kind, code) in cases {
        running
            .tool(Tool::Pdf)
            .set(Settings { fault: Some(Fault { kind, probes: false }), ..Settings::default() });
        let options = [
            "--path",
            "/any",
            "--rate",
            "3",
            "--duration",
            "1s",
            "--connections",
            "3",
            "--timeout",
            "1s",
            "--json",
        ];
        let run = loadtest_run(addr, &options, &[]).await;
        let report = run.report();
        assert_eq!(run.code, Some(3), "{report:#}");
        assert_eq!(
            (&report["rows"][0]["code"], &report["calls"]["failed"]),
            (&code.into(), &3.into()),
            "{report:#}"
        );
    }
}

#[tokio::test]
async fn invalid_run_sends_nothing_and_names_the_option() {
    let running = tools::start(BindAddress::LOOPBACK).await.unwrap();
    let addr = running.addr(Tool::Seo);
    let elsewhere: SocketAddr = "192.0.2.1:80".parse().unwrap();
    let any = ["--path", "/any"];
    let cases: [(SocketAddr, &[&str], &str); 11] = [
        (addr, &["--duration", "2h"], "--unbounded"),
        (addr, &["--rate", "10000000", "--duration", "10s"], "--unbounded"),
        (addr, &["--key-env", "LT_NO_SUCH_VARIABLE"], "LT_NO_SUCH_VARIABLE"),
        (addr, &["--scenario", "no-such-scenario"], "no-such-scenario"),
        (addr, &["--expect", "p99>50"], "p99>50"),
        (addr, &["--fail-if", "p99 of nobody>50ms"], "nobody"),
        (addr, &["--allow", "9xx"], "9xx"),
        (addr, &["--stage", "10s"], "10s"),
        (addr, &["--header", "a"], "NAME: VALUE"),
        (addr, &["--shard", "3/2"], "3/2"),
        (elsewhere, &[], "--allow-remote"),
    ];
    for (addr, options, named) in cases {
        let run = loadtest_run(addr, &[&any, options].concat(), &[]).await;
        assert_eq!(run.code, Some(1), "{}", run.stdout);
        assert!(run.stderr.contains(named), "{}", run.stderr);
    }
    assert_eq!(running.tool(Tool::Seo).counters().calls, 0);
}

#[tokio::test]
async fn refused_connect_names_the_target() {
    let running = tools::start(BindAddress::LOOPBACK).await.unwrap();
    running.tool(Tool::Seo).stop().await;
    let addr = running.addr(Tool::Seo);
    let run = loadtest_run(addr, &["--path", "/any"], &[]).await;
    assert_eq!(run.code, Some(1));
    assert!(run.stderr.contains(&format!("http://{addr}: Connection refused")), "{}", run.stderr);
}

#[tokio::test]
async fn signal_ends_run_early_with_report() {
    let running = tools::start(BindAddress::LOOPBACK).await.unwrap();
    for signal in ["-INT", "-TERM"] {
        running.tool(Tool::Seo).reset().await.unwrap();
        let options = ["--path", "/any", "--rate", "20", "--duration", "60s", "--json"];
        let child = command(running.addr(Tool::Seo), &options).stdout(Stdio::piped()).spawn().unwrap();
        while running.tool(Tool::Seo).counters().calls < 5 {
            tokio::task::yield_now().await;
        }
        let id = child.id().unwrap().to_string();
        assert!(std::process::Command::new("kill").args([signal, &id]).status().unwrap().success());
        let run = run_output(child.wait_with_output().await.unwrap());
        let report = run.report();
        assert_eq!((run.code, report["interrupted"].as_bool()), (Some(0), Some(true)));
        let completed = report["calls"]["completed"].as_u64().unwrap();
        assert_eq!(completed, running.tool(Tool::Seo).counters().calls);
        assert!(completed < 20 * 60, "{completed}");
    }
}
