//! The proxy's binary as a process.

use std::{
    collections::BTreeMap,
    ffi::OsString,
    fmt::Write as _,
    io::{BufRead, BufReader, Read},
    net::SocketAddr,
    path::Path,
    process::{Child, Command, ExitStatus, Stdio},
    sync::{Arc, Mutex, mpsc},
    thread::{self, JoinHandle},
    time::Instant,
};

use serde_json::Value;
use shared::tool::Tool;
use tests::keys;

use super::{Answer, FakeTool, PATIENCE, Request, grant::SECRET, until};

/// A configuration to be.
pub(crate) struct Setup {
    pools: BTreeMap<Tool, String>,
    sections: BTreeMap<String, String>,
    replay_capacity: usize,
    secret: String,
    variables: Vec<(String, OsString)>,
    files: Option<u32>,
}

/// A running proxy. It is killed when it is dropped.
pub(crate) struct Proxy {
    child: Child,
    pub(crate) listen: SocketAddr,
    pub(crate) admin: SocketAddr,
    output: Arc<Mutex<String>>,
    /// They read the output until its end.
    readers: Vec<JoinHandle<()>>,
    config: tempfile::NamedTempFile,
}

impl Setup {
    /// Every tool has a pool; those that are not named are at a port where nobody listens.
    pub(crate) fn new() -> Self {
        let nobody = "upstreams = [\"127.0.0.1:1\"]\n".to_owned();
        Self {
            pools: Tool::ALL.map(|tool| (tool, nobody.clone())).into(),
            sections: [
                ("server", "listen = \"127.0.0.1:0\"\nadmin = \"127.0.0.1:0\"\ndata_centre = \"test\"\nthreads = 2\n"),
                ("grants", "secret = \"${GRANT_SECRET}\"\n"),
                ("clients", ""),
                ("log", ""),
                ("defaults", ""),
                ("defaults.probe", "interval = \"100ms\"\ntimeout = \"500ms\"\n"),
            ]
            .map(|(name, text)| (name.to_owned(), text.to_owned()))
            .into(),
            replay_capacity: 100_000,
            secret: SECRET.to_owned(),
            variables: Vec::new(),
            files: None,
        }
    }

    /// How many requests are remembered.
    pub(crate) fn replay_capacity(self, replay_capacity: usize) -> Self {
        Self { replay_capacity, ..self }
    }

    /// The secret of grants, or two.
    pub(crate) fn secret(self, secret: &str) -> Self {
        Self { secret: secret.to_owned(), ..self }
    }

    /// The file that the secret of grants is in.
    pub(crate) fn secret_file(mut self, file: &Path) -> Self {
        self.sections.insert("grants".to_owned(), format!("secret_file = {file:?}\n"));
        self
    }

    /// How many files the process may open.
    pub(crate) fn files(self, files: u32) -> Self {
        Self { files: Some(files), ..self }
    }

    /// A variable of the process's environment.
    pub(crate) fn variable(mut self, name: &str, value: impl Into<OsString>) -> Self {
        self.variables.push((name.to_owned(), value.into()));
        self
    }

    /// The servers of a tool.
    pub(crate) fn tool(mut self, tool: Tool, servers: &[&FakeTool]) -> Self {
        let names: Vec<String> = servers.iter().map(|server| format!("\"{}\"", server.address)).collect();
        self.pools.insert(tool, format!("upstreams = [{}]\n", names.join(", ")));
        self
    }

    /// The servers of a tool, by address.
    pub(crate) fn upstreams(mut self, tool: Tool, servers: &[&str]) -> Self {
        self.pools.insert(tool, format!("upstreams = {servers:?}\n"));
        self
    }

    /// Serves clients itself, as one behind somebody who ends TLS, and keeps what it counts in this file.
    pub(crate) fn direct(self, state: &Path) -> Self {
        let text = format!(
            "direct = true\nsecret = \"${{KEY_SIGNING_SECRET}}\"\nstate = {state:?}\nbehind_tls = true\n"
        );
        self.section("keys", &text)
    }

    /// A section that is not there unless it is set.
    pub(crate) fn section(mut self, name: &str, text: &str) -> Self {
        self.sections.insert(name.to_owned(), text.to_owned());
        self
    }

    /// Where it listens.
    pub(crate) fn listen(mut self, address: &str) -> Self {
        let server = self.sections.get_mut("server").unwrap();
        *server = server.replacen("127.0.0.1:0", address, 1);
        self
    }

    /// Runs the binary, which is to end by itself: its status and what it wrote to standard error.
    pub(crate) fn fail(&self) -> (ExitStatus, String) {
        self.fail_with(&[])
    }

    pub(crate) fn fail_with(&self, arguments: &[&str]) -> (ExitStatus, String) {
        let config = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(config.path(), self.text()).unwrap();
        let output = self.command(&config).args(arguments).output().unwrap();
        (output.status, String::from_utf8(output.stderr).unwrap())
    }

    fn command(&self, config: &tempfile::NamedTempFile) -> Command {
        let mut command = match self.files {
            None => Command::new(env!("CARGO_BIN_EXE_proxy")),
            Some(files) => {
                let mut shell = Command::new("sh");
                let script = format!("ulimit -n {files} && exec \"$0\" \"$@\"");
                shell.args(["-c", &script, env!("CARGO_BIN_EXE_proxy")]);
                shell
            }
        };
        command.arg("-c").arg(config.path()).env("GRANT_SECRET", &self.secret);
        command.envs(self.variables.iter().map(|(name, value)| (name, value)));
        command.env("KEY_SIGNING_SECRET", keys::KEY_SIGNING_SECRET).env("ADMIN_SECRET", keys::ADMIN_SECRET);
        command
    }

    /// A line of a tool's pool.
    pub(crate) fn pool_line(mut self, tool: Tool, line: &str) -> Self {
        writeln!(self.pools.get_mut(&tool).unwrap(), "{line}").unwrap();
        self
    }

    /// A line of a section.
    pub(crate) fn line(mut self, section: &str, line: &str) -> Self {
        writeln!(self.sections.get_mut(section).expect("a section"), "{line}").unwrap();
        self
    }

    pub(crate) fn text(&self) -> String {
        let mut sections = self.sections.clone();
        sections
            .entry("grants".to_owned())
            .or_default()
            .push_str(&format!("replay_capacity = {}\n", self.replay_capacity));
        let sections = sections.into_iter().map(|(name, text)| match name.as_str() {
            // What stands before all sections.
            "" => text,
            name => format!("[{name}]\n{text}"),
        });
        let pools = self.pools.iter().map(|(tool, text)| format!("[pools.{tool}]\n{text}"));
        sections.chain(pools).collect::<Vec<_>>().join("\n")
    }

    /// Starts the binary; it may still be probing.
    pub(crate) fn start(&self) -> Proxy {
        self.start_with(&[])
    }

    /// Starts the binary so that it goes on where the one at its upgrade socket ends.
    pub(crate) fn upgrade(&self) -> Proxy {
        self.start_with(&["--upgrade"])
    }

    fn start_with(&self, arguments: &[&str]) -> Proxy {
        let config = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(config.path(), self.text()).unwrap();
        let mut child = self
            .command(&config)
            .args(arguments)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let output = Arc::new(Mutex::new(String::new()));
        let (first, addresses) = mpsc::channel();
        let readers = vec![
            record(child.stdout.take().unwrap(), Arc::clone(&output), Some(first)),
            record(child.stderr.take().unwrap(), Arc::clone(&output), None),
        ];
        let Ok(line) = addresses.recv_timeout(PATIENCE) else {
            let _killed = child.kill();
            panic!("the proxy did not start: {}", output.lock().unwrap())
        };
        let addresses: Value = serde_json::from_str(&line).unwrap();
        let address = |name: &str| addresses[name].as_str().unwrap().parse().unwrap();
        Proxy { listen: address("listen"), admin: address("admin"), child, output, readers, config }
    }

    /// Starts the binary and waits until its first round of probes is over.
    pub(crate) async fn ready(&self) -> Proxy {
        let proxy = self.start();
        until("the proxy is ready", || async { proxy.admin_get("/readyz").await.status == 200 }).await;
        proxy
    }
}

fn record(
    from: impl Read + Send + 'static,
    to: Arc<Mutex<String>>,
    first: Option<mpsc::Sender<String>>,
) -> JoinHandle<()> {
    thread::spawn(move || {
        let mut first = first;
        for line in BufReader::new(from).lines().map_while(Result::ok) {
            if let Some(first) = first.take() {
                let _sent = first.send(line.clone());
            }
            let mut to = to.lock().unwrap();
            to.push_str(&line);
            to.push('\n');
        }
    })
}

impl Proxy {
    pub(crate) async fn send(&self, request: Request) -> Answer {
        let answer = request.try_send(self.listen).await;
        answer.unwrap_or_else(|| panic!("no answer from a process that says: {}", self.output()))
    }

    pub(crate) async fn admin_get(&self, path: &str) -> Answer {
        let answer = Request::new("GET", path).try_send(self.admin).await;
        answer.unwrap_or_else(|| panic!("no answer to {path} from a process that says: {}", self.output()))
    }

    /// Waits until it has written this.
    pub(crate) async fn says(&self, what: &str) {
        until(what, || async { self.output().contains(what) }).await;
    }

    /// Waits until it has taken the place of another process.
    pub(crate) async fn took_over(&self) {
        self.says("upgrade complete: predecessor=").await;
        // The one that leaves may still have taken the first connection, and says that it is not ready any more.
        until("the new one is asked and ready", || async { self.admin_get("/readyz").await.status == 200 })
            .await;
    }

    /// The health of a tool's upstreams, as `/pools` shows it.
    pub(crate) async fn health(&self, tool: Tool) -> Vec<String> {
        let pools = self.admin_get("/pools").await.json();
        let upstreams = pools["pools"][tool.as_str()]["upstreams"].as_array().unwrap().clone();
        upstreams.iter().map(|upstream| upstream["health"].as_str().unwrap().to_owned()).collect()
    }

    /// The sample of a metric, given with its labels as they are printed.
    pub(crate) async fn metric(&self, series: &str) -> Option<f64> {
        let text = String::from_utf8(self.admin_get("/metrics").await.body).unwrap();
        let line =
            text.lines().find_map(|line| line.strip_prefix(series)?.strip_prefix(' ').map(str::to_owned));
        line.and_then(|value| value.parse().ok())
    }

    /// Everything it has written, on both streams.
    pub(crate) fn output(&self) -> String {
        self.output.lock().unwrap().clone()
    }

    /// Puts another configuration in the place of the one there is, as editors do.
    pub(crate) fn replace(&self, setup: &Setup) {
        let other = tempfile::NamedTempFile::new_in(self.config.path().parent().unwrap()).unwrap();
        std::fs::write(other.path(), setup.text()).unwrap();
        other.persist(self.config.path()).unwrap();
    }

    /// Writes another configuration and tells the process to read it.
    pub(crate) fn reload(&self, setup: &Setup) {
        self.replace(setup);
        self.signal("-HUP");
    }

    /// What came of reading the configuration, as `/pools` shows it.
    pub(crate) async fn configuration(&self) -> Value {
        self.admin_get("/pools").await.json()["configuration"].clone()
    }

    /// Waits until a later configuration than this one is in use; which it is.
    pub(crate) async fn later_than(&self, generation: u64) -> u64 {
        let now = || async { self.configuration().await["generation"].as_u64().unwrap() };
        until("another configuration is in use", || async { now().await > generation }).await;
        now().await
    }

    /// Bytes of memory that it has (`VmRSS`), or has had at most (`VmHWM`).
    pub(crate) fn memory(&self, which: &str) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix(which)?.strip_prefix(':')).unwrap();
        line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() * 1_024
    }

    pub(crate) fn signal(&self, signal: &str) {
        let id = self.child.id().to_string();
        assert!(Command::new("kill").args([signal, &id]).status().unwrap().success());
    }

    /// Waits for the process to exit and for the rest of its output.
    pub(crate) async fn ended(&mut self) -> ExitStatus {
        let begun = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                self.readers.drain(..).for_each(|reader| reader.join().unwrap());
                return status;
            }
            assert!(begun.elapsed() < PATIENCE, "the proxy has not ended");
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        }
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        let _killed = self.child.kill();
        let _reaped = self.child.wait();
    }
}
