//! The configuration of a proxy under test. It is written here and nowhere else, so that the whole
//! suite runs on the transport under test.

use std::{
    collections::BTreeMap,
    ffi::OsString,
    fmt::Write as _,
    net::SocketAddr,
    path::{Path, PathBuf},
    process::{Command, ExitStatus},
};

use serde_json::Value;
use shared::tool::Tool;
use tempfile::TempDir;

use super::Proxy;
use crate::{
    http::Request,
    keys,
    process::{Process, binary},
    stack::Tools,
    tool::FakeTool,
    transport::Transport,
    wait::{PATIENCE, wait_for},
};

/// A builder of a configuration file and of the process that reads it.
#[derive(Clone)]
pub struct ProxyConfig {
    pools: BTreeMap<Tool, String>,
    sections: BTreeMap<String, String>,
    transport: Transport,
    replay_capacity: Option<usize>,
    grant_secret: String,
    variables: Vec<(String, OsString)>,
    open_files: Option<u32>,
    log_file: Option<PathBuf>,
}

impl ProxyConfig {
    /// Returns a configuration with short probe intervals and a pool for every tool. Nothing
    /// listens at the upstream of a pool unless the test names another one. Probes have long timeouts, so
    /// that no server is unhealthy because the machine is busy.
    pub fn new() -> Self {
        let closed = "upstreams = [\"127.0.0.1:1\"]\n".to_owned();
        let server =
            "listen = \"127.0.0.1:0\"\nadmin = \"127.0.0.1:0\"\ndata_center = \"test\"\nthreads = 2\n";
        let sections = [
            ("server", server),
            ("grants", "secret = \"${GRANT_SECRET}\"\n"),
            ("clients", ""),
            ("log", ""),
            ("defaults", ""),
            ("defaults.probe", "interval = \"100ms\"\ntimeout = \"5s\"\n"),
        ];
        Self {
            pools: Tool::ALL.map(|tool| (tool, closed.clone())).into(),
            sections: sections.map(|(name, text)| (name.to_owned(), text.to_owned())).into(),
            transport: Transport::under_test(),
            replay_capacity: Some(100_000),
            grant_secret: keys::GRANT_SECRET.to_owned(),
            variables: Vec::new(),
            open_files: None,
            log_file: None,
        }
    }

    /// Returns a configuration with the defaults of the product and the demo tools as upstreams.
    pub fn for_tools(tools: &Tools) -> Self {
        let mut config = Self { replay_capacity: None, ..Self::new() };
        config.sections.remove("defaults.probe");
        let config = config.line("defaults", "describe = \"/openapi.json\"");
        let config = config.section("server", "listen = \"127.0.0.1:0\"\nadmin = \"127.0.0.1:0\"\n");
        let pool = |config: Self, tool| config.upstreams(tool, &[&tools.addr(tool).to_string()]);
        Tool::ALL.into_iter().fold(config, pool)
    }

    /// Sets the number of requests that the replay cache holds.
    #[must_use]
    pub fn replay_capacity(self, requests: usize) -> Self {
        Self { replay_capacity: Some(requests), ..self }
    }

    /// Sets the secret of grants, or two secrets with their numbers.
    #[must_use]
    pub fn grant_secret(self, secret: &str) -> Self {
        Self { grant_secret: secret.to_owned(), ..self }
    }

    /// Sets the file that the secret of grants is read from.
    #[must_use]
    pub fn grant_secret_file(self, file: &Path) -> Self {
        self.section("grants", &format!("secret_file = {file:?}\n"))
    }

    /// Sets the maximum number of files that the process may open.
    #[must_use]
    pub fn open_files(self, open_files: u32) -> Self {
        Self { open_files: Some(open_files), ..self }
    }

    /// Sets a file that the process writes its output to, which needs GNU `tail`. Each start empties it.
    #[must_use]
    pub fn log_file(self, file: &Path) -> Self {
        Self { log_file: Some(file.to_owned()), ..self }
    }

    /// Sets a variable in the environment of the process.
    #[must_use]
    pub fn variable(mut self, name: &str, value: impl Into<OsString>) -> Self {
        self.variables.push((name.to_owned(), value.into()));
        self
    }

    /// Sets the upstreams of a tool.
    #[must_use]
    pub fn tool(self, tool: Tool, servers: &[&FakeTool]) -> Self {
        let addresses: Vec<String> = servers.iter().map(|server| server.address.to_string()).collect();
        self.upstreams(tool, &addresses.iter().map(String::as_str).collect::<Vec<_>>())
    }

    /// Sets the upstreams of a tool by address.
    #[must_use]
    pub fn upstreams(mut self, tool: Tool, servers: &[&str]) -> Self {
        self.pools.insert(tool, format!("upstreams = {servers:?}\n"));
        self
    }

    /// Sets the file with the upstreams of a tool.
    #[must_use]
    pub fn upstreams_file(mut self, tool: Tool, file: &Path) -> Self {
        self.pools.insert(tool, format!("upstreams_file = {file:?}\n"));
        self
    }

    /// Sets the folder in which the process keeps what the next one needs.
    #[must_use]
    pub fn state_directory(self, folder: &Path) -> Self {
        self.variable("STATE_DIRECTORY", folder)
    }

    /// Selects direct mode behind a TLS terminator, with its counters in the file `state`.
    #[must_use]
    pub fn direct(self, state: &Path) -> Self {
        let text = format!(
            "direct = true\nsecret = \"${{KEY_SIGNING_SECRET}}\"\nstate = {state:?}\nbehind_tls = true\n"
        );
        self.section("keys", &text)
    }

    /// Sets a whole section. The section `""` stands before all others.
    #[must_use]
    pub fn section(mut self, name: &str, text: &str) -> Self {
        self.sections.insert(name.to_owned(), text.to_owned());
        self
    }

    /// Sets the address of the listener.
    #[must_use]
    pub fn listen(mut self, address: &str) -> Self {
        let server = self.sections.get_mut("server").unwrap();
        *server = server.replacen("127.0.0.1:0", address, 1);
        self
    }

    /// Appends a line to a tool's pool.
    #[must_use]
    pub fn pool_line(mut self, tool: Tool, line: &str) -> Self {
        writeln!(self.pools.get_mut(&tool).unwrap(), "{line}").unwrap();
        self
    }

    /// Appends a line to a section that exists.
    #[must_use]
    pub fn line(mut self, section: &str, line: &str) -> Self {
        writeln!(self.sections.get_mut(section).expect("a section"), "{line}").unwrap();
        self
    }

    /// Sets the transport. Otherwise it is the one under test.
    #[must_use]
    pub const fn transport(mut self, transport: Transport) -> Self {
        self.transport = transport;
        self
    }

    /// Sets short timeouts towards clients and towards the upstreams of a tool.
    #[must_use]
    pub fn short_timeouts(self, tool: Tool) -> Self {
        self.pool_line(tool, "answer_timeout = \"600ms\"\npause_timeout = \"600ms\"")
            .line("clients", "header_timeout = \"300ms\"\nidle_timeout = \"1s\"")
    }

    /// Returns the text of the file, with its transport.
    pub fn text(&self) -> String {
        let replay = self
            .replay_capacity
            .map(|requests| format!("replay_capacity = {requests}\n"))
            .unwrap_or_default();
        let sections = self.sections.iter().map(|(name, text)| match name.as_str() {
            "" => text.clone(),
            "grants" => format!("[grants]\n{text}{replay}"),
            "server" => format!("[server]\n{}{text}", self.transport.setting()),
            name => format!("[{name}]\n{text}"),
        });
        let pools = self.pools.iter().map(|(tool, text)| format!("[pools.{tool}]\n{text}"));
        sections.chain(pools).collect::<Vec<_>>().join("\n")
    }

    /// Runs the binary until it exits by itself. Returns its status and stderr.
    pub fn run(&self, arguments: &[&str]) -> (ExitStatus, String) {
        let file = self.write();
        let output = self.command(&file).args(arguments).output().unwrap();
        (output.status, String::from_utf8(output.stderr).unwrap())
    }

    /// Starts the binary. Its first round of probes may not be over.
    pub fn start(&self) -> Proxy {
        self.start_with(&[])
    }

    /// Starts the binary so that it takes over from the process at its upgrade socket.
    pub fn upgrade(&self) -> Proxy {
        self.start_with(&["--upgrade"])
    }

    /// Starts the binary and waits until its first round of probes is over.
    pub async fn ready(&self) -> Proxy {
        let proxy = self.start();
        proxy.ready().await;
        proxy
    }

    /// Does the same for a test that does not run on tokio.
    pub fn start_and_wait(&self) -> Proxy {
        let proxy = self.start();
        wait_until_ready(&proxy);
        proxy
    }

    /// Does the same for a proxy that tests share (see [`Process::start_shared`]). It cannot read its
    /// file again.
    pub fn start_shared(&self) -> Proxy {
        let config = self.write();
        let (process, (listen, admin)) = Process::start_shared(&mut self.command(&config), listeners);
        // What is never dropped would leave it behind.
        std::fs::remove_dir_all(config.folder.path()).unwrap();
        let proxy = Proxy { process, listen, admin, config };
        wait_until_ready(&proxy);
        proxy
    }

    fn start_with(&self, arguments: &[&str]) -> Proxy {
        let config = self.write();
        let (process, (listen, admin)) = Process::start(self.command(&config).args(arguments), listeners);
        Proxy { process, listen, admin, config }
    }

    fn write(&self) -> ConfigFile {
        let file = ConfigFile { folder: tempfile::tempdir().unwrap() };
        std::fs::write(file.path(), self.text()).unwrap();
        file
    }

    fn command(&self, file: &ConfigFile) -> Command {
        let proxy = binary("proxy");
        let mut steps = String::new();
        if let Some(open_files) = self.open_files {
            write!(steps, "ulimit -n {open_files} && ").unwrap();
        }
        if let Some(log) = &self.log_file {
            write!(steps, ": >{log:?}; tail -n +1 -f --pid=$$ {log:?} & exec >>{log:?} 2>&1; ").unwrap();
        }
        let mut command = Command::new(if steps.is_empty() { proxy.as_os_str() } else { "sh".as_ref() });
        if !steps.is_empty() {
            command.arg("-c").arg(format!("{steps}exec \"$0\" \"$@\"")).arg(&proxy);
        }
        keys::give(&mut command).env("GRANT_SECRET", &self.grant_secret).arg("-c").arg(file.path());
        command.envs(self.variables.iter().map(|(name, value)| (name, value)));
        command
    }
}

/// The file of a configuration, alone in its folder, where the process may write beside it.
pub(super) struct ConfigFile {
    folder: TempDir,
}

impl ConfigFile {
    pub(super) fn path(&self) -> PathBuf {
        self.folder.path().join("proxy.toml")
    }
}

impl Default for ProxyConfig {
    fn default() -> Self {
        Self::new()
    }
}

fn wait_until_ready(proxy: &Proxy) {
    let is_ready = || Request::get("/readyz").try_send(proxy.admin).is_some_and(|ready| ready.status == 200);
    wait_for(PATIENCE, || is_ready().then_some(()));
}

/// Reads the line in which a proxy reports the addresses of its listeners.
fn listeners(line: &str) -> Option<(SocketAddr, SocketAddr)> {
    let value: Value = serde_json::from_str(line).ok()?;
    Some((value["listen"].as_str()?.parse().ok()?, value["admin"].as_str()?.parse().ok()?))
}
