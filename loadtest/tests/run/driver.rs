//! The driver: calls sent, their timing, failures and bounds.

use std::net::SocketAddr;
use std::process::Stdio;
use std::time::Duration;

use loadtest::tools::{self, BindAddress, Fault, FaultKind, Settings};
use shared::tool::Tool;
use tokio::process::Command;

use crate::honest::{Honest, Lie};
use crate::loadtest_run::{RunOutput, command, loadtest_run, run_output};

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
async fn body_is_compared_with_its_digest() {
    let running = tools::start(BindAddress::LOOPBACK).await.unwrap();
    let addr = running.addr(Tool::Pdf);
    let other = "/headers?repr-digest=sha-256%3D%3A47DEQpj8HBSa%2B%2FTImW%2B5JCeuQeRkm5NMpJWZG3hSuFU%3D%3A";
    for (path, code) in [("/bytes?n=300000&digest=1", None), (other, Some("response corrupt"))] {
        let options = ["--path", path, "--rate", "3", "--duration", "1s", "--json"];
        let report = loadtest_run(addr, &options, &[]).await.report();
        let row = &report["rows"][0];
        assert_eq!((row["code"].as_str(), &row["calls"]), (code, &3.into()), "{report:#}");
    }
}

#[tokio::test]
async fn invalid_run_sends_nothing_and_names_the_option() {
    let running = tools::start(BindAddress::LOOPBACK).await.unwrap();
    let addr = running.addr(Tool::Seo);
    let elsewhere: SocketAddr = "192.0.2.1:80".parse().unwrap();
    let any = ["--path", "/any"];
    let cases: [(SocketAddr, &[&str], &str); 17] = [
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
        (addr, &["--html-file", "/no/such/folder/run.html"], "cannot write to /no/such/folder/run.html"),
        (addr, &["--json-file", "/"], "cannot write to /"),
        (addr, &["--log", "/no/such/folder/run.bin"], "cannot write to /no/such/folder/run.bin"),
        (addr, &["--body", "{bad"], "the body `{bad` is not JSON"),
        (addr, &["--http2"], "does not speak HTTP/2 without TLS"),
        (addr, &["--shard", "1/2", "--knee", "5..10"], "--shard"),
    ];
    for (addr, options, named) in cases {
        let run = loadtest_run(addr, &[&any, options].concat(), &[]).await;
        let is_usage = options.contains(&"--knee");
        assert_eq!(run.code, Some(if is_usage { 2 } else { 1 }), "{}", run.stdout);
        assert!(run.stderr.contains(named), "{}", run.stderr);
    }
    assert_eq!(running.tool(Tool::Seo).counters().calls, 0);
}

/// The exit code of a command line that is not one, which the README documents.
#[tokio::test]
async fn invalid_command_line_exits_2_and_shows_what_is_expected() {
    let nowhere: SocketAddr = "127.0.0.1:9".parse().unwrap();
    let cases: [(&[&str], &str); 3] = [
        (&["--knee", "100"], "for example 100..5000"),
        (&["--duration", "30"], "for example 500ms"),
        (&["--rat", "5"], "--rate"),
    ];
    for (options, named) in cases {
        let run = loadtest_run(nowhere, options, &[]).await;
        assert_eq!(run.code, Some(2), "{}", run.stderr);
        assert!(run.stderr.contains(named), "{}", run.stderr);
    }
}

#[tokio::test]
async fn body_with_a_type_of_its_own_may_be_anything() {
    let running = tools::start(BindAddress::LOOPBACK).await.unwrap();
    let options =
        ["--path", "/echo", "--body", "{bad", "--header", "Content-Type: text/plain", "--rate", "2"];
    let run =
        loadtest_run(running.addr(Tool::Seo), &[&options[..], &["--duration", "1s"]].concat(), &[]).await;
    assert_eq!(run.code, Some(0), "{}{}", run.stdout, run.stderr);
}

/// A slow server keeps the only connection busy: the driver is not to blame.
#[tokio::test]
async fn wait_for_busy_connection_is_not_the_drivers_lag() {
    let running = tools::start(BindAddress::LOOPBACK).await.unwrap();
    running.tool(Tool::Seo).set(Settings { latency: Duration::from_millis(300), ..Settings::default() });
    let load = ["--path", "/any", "--rate", "10", "--duration", "1s", "--connections", "1"];
    let options = [&load[..], &["--max-send-lag", "100ms", "--json"]].concat();
    let run = loadtest_run(running.addr(Tool::Seo), &options, &[]).await;
    let report = run.report();
    assert_eq!(run.code, Some(3), "{report:#}");
    let max = |lag: &str| report[lag]["max"].as_f64().unwrap();
    // The last of ten calls is due after 0.9 s, and nine calls of 0.3 s come before it.
    assert!(max("connection_wait_ms") >= 1700.0, "{report:#}");
    assert!(max("wake_lag_ms") < max("connection_wait_ms"), "{report:#}");
    let checks = report["checks"].as_array().unwrap();
    let check = checks.iter().find(|check| check["check"].as_str().unwrap().contains("free connection"));
    assert_eq!(check.unwrap()["passed"], false, "{report:#}");
    assert!(check.unwrap()["found"].as_str().unwrap().contains("--connections"), "{report:#}");
}

#[tokio::test]
async fn run_is_aborted_once_a_check_can_no_longer_pass() {
    let running = tools::start(BindAddress::LOOPBACK).await.unwrap();
    let load = ["--path", "/status?code=503", "--rate", "20", "--abort-on-fail", "--json"];
    for conditions in [&["--duration", "30m"][..], &["--duration", "20s", "--expect", "success>=90%"]] {
        let options = [&load[..], conditions].concat();
        let run = loadtest_run(running.addr(Tool::Seo), &options, &[]).await;
        let report = run.report();
        assert_eq!((run.code, &report["passed"]), (Some(3), &false.into()), "{report:#}");
        assert!(report["end"]["aborted"].is_string(), "{report:#}");
        assert!(report["calls"]["due"].as_u64() < report["run"]["scheduled"].as_u64(), "{report:#}");
    }
}

/// The log of a driver that was killed has all but its last second of calls.
#[tokio::test]
async fn log_of_a_killed_run_is_readable() {
    let running = tools::start(BindAddress::LOOPBACK).await.unwrap();
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("run.bin");
    let options = ["--path", "/any", "--rate", "4", "--duration", "50m", "--log", log.to_str().unwrap()];
    let mut child = command(running.addr(Tool::Seo), &options).stdout(Stdio::null()).spawn().unwrap();
    let report = loop {
        let report =
            Command::new(env!("CARGO_BIN_EXE_loadtest")).arg("report").arg(&log).arg("--json").output();
        let report = run_output(report.await.unwrap());
        if !report.stdout.is_empty() {
            break report;
        }
        assert!(report.code == Some(1), "{}", report.stderr);
    };
    // The buffer of the log has room for 200 calls, which are 50 seconds of this run.
    assert!(running.tool(Tool::Seo).counters().calls < 100);
    child.kill().await.unwrap();
    assert_eq!((report.code, &report.report()["end"]), (Some(130), &"interrupted".into()));
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
        assert_eq!(
            (run.code, &report["end"], &report["passed"]),
            (Some(130), &"interrupted".into(), &false.into())
        );
        let completed = report["calls"]["completed"].as_u64().unwrap();
        assert_eq!(completed, running.tool(Tool::Seo).counters().calls);
        assert!(completed < 20 * 60, "{completed}");
    }
}

async fn saved(options: &[&str]) -> RunOutput {
    run_output(Command::new(env!("CARGO_BIN_EXE_loadtest")).args(options).output().await.unwrap())
}

#[tokio::test]
async fn saved_runs_that_prove_nothing_are_errors() {
    let running = tools::start(BindAddress::LOOPBACK).await.unwrap();
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let [slow, fast, empty] = ["slow.bin", "fast.bin", "empty.bin"].map(file);
    for (log, rate) in [(&slow, "5"), (&fast, "10")] {
        let options = ["--path", "/any", "--rate", rate, "--duration", "1s", "--log", log];
        assert_eq!(loadtest_run(running.addr(Tool::Seo), &options, &[]).await.code, Some(0));
    }
    std::fs::write(&empty, "").unwrap();
    let cases: [(&[&str], &str); 3] = [
        (&["report", &empty], "the file is empty"),
        (&["compare", &slow, &fast], "the load is `1s:10`, and that of the other run `1s:5`"),
        (&["merge", "-o", &slow, &slow], "expected another file for --output"),
    ];
    for (options, named) in cases {
        let output = saved(options).await;
        assert_eq!(output.code, Some(1), "{}", output.stdout);
        assert!(output.stderr.contains(named), "{}", output.stderr);
    }
    let output = saved(&["compare", &slow, &fast, "--anyway"]).await;
    assert!(output.stdout.contains("95 % interval"), "{}{}", output.stdout, output.stderr);
    assert_eq!(saved(&["report", &slow, "--text"]).await.code, Some(0));
}

/// Calls that wait for a connection when a run is stopped get five more seconds, as at its planned end.
#[tokio::test]
async fn interrupted_run_does_not_send_all_of_its_backlog() {
    let running = tools::start(BindAddress::LOOPBACK).await.unwrap();
    running.tool(Tool::Seo).set(Settings { latency: Duration::from_millis(500), ..Settings::default() });
    let load = ["--path", "/any", "--rate", "400", "--duration", "40m", "--connections", "1", "--json"];
    let child = command(running.addr(Tool::Seo), &load).stdout(Stdio::piped()).spawn().unwrap();
    while running.tool(Tool::Seo).counters().calls < 2 {
        tokio::task::yield_now().await;
    }
    let id = child.id().unwrap().to_string();
    assert!(std::process::Command::new("kill").args(["-INT", &id]).status().unwrap().success());
    let run = run_output(child.wait_with_output().await.unwrap());
    let report = run.report();
    assert_eq!((run.code, &report["end"]), (Some(130), &"interrupted".into()), "{report:#}");
    assert!(report["calls"]["not_sent"].as_u64().unwrap() > 0, "{report:#}");
}

/// A gateway on a busy machine refused the only attempt, and the run measured the limit of its key in
/// place of the gateway.
#[tokio::test]
async fn limits_of_given_keys_are_read_again_and_the_report_says_if_they_are_unknown() {
    let options = ["--path", "/v1/idea/x", "--key-env", "LT_KEY", "--rate", "150", "--duration", "1s"];
    let gateway = Honest::start(Lie::LimitsUnavailable(2)).await;
    let run = loadtest_run(gateway.addr, &options, &[("LT_KEY", "pro-1")]).await;
    assert_eq!(run.code, Some(1), "{}{}", run.stdout, run.stderr);
    assert!(
        run.stderr.contains("1 of 100 calls a minute") && run.stderr.contains("2 keys"),
        "{}",
        run.stderr
    );

    let gateway = Honest::start(Lie::LimitsUnavailable(3)).await;
    let run = loadtest_run(gateway.addr, &options, &[("LT_KEY", "pro-1")]).await;
    let note = "the limits of the given keys are not checked: GET http://";
    assert!(run.stdout.contains(note) && run.stdout.contains("returned 503"), "{}{}", run.stdout, run.stderr);
}
