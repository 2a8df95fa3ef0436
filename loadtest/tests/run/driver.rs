//! What is sent, when, and how it is measured.

use std::net::SocketAddr;
use std::process::Stdio;
use std::time::Duration;

use loadtest::tools::{self, BindAddress, Fault, FaultKind, Settings};
use shared::tool::Tool;

use crate::loadtest_run::{command, finished, loadtest_run};

#[tokio::test]
async fn every_call_is_sent_once_at_the_rate_that_was_asked_for() {
    let running = tools::start(BindAddress::LOOPBACK).await.unwrap();
    let options = ["--path", "/any", "--rate", "200", "--seconds", "2", "--connections", "4", "--json"];
    let run = loadtest_run(running.addr(Tool::Seo), &options, &[]).await;
    let report = run.report();
    assert_eq!(run.code, Some(0), "{report:#}");
    assert_eq!(run.calls_with(200), 400);
    let counters = running.tool(Tool::Seo).counters();
    assert_eq!((counters.calls, counters.connections), (400, 4));
    let rate = report["achieved_rate"].as_f64().unwrap();
    assert!((50.0..=200.0).contains(&rate), "{rate}");
    assert!(report["bytes_received"].as_u64().unwrap() > 400 * 100);
}

#[tokio::test]
async fn calls_that_wait_behind_a_slow_one_are_measured_from_when_they_were_due() {
    let running = tools::start(BindAddress::LOOPBACK).await.unwrap();
    running.tool(Tool::Seo).set(Settings { latency: Duration::from_millis(100), ..Settings::default() });
    // Twenty calls of 100 ms, due within one second, on one connection: the last is answered a second late.
    let options = ["--path", "/any", "--rate", "20", "--seconds", "1", "--connections", "1", "--json"];
    let report = loadtest_run(running.addr(Tool::Seo), &options, &[]).await.report();
    let latency = &report["rows"][0]["latency_ms"];
    assert!(latency["max"].as_f64().unwrap() >= 1000.0, "{report:#}");
    assert!(report["send_lag_ms"]["max"].as_f64().unwrap() >= 900.0, "{report:#}");
}

#[tokio::test]
async fn a_post_carries_its_body_type_and_key_and_the_key_is_shown_nowhere() {
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
            "--seconds",
            "1",
        ];
        options.extend(format);
        let run = loadtest_run(running.addr(Tool::Seo), &options, &[("LT_KEY", secret)]).await;
        assert_eq!(run.code, Some(0), "{}", run.stderr);
        assert!(run.stdout.contains("POST http://127.0.0.1:"), "{}", run.stdout);
        assert!(!run.stdout.contains(secret) && !run.stderr.contains(secret));
    }
    // `echo` streams the body back: as many bytes as were sent.
    let echo = ["--path", "/echo", "--body", r#"{"a":1}"#, "--rate", "5", "--seconds", "1", "--json"];
    assert_eq!(loadtest_run(running.addr(Tool::Seo), &echo, &[]).await.report()["bytes_received"], 35);
}

#[tokio::test]
async fn failures_are_told_apart_and_break_the_expectation() {
    let running = tools::start(BindAddress::LOOPBACK).await.unwrap();
    let addr = running.addr(Tool::Pdf);
    let cases = [
        (FaultKind::Reset, "no answer"),
        (FaultKind::Garbage, "no answer"),
        (FaultKind::HalfResponse, "answer cut off"),
        (FaultKind::Hang, "timed out"),
    ];
    for (kind, told) in cases {
        running
            .tool(Tool::Pdf)
            .set(Settings { fault: Some(Fault { kind, probes: false }), ..Settings::default() });
        let options = [
            "--path",
            "/any",
            "--rate",
            "3",
            "--seconds",
            "1",
            "--connections",
            "3",
            "--timeout",
            "1",
            "--json",
        ];
        let run = loadtest_run(addr, &options, &[]).await;
        let report = run.report();
        assert_eq!(run.code, Some(3), "{report:#}");
        assert_eq!(
            (&report["rows"][0]["code"], &report["calls"]["failed"]),
            (&told.into(), &3.into()),
            "{report:#}"
        );
    }
}

#[tokio::test]
async fn a_run_over_a_bound_or_against_another_machine_sends_nothing() {
    let running = tools::start(BindAddress::LOOPBACK).await.unwrap();
    let addr = running.addr(Tool::Seo);
    let elsewhere: SocketAddr = "192.0.2.1:80".parse().unwrap();
    let cases: [(SocketAddr, &[&str], &str); 6] = [
        (addr, &["--seconds", "61"], "--max-seconds"),
        (addr, &["--rate", "100000", "--seconds", "2"], "--max-calls"),
        (addr, &["--key-env", "LT_NO_SUCH_VARIABLE"], "LT_NO_SUCH_VARIABLE"),
        (addr, &["--scenario", "tool-dies", "--seconds", "20"], "36"),
        (addr, &["--scenario", "tool-dies", "--seconds", "40", "--path", "/any"], "/v1/{tool}"),
        (elsewhere, &[], "--allow-remote"),
    ];
    for (addr, options, named) in cases {
        let run = loadtest_run(addr, options, &[]).await;
        assert_eq!(run.code, Some(1), "{}", run.stdout);
        assert!(run.stderr.contains(named), "{}", run.stderr);
    }
    assert_eq!(running.tool(Tool::Seo).counters().connections, 0);
}

#[tokio::test]
async fn a_target_that_does_not_listen_is_named() {
    let running = tools::start(BindAddress::LOOPBACK).await.unwrap();
    running.tool(Tool::Seo).stop().await;
    let addr = running.addr(Tool::Seo);
    let run = loadtest_run(addr, &[], &[]).await;
    assert_eq!(run.code, Some(1));
    assert!(run.stderr.contains(&format!("http://{addr}: Connection refused")), "{}", run.stderr);
}

#[tokio::test]
async fn a_signal_ends_a_run_early_with_a_report_of_what_there_is() {
    let running = tools::start(BindAddress::LOOPBACK).await.unwrap();
    for signal in ["-INT", "-TERM"] {
        running.tool(Tool::Seo).reset().await.unwrap();
        let options = ["--path", "/any", "--rate", "20", "--seconds", "60", "--json"];
        let child = command(running.addr(Tool::Seo), &options).stdout(Stdio::piped()).spawn().unwrap();
        while running.tool(Tool::Seo).counters().calls < 5 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        let id = child.id().unwrap().to_string();
        assert!(std::process::Command::new("kill").args([signal, &id]).status().unwrap().success());
        let run = finished(child.wait_with_output().await.unwrap());
        let report = run.report();
        assert_eq!((run.code, report["interrupted"].as_bool()), (Some(0), Some(true)));
        let answered = report["calls"]["answered"].as_u64().unwrap();
        assert_eq!(answered, running.tool(Tool::Seo).counters().calls);
        assert!(answered < 600, "{answered}");
    }
}
