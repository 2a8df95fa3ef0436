//! `loadtest certify` against the fake gateway.

use tokio::process::Command;

use crate::gateway::Gateway;
use crate::loadtest_run::{RunOutput, run_output};

async fn certify(gateway: &Gateway, options: &[&str]) -> RunOutput {
    let mut command = Command::new(env!("CARGO_BIN_EXE_loadtest"));
    command.args(["certify", &format!("http://{}", gateway.addr), "--header", "x-api-key: k"]).args(options);
    run_output(command.kill_on_drop(true).output().await.unwrap())
}

/// Every call is sent: the steady window, the call that opens one, and the burst.
#[tokio::test]
async fn gateway_that_keeps_the_limit_is_exact() {
    let gateway = Gateway::start(4, 4).await;
    let output = certify(&gateway, &["--policy", "4/1s"]).await;
    assert_eq!(output.code, Some(0), "{}{}", output.stdout, output.stderr);
    assert!(output.stdout.contains("25: 4 admitted, 21 refused, 0 failed"), "{}", output.stdout);
    assert_eq!(gateway.calls_with("k"), 25);
}

#[tokio::test]
async fn gateway_that_exceeds_the_limit_gets_no_certificate() {
    let gateway = Gateway::start(1_000, 4).await;
    let output = certify(&gateway, &["--policy", "4/1s", "--path", "/v1/idea/generate"]).await;
    assert_eq!(output.code, Some(3), "{}{}", output.stdout, output.stderr);
    assert!(output.stdout.contains("certificate      FAILED: a window held"), "{}", output.stdout);
}

#[tokio::test]
async fn invalid_limit_is_refused() {
    let gateway = Gateway::start(1, 1).await;
    let output = certify(&gateway, &["--policy", "4 a second"]).await;
    assert_eq!(output.code, Some(2));
    assert!(output.stderr.contains("for example 100/60s"), "{}", output.stderr);
}

/// A server that answers nothing has no limit that could be certified.
#[tokio::test]
async fn server_that_answers_nothing_has_no_certificate() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let addr = listener.local_addr().unwrap();
    tokio::spawn(async move { while listener.accept().await.is_ok() {} });
    let mut command = Command::new(env!("CARGO_BIN_EXE_loadtest"));
    command.args(["certify", &format!("http://{addr}"), "--policy", "4/1s"]);
    let output = run_output(command.output().await.unwrap());
    assert_eq!(output.code, Some(1), "{}{}", output.stdout, output.stderr);
    assert!(output.stdout.contains("unknown: no call got a response"), "{}", output.stdout);
    // Progress is there although standard error is no terminal.
    assert!(output.stderr.contains("25 calls over"), "{}", output.stderr);
}

#[tokio::test]
async fn key_of_the_environment_is_certified() {
    let gateway = Gateway::start(4, 4).await;
    let mut command = Command::new(env!("CARGO_BIN_EXE_loadtest"));
    let url = format!("http://{}", gateway.addr);
    command.args(["certify", &url, "--policy", "4/1s", "--key-env", "LT_KEY", "--quiet"]);
    let output = run_output(command.env("LT_KEY", "own").output().await.unwrap());
    assert_eq!((output.code, output.stderr.as_str()), (Some(0), ""), "{}", output.stdout);
    assert_eq!(gateway.calls_with("own"), 25);
}
