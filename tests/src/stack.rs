//! The real parts, each a process on its own ports: demo tools, proxy, edge.

use std::{
    net::SocketAddr,
    path::Path,
    process::Command,
    sync::{Arc, LazyLock},
    thread,
    time::Duration,
};

use serde_json::{Value, json};
use shared::tool::Tool;
use tempfile::TempDir;

use crate::{
    edge_host::HostedEdge,
    faults::Faults,
    http::{Request, Response},
    keys,
    process::{Process, binary, send_signal},
    proxy::{Proxy, ProxyConfig},
};

/// All seventeen demo tools.
pub struct Tools {
    pub process: Process,
    ports: Value,
}

/// The built workers in one workerd: the gateway, which gets the requests, and the one of pages.
pub struct Edge {
    hosted: HostedEdge,
    pub addr: SocketAddr,
    state: Option<TempDir>,
}

/// Demo tools, a proxy and an edge.
pub struct Stack {
    pub edge: Edge,
    pub proxy: Arc<Proxy>,
    pub tools: Arc<Tools>,
}

/// The time within which a failed or recovered tool is noticed, by the design.
pub const PROBE_BOUND: Duration = Duration::from_secs(10);

/// Origins that are never called.
pub const NOWHERE: &str = "http://127.0.0.1:9";

// What tests share for as long as the program runs. A test that uses it makes keys, pages and names of
// its own, stops nothing, and expects nothing of a whole: of a list, a log, a count, or an address that
// others have too.
static SHARED_ORIGIN: LazyLock<(Arc<Proxy>, Arc<Tools>)> = LazyLock::new(|| {
    let (process, ports) = Process::start_shared(&mut Tools::command(), Tools::ports);
    let tools = Tools { process, ports };
    (Arc::new(ProxyConfig::for_tools(&tools).start_shared()), Arc::new(tools))
});
static SHARED_EDGE: LazyLock<Arc<Edge>> = LazyLock::new(|| Arc::new(Edge::launch(NOWHERE, None, &[])));
static SHARED_STACK: LazyLock<Arc<Stack>> = LazyLock::new(|| {
    let (proxy, tools) = SHARED_ORIGIN.clone();
    Arc::new(Stack { edge: Edge::launch(&proxy.url(), None, &[]), proxy, tools })
});

/// Returns the URL of a proxy that tests share, with its tools behind it.
pub fn shared_origin() -> String {
    SHARED_ORIGIN.0.url()
}

impl Tools {
    pub fn start() -> Self {
        let (process, ports) = Process::start(&mut Self::command(), Self::ports);
        Self { process, ports }
    }

    fn command() -> Command {
        let mut command = Command::new(binary("loadtest"));
        command.args(["tools", "--port", "0"]);
        command
    }

    /// Reads the line with the addresses.
    fn ports(line: &str) -> Option<Value> {
        serde_json::from_str::<Value>(line).ok().filter(|value| value["tools"].is_object())
    }

    pub fn addr(&self, tool: Tool) -> SocketAddr {
        self.ports["tools"][tool.as_str()].as_str().unwrap().parse().unwrap()
    }

    /// Returns the address of the control API.
    pub fn control_addr(&self) -> SocketAddr {
        self.ports["control"].as_str().unwrap().parse().unwrap()
    }

    /// Sends a request to the control API of the tools.
    pub fn control(&self, method: &str, path: &str, body: &Value) -> Response {
        let control = self.control_addr();
        let response = Request { method: method.to_owned(), ..Request::post(path, body) }.send(control);
        assert!(response.status < 300, "{method} {path}: {}", response.text());
        response
    }

    pub fn stop(&self, tool: Tool) {
        self.control("POST", &format!("/{tool}/stop"), &json!({}));
    }

    pub fn start_again(&self, tool: Tool) {
        self.control("POST", &format!("/{tool}/start"), &json!({}));
    }
}

impl Edge {
    /// Starts the worker with empty state in memory.
    pub fn start(origins: &str) -> Self {
        Self::run(origins, None, &[])
    }

    /// Returns a worker with empty state in memory at first, and with no origin, that tests share.
    pub fn shared() -> Arc<Self> {
        Arc::clone(&SHARED_EDGE)
    }

    /// Starts the worker with fault injection into KV and its objects.
    pub fn start_with_faults(origins: &str, faults: &Faults) -> Self {
        Self::launch(origins, None, &["--faults", &faults.url()])
    }

    /// Starts the worker with fault injection, and with its state on disk.
    pub fn start_stored_with_faults(origins: &str, faults: &Faults) -> Self {
        Self::launch(origins, Some(tempfile::tempdir().unwrap()), &["--faults", &faults.url()])
    }

    /// Starts the worker with counters of what it does on the platform.
    pub fn start_with_counters(origins: &str) -> Self {
        Self::launch(origins, None, &["--counters", "0"])
    }

    /// Returns the URL of its counters.
    pub fn counters(&self) -> String {
        let output = self.output();
        output.lines().find_map(|line| line.strip_prefix("edge counters on ")).unwrap().to_owned()
    }

    /// Starts the workers without a binding. Without `PAGES_WORKER` the gateway is alone.
    pub fn start_without(origins: &str, binding: &str) -> Self {
        Self::launch(origins, None, &["--without", binding])
    }

    /// Starts the worker with variables of a test.
    pub fn start_with(origins: &str, variables: &[&str]) -> Self {
        Self::run(origins, None, variables)
    }

    /// Starts the workers with the bindings and variables that an environment of their files has, and
    /// with variables of a test.
    pub fn start_in(environment: &str, origins: &str, variables: &[&str]) -> Self {
        let variables = variables.iter().flat_map(|variable| ["--var", variable]);
        Self::launch(origins, None, &["--env", environment].into_iter().chain(variables).collect::<Vec<_>>())
    }

    /// Starts the worker with options of `scripts/edge.mjs`.
    pub fn start_with_options(origins: &str, options: &[&str]) -> Self {
        Self::launch(origins, None, options)
    }

    /// Starts the worker with a client certificate for origins. It trusts origins with a
    /// certificate of `authority`. All three are PEM files.
    pub fn start_with_certificate(origins: &str, certificate: &str, key: &str, authority: &str) -> Self {
        let options = ["--origin-cert", certificate, "--origin-key", key, "--origin-ca", authority];
        Self::launch(origins, None, &options)
    }

    /// Starts the worker with an account's store as an earlier version left it: SQL in a file.
    pub fn start_with_account_store(origins: &str, store: &Path) -> Self {
        Self::launch(origins, None, &["--account-store", &store.display().to_string()])
    }

    /// Starts the worker with its state in a folder of the test's own.
    pub fn start_at(origins: &str, state: TempDir) -> Self {
        Self::run(origins, Some(state), &[])
    }

    /// Starts the worker with its state on disk, so that a test can read it or restart the worker.
    pub fn start_stored(origins: &str) -> Self {
        Self::run(origins, Some(tempfile::tempdir().unwrap()), &[])
    }

    /// Stops the worker and starts it again with the same state.
    pub fn restart(self, origins: &str) -> Self {
        let Self { hosted, state, .. } = self;
        hosted.end();
        Self::run(origins, state, &[])
    }

    /// Does the same with fault injection.
    pub fn restart_with_faults(self, origins: &str, faults: &Faults) -> Self {
        let Self { hosted, state, .. } = self;
        hosted.end();
        Self::launch(origins, state, &["--faults", &faults.url()])
    }

    /// Starts the worker with fault injection, and with its state in a folder of the test's own.
    pub fn start_at_with_faults(origins: &str, state: TempDir, faults: &Faults) -> Self {
        Self::launch(origins, Some(state), &["--faults", &faults.url()])
    }

    /// Kills the worker amid whatever it does.
    pub fn kill(&self) {
        send_signal(self.hosted.runtime(), "KILL");
        self.hosted.end();
    }

    /// Ends the worker.
    pub fn end(&self) {
        self.hosted.end();
    }

    /// Returns what the worker has logged so far. It is complete once the worker was ended.
    pub fn output(&self) -> String {
        self.hosted.output()
    }

    /// Returns the id of the process of workerd.
    pub fn runtime(&self) -> u32 {
        self.hosted.runtime()
    }

    /// Starts a killed worker with fault injection, at its address and with its state.
    pub fn start_again(&mut self, origins: &str, faults: &Faults) {
        let options = ["--port", &self.addr.port().to_string(), "--faults", &faults.url()];
        *self = Self::launch(origins, self.state.take(), &options);
    }

    fn run(origins: &str, state: Option<TempDir>, variables: &[&str]) -> Self {
        let options: Vec<&str> = variables.iter().flat_map(|variable| ["--var", variable]).collect();
        Self::launch(origins, state, &options)
    }

    fn launch(origins: &str, state: Option<TempDir>, options: &[&str]) -> Self {
        let folder =
            state.as_ref().map_or_else(|| "memory".to_owned(), |dir| dir.path().display().to_string());
        let arguments = ["--port", "0", "--state", &folder, "--origin", origins];
        let (hosted, addr) = HostedEdge::start(&[&arguments[..], options].concat(), Self::address);
        Self { hosted, addr, state }
    }

    /// Reads the line with its address.
    fn address(line: &str) -> Option<SocketAddr> {
        line.strip_prefix("edge listening on http://")?.trim_end_matches('/').parse().ok()
    }

    /// Stops the worker amid whatever it does, as a busy machine does, and continues it after a while.
    pub fn stall(&self, length: Duration) {
        send_signal(self.runtime(), "STOP");
        // The length of the fault, like the delay of a message. No condition is waited for.
        thread::sleep(length);
        send_signal(self.runtime(), "CONT");
    }

    /// Returns the path of its state on disk.
    pub fn state(&self) -> &Path {
        self.state.as_ref().unwrap().path()
    }

    /// Issues a key of this tier. Returns its text and its id.
    pub fn issue(&self, tier: &str) -> (String, String) {
        let body = json!({
            "email": "ada@example.com", "name": "Ada", "tier": tier, "admin_secret": keys::ADMIN_SECRET,
        });
        let response = Request::post("/v1/keys/issue", &body).send(self.addr);
        assert_eq!(response.status, 201, "{}", response.text());
        let text = |name: &str| response.json()[name].as_str().unwrap().to_owned();
        (text("key"), text("id"))
    }
}

impl Stack {
    /// Starts all parts, each in front of the one before it.
    pub fn start() -> Self {
        Self::start_with(&[])
    }

    /// Starts all parts with variables for the worker.
    pub fn start_with(variables: &[&str]) -> Self {
        let tools = Tools::start();
        let proxy = ProxyConfig::for_tools(&tools).start_and_wait();
        let edge = Edge::start_with(&proxy.url(), variables);
        Self { edge, proxy: Arc::new(proxy), tools: Arc::new(tools) }
    }

    /// Returns all parts, which tests share.
    pub fn shared() -> Arc<Self> {
        Arc::clone(&SHARED_STACK)
    }

    /// Starts the same with the edge's state on disk.
    pub fn start_stored() -> Self {
        let tools = Tools::start();
        let proxy = ProxyConfig::for_tools(&tools).start_and_wait();
        let edge = Edge::start_stored(&proxy.url());
        Self { edge, proxy: Arc::new(proxy), tools: Arc::new(tools) }
    }
}
