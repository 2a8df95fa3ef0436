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
    assert!(output.stdout.contains("certificate      none"), "{}", output.stdout);
}

#[tokio::test]
async fn invalid_limit_is_refused() {
    let gateway = Gateway::start(1, 1).await;
    let output = certify(&gateway, &["--policy", "4 a second"]).await;
    assert_eq!(output.code, Some(2));
    assert!(output.stderr.contains("for example 100/60s"), "{}", output.stderr);
}
