//! The proxy's binary as a process.

mod config;

use std::{future::ready, net::SocketAddr, path::PathBuf, process::ExitStatus};

use serde_json::Value;
use shared::tool::Tool;

use self::config::ConfigFile;
pub use self::config::ProxyConfig;
use crate::{
    http::{Client, Request, Response},
    process::Process,
    wait::until,
};

/// A running proxy. It is killed when it is dropped.
pub struct Proxy {
    process: Process,
    pub listen: SocketAddr,
    pub admin: SocketAddr,
    config: ConfigFile,
}

impl Proxy {
    /// Sends a request on a new connection.
    pub async fn send(&self, request: Request) -> Response {
        self.send_to(self.listen, request).await
    }

    pub async fn admin_get(&self, path: &str) -> Response {
        self.admin_send(Request::get(path)).await
    }

    pub async fn admin_send(&self, request: Request) -> Response {
        self.send_to(self.admin, request).await
    }

    async fn send_to(&self, to: SocketAddr, request: Request) -> Response {
        let response = Client::send_once(to, &request).await;
        response.unwrap_or_else(|| panic!("no response from a proxy with this output: {}", self.output()))
    }

    pub fn url(&self) -> String {
        format!("http://{}", self.listen)
    }

    /// Waits until the output contains `text`.
    pub async fn logs(&self, text: &str) {
        until(text, || ready(self.output().contains(text))).await;
    }

    /// Waits until it has taken over from another process and is ready.
    pub async fn upgraded(&self) {
        self.logs("upgrade complete: predecessor=").await;
        // The predecessor may still accept the first connection, and it is not ready any more.
        self.ready().await;
    }

    /// Waits until it is ready: the first round of probes is over.
    pub async fn ready(&self) {
        until("the proxy is ready", || async { self.admin_get("/readyz").await.status == 200 }).await;
    }

    /// Returns the health of a tool's upstreams, as `/pools` shows it.
    pub async fn upstream_health(&self, tool: Tool) -> Vec<String> {
        self.upstreams(tool, "health").await
    }

    /// Returns the names of a tool's upstreams, as `/pools` shows them.
    pub async fn upstream_names(&self, tool: Tool) -> Vec<String> {
        self.upstreams(tool, "name").await
    }

    async fn upstreams(&self, tool: Tool, member: &str) -> Vec<String> {
        let pools = self.admin_get("/pools").await.json();
        let upstreams = pools["pools"][tool.as_str()]["upstreams"].as_array().unwrap().clone();
        upstreams.iter().map(|upstream| upstream[member].as_str().unwrap().to_owned()).collect()
    }

    /// Returns the sample of a metric, given with its labels as they are printed.
    pub async fn metric(&self, series: &str) -> Option<f64> {
        let text = self.admin_get("/metrics").await.text();
        let value = text.lines().find_map(|line| line.strip_prefix(series)?.strip_prefix(' '));
        value.and_then(|value| value.parse().ok())
    }

    /// Returns how often a server of `qr` was ejected, whatever the reason.
    pub async fn ejections(&self, server: &str) -> f64 {
        let text = self.admin_get("/metrics").await.text();
        let labels = format!("tool=\"qr\",upstream=\"{server}\"}} ");
        let ours = text.lines().filter(|line| line.starts_with("utg_upstream_ejections_total{"));
        ours.filter_map(|line| line.split_once(&labels)?.1.parse::<f64>().ok()).sum()
    }

    /// Waits until the sample of a metric is `value`.
    pub async fn metric_is(&self, series: &str, value: f64) {
        until(&format!("{series} is {value}"), || async { self.metric(series).await == Some(value) }).await;
    }

    /// Returns the output so far, of stdout and stderr. It is complete after [`Proxy::exited`].
    pub fn output(&self) -> String {
        self.process.output()
    }

    /// Returns the path of its configuration file.
    pub fn config_file(&self) -> PathBuf {
        self.config.path()
    }

    /// Replaces its configuration file by a rename, as editors do.
    pub fn replace_config(&self, config: &ProxyConfig) {
        let other = self.config.path().with_extension("new");
        std::fs::write(&other, config.text()).unwrap();
        std::fs::rename(other, self.config.path()).unwrap();
    }

    /// Replaces the configuration file and signals the process to read it.
    pub fn reload(&self, config: &ProxyConfig) {
        self.replace_config(config);
        self.signal("HUP");
    }

    /// Returns the outcome of reading the configuration, as `/pools` shows it.
    pub async fn config_status(&self) -> Value {
        self.admin_get("/pools").await.json()["configuration"].clone()
    }

    /// Waits until a later configuration than `generation` is in use. Returns its generation.
    pub async fn generation_after(&self, generation: u64) -> u64 {
        let current = || async { self.config_status().await["generation"].as_u64().unwrap() };
        until("a later configuration is in use", || async { current().await > generation }).await;
        current().await
    }

    /// Returns the bytes of memory that it has (`VmRSS`), or has had at most (`VmHWM`).
    pub fn memory(&self, which: &str) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.process.pid())).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix(which)?.strip_prefix(':')).unwrap();
        line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() * 1_024
    }

    pub fn pid(&self) -> u32 {
        self.process.pid()
    }

    /// Sends a signal by its name, such as `TERM`.
    pub fn signal(&self, name: &str) {
        self.process.signal(name);
    }

    /// Waits for the process to exit and for the rest of its output.
    pub async fn exited(&mut self) -> ExitStatus {
        self.process.exited().await
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.process.kill();
    }
}
