//! Runs of `loadtest` against a proxy in direct mode.

use std::{
    process::{Command, Output},
    str::from_utf8,
};

use tempfile::TempDir;
use tests::{Proxy, keys, process::binary, proxy::ProxyConfig, stack::Tools};

/// A proxy in direct mode in front of the demo tools.
pub(crate) struct DirectGateway {
    pub(crate) proxy: Proxy,
    pub(crate) config: ProxyConfig,
    pub(crate) folder: TempDir,
    tools: Tools,
}

impl DirectGateway {
    pub(crate) fn start() -> Self {
        Self::start_with(|config| config)
    }

    /// Starts it with a configuration that the test changes.
    pub(crate) fn start_with(change: impl FnOnce(ProxyConfig) -> ProxyConfig) -> Self {
        let (tools, folder) = (Tools::start(), tempfile::tempdir().unwrap());
        let config = ProxyConfig::for_tools(&tools)
            .direct(&folder.path().join("keys"))
            .line("keys", "admin_secret = \"${ADMIN_SECRET}\"")
            .section("defaults.probe", "interval = \"200ms\"\ntimeout = \"500ms\"\n");
        let config = change(config);
        let proxy = config.start_and_wait();
        Self { proxy, config, folder, tools }
    }

    /// Runs a scenario for ten seconds and returns its output.
    pub(crate) fn run(&self, scenario: &str, options: &[&str]) -> Output {
        let control = format!("http://{}", self.tools.control_addr());
        let metrics = format!("http://{}", self.proxy.admin);
        let around = ["--control", &control, "--metrics", &metrics];
        run(&self.proxy.url(), scenario, &[&around[..], options].concat())
    }

    /// Runs a scenario for ten seconds and asserts that all its checks pass.
    pub(crate) fn passes(&self, scenario: &str, options: &[&str]) {
        assert_passed(scenario, &self.run(scenario, options));
    }
}

/// Runs a scenario for ten seconds. The machine of the tests may be busy, so late calls are no
/// fault.
pub(crate) fn run(url: &str, scenario: &str, options: &[&str]) -> Output {
    let mut command = Command::new(binary("loadtest"));
    let duration = if options.contains(&"--duration") { &[][..] } else { &["--duration", "10s"] };
    let usual = ["--max-send-lag", "10s", "--admin-env", "ADMIN_SECRET"];
    keys::give(&mut command)
        .args(["run", "--url", url, "--scenario", scenario, "--signing-env", "KEY_SIGNING_SECRET"])
        .args(usual)
        .args(duration)
        .args(options)
        .output()
        .unwrap()
}

pub(crate) fn assert_passed(scenario: &str, output: &Output) {
    let (stdout, stderr) = (from_utf8(&output.stdout).unwrap(), from_utf8(&output.stderr).unwrap());
    assert_eq!(output.status.code(), Some(0), "{scenario}:\n{stdout}{stderr}");
    for secret in [keys::ADMIN_SECRET, keys::KEY_SIGNING_SECRET, "utg_live_"] {
        assert!(!stdout.contains(secret) && !stderr.contains(secret), "{scenario} prints a secret");
    }
}
