//! Runs of the `loadtest` binary.

use std::net::SocketAddr;
use std::process::Output;

use serde_json::Value;
use tokio::process::Command;

/// The result of a run.
pub(crate) struct RunOutput {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl RunOutput {
    /// Parses the report of a run with `--json`.
    pub(crate) fn report(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|_| panic!("{}{}", self.stdout, self.stderr))
    }

    /// Returns the number of calls with this status.
    pub(crate) fn calls_with(&self, status: u16) -> u64 {
        let report = self.report();
        let rows = report["rows"].as_array().unwrap();
        rows.iter().filter(|row| row["status"] == status).map(|row| row["calls"].as_u64().unwrap()).sum()
    }
}

/// Runs `loadtest run` against `addr` and returns its output.
pub(crate) async fn loadtest_run(
    addr: SocketAddr,
    options: &[&str],
    environment: &[(&str, &str)],
) -> RunOutput {
    run_output(command(addr, options).envs(environment.iter().copied()).output().await.unwrap())
}

pub(crate) fn command(addr: SocketAddr, options: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_loadtest"));
    // The machine of the tests may be busy. A test of the bound gives its own.
    let lag = if options.contains(&"--max-send-lag") { &[][..] } else { &["--max-send-lag", "1m"] };
    command.args(["run", "--url", &format!("http://{addr}")]).args(lag).args(options).kill_on_drop(true);
    command
}

pub(crate) fn run_output(Output { status, stdout, stderr }: Output) -> RunOutput {
    RunOutput {
        code: status.code(),
        stdout: String::from_utf8(stdout).unwrap(),
        stderr: String::from_utf8(stderr).unwrap(),
    }
}
