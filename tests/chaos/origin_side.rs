//! The proxies of a run and the tools behind them.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    process::Command,
    sync::Arc,
};

use parking_lot::Mutex;
use shared::tool::Tool;
use tempfile::TempDir;
use tests::{
    FakeTool, Proxy, ProxyConfig, ToolBehavior,
    process::send_signal,
    tls::{Authority, NAME, TempFiles, TlsTerminator, quoted},
};

use crate::{
    plan::{DIRECT, Fault, Misbehavior},
    sandbox::{Disk, Hosts, libfaketime},
};

/// What a lying tool sends of its body, by the length that it announces.
pub(crate) const LIE: &str = "lies";
/// A response of a lying tool. Its surplus looks like another response.
const LYING: &[u8] =
    b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nliesHTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\npoison";
const CUT: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 100\r\n\r\ncut off here";
/// The name of a tool, which leads to the one or the other address.
const TOOL_NAME: &str = "tool.chaos.test";
const ADDRESSES: [&str; 2] = ["127.0.0.2", "127.0.0.3"];
/// Seconds for which a certificate is valid when its expiry is the fault.
const SHORT_LIVED: u64 = 1;

/// Names of processes with their ids, which change with a restart.
pub(crate) type Pids = Arc<Mutex<BTreeMap<&'static str, u32>>>;

/// The proxies and the tools.
pub(crate) struct OriginSide {
    /// Two behind the edge, and one in direct mode.
    pub(crate) proxies: [Proxy; 3],
    configs: [ProxyConfig; 3],
    /// Two of `qr`, one of `pdf` behind TLS, and those at the two addresses of `seo`.
    pub(crate) tools: [Arc<FakeTool>; 5],
    terminator: TlsTerminator,
    authority: Authority,
    hosts: Option<Hosts>,
    /// The disk of logs and counters.
    logs: Option<Disk>,
    named: usize,
    clock: Option<PathBuf>,
    open_files: String,
    pids: Pids,
    _folders: [TempDir; 2],
    _files: TempFiles,
}

const NAMES: [&str; 3] = ["proxy a", "proxy b", "direct proxy"];

impl OriginSide {
    pub(crate) async fn start(has_mounts: bool, pids: &Pids) -> Self {
        let (folder, files) = (tempfile::tempdir().unwrap(), TempFiles::create());
        let disk = tempfile::tempdir().unwrap();
        let logs = has_mounts.then(|| Disk::mount(disk.path(), "64m"));
        let hosts = has_mounts.then(|| Hosts::mount(folder.path()));
        if let Some(hosts) = &hosts {
            hosts.point(TOOL_NAME, ADDRESSES[0]);
        }
        let at = |address: String| FakeTool::start_at(address.parse().unwrap(), ToolBehavior::Describe);
        let loopback = || at("127.0.0.1:0".to_owned());
        let first = at(format!("{}:0", ADDRESSES[0]));
        let second = at(format!("{}:{}", ADDRESSES[1], first.address.port()));
        let tools = [loopback(), loopback(), loopback(), first, second].map(Arc::new);
        let authority = Authority::generate();
        let terminator = TlsTerminator::start(&authority.identity(NAME), tools[2].address).await;
        let clock = libfaketime().map(|_| folder.path().join("clock"));
        let port = tools[3].address.port();
        let named = if hosts.is_some() { TOOL_NAME } else { ADDRESSES[0] };
        let ca = quoted(&files.write("ca.pem", &authority.pem));
        let base = ProxyConfig::new()
            .section("", "resolve_interval = \"1s\"\n")
            .section("log", "detail = \"failures\"\n")
            .section("defaults", "answer_timeout = \"6s\"\ntry_timeout = \"2s\"\n")
            .section("defaults.probe", "interval = \"500ms\"\ntimeout = \"1s\"\n")
            .tool(Tool::Qr, &[&tools[0], &tools[1]])
            .upstreams(Tool::Pdf, &[&terminator.address.to_string()])
            .pool_line(Tool::Pdf, &format!("tls = true\ntls_name = \"{NAME}\"\ntls_ca = {ca}"))
            .upstreams(Tool::Seo, &[&format!("{named}:{port}")]);
        let server = |name: &str| {
            format!(
                "listen = \"127.0.0.1:0\"\nadmin = \"127.0.0.1:0\"\ndata_center = \"{name}\"\nthreads = 2\n"
            )
        };
        let mut configs = ["a", "b", "direct"].map(|name| base.clone().section("server", &server(name)));
        configs[DIRECT] = std::mem::take(&mut configs[DIRECT]).direct(&disk.path().join("counters"));
        if logs.is_some() {
            write_logs(disk.path(), &mut configs);
        }
        if let (Some(library), Some(clock)) = (libfaketime(), &clock) {
            fs::write(clock, "+0").unwrap();
            let second = std::mem::take(&mut configs[1]).variable("LD_PRELOAD", library);
            configs[1] = second
                .variable("FAKETIME_TIMESTAMP_FILE", clock)
                .variable("FAKETIME_CACHE_DURATION", "1")
                .variable("FAKETIME_DONT_FAKE_MONOTONIC", "1");
        }
        let proxies = [configs[0].ready().await, configs[1].ready().await, configs[2].ready().await];
        for nth in 0..proxies.len() {
            configs[nth] = std::mem::take(&mut configs[nth]).listen(&proxies[nth].listen.to_string());
            pids.lock().insert(NAMES[nth], proxies[nth].pid());
        }
        let open_files = open_files(proxies[0].pid());
        let (named, pids) = (0, Arc::clone(pids));
        Self {
            proxies,
            configs,
            tools,
            terminator,
            authority,
            hosts,
            logs,
            named,
            clock,
            open_files,
            pids,
            _folders: [folder, disk],
            _files: files,
        }
    }

    /// Returns the list of origins for the worker.
    pub(crate) fn origins(&self) -> String {
        format!("a={},b={}", self.proxies[0].url(), self.proxies[1].url())
    }

    /// Returns true if the machine allows the fault.
    pub(crate) const fn allows(&self, fault: Fault) -> bool {
        match fault {
            Fault::NameMoves => self.hosts.is_some(),
            Fault::ClockStep(_) => self.clock.is_some(),
            Fault::FullLogs => self.logs.is_some(),
            _ => true,
        }
    }

    pub(crate) fn begin(&mut self, fault: Fault) {
        match fault {
            Fault::KillProxy(nth) => send_signal(self.proxies[nth].pid(), "KILL"),
            Fault::StopProxy(nth) => self.proxies[nth].signal("STOP"),
            Fault::NoDescriptors(nth) => {
                let pid = self.proxies[nth].pid();
                let open = fs::read_dir(format!("/proc/{pid}/fd")).unwrap().count();
                limit_files(pid, &open.to_string());
            }
            Fault::FullLogs => self.logs.as_ref().unwrap().fill(),
            Fault::ClockStep(seconds) => self.set_clock(seconds),
            Fault::NameMoves => {
                self.named = 1 - self.named;
                self.hosts.as_ref().unwrap().point(TOOL_NAME, ADDRESSES[self.named]);
            }
            Fault::CertificateExpires => {
                self.terminator.renew(&self.authority.expiring(NAME, SHORT_LIVED));
            }
            Fault::Upstream(pool, kind) => self.misbehave(self.target(pool), kind),
            _ => unreachable!("{fault} is a fault of the edge"),
        }
    }

    pub(crate) fn end(&mut self, fault: Fault) {
        match fault {
            Fault::KillProxy(nth) => {
                self.proxies[nth] = self.configs[nth].start();
                self.pids.lock().insert(NAMES[nth], self.proxies[nth].pid());
            }
            Fault::StopProxy(nth) => self.proxies[nth].signal("CONT"),
            Fault::NoDescriptors(nth) => limit_files(self.proxies[nth].pid(), &self.open_files),
            Fault::FullLogs => self.logs.as_ref().unwrap().free(),
            Fault::ClockStep(_) => self.set_clock(0),
            Fault::CertificateExpires => self.terminator.renew(&self.authority.identity(NAME)),
            Fault::Upstream(pool, Misbehavior::Refuses) => self.tools[self.target(pool)].restart(),
            Fault::Upstream(pool, _) => self.tools[self.target(pool)].release(),
            _ => {}
        }
    }

    /// Returns the tool that serves a pool: one of `qr`, that of `pdf`, or the one that the name of
    /// `seo` leads to.
    const fn target(&self, pool: usize) -> usize {
        match pool {
            0 => 0,
            1 => 2,
            _ => 3 + self.named,
        }
    }

    fn misbehave(&self, tool: usize, kind: Misbehavior) {
        let tool = &self.tools[tool];
        tool.set(match kind {
            Misbehavior::Resets => ToolBehavior::RespondAndReset(Vec::new()),
            Misbehavior::Cuts => ToolBehavior::RespondAndClose(CUT.to_vec()),
            Misbehavior::Freezes => ToolBehavior::Wait,
            Misbehavior::Babbles => ToolBehavior::RespondAndClose(b"\0\xff not HTTP\r\n\r\n".to_vec()),
            Misbehavior::Lies => ToolBehavior::Respond(LYING.to_vec()),
            Misbehavior::Refuses => return crate::block_on(tool.stop()),
        });
    }

    fn set_clock(&self, seconds: i32) {
        let clock = self.clock.as_ref().unwrap();
        let next = clock.with_extension("next");
        fs::write(&next, format!("{seconds:+}")).unwrap();
        fs::rename(next, clock).unwrap();
    }

    /// Counts the executions of each call at all tools by the number in its target.
    pub(crate) fn executions(&self) -> BTreeMap<u64, usize> {
        let mut executions = BTreeMap::new();
        for head in self.tools.iter().flat_map(|tool| tool.received()) {
            let number = head.split_once("chaos?n=").and_then(|(_, rest)| rest.split_once('&'));
            if let Some(number) = number.and_then(|(number, _)| number.parse().ok()) {
                *executions.entry(number).or_insert(0) += 1;
            }
        }
        executions
    }
}

/// Has the first and the last proxy write a line for each call to a file in a folder.
fn write_logs(folder: &Path, configs: &mut [ProxyConfig; 3]) {
    for nth in [0, DIRECT] {
        let config = std::mem::take(&mut configs[nth]).section("log", "");
        configs[nth] = config.log_file(&folder.join(format!("log-{nth}")));
    }
}

/// Returns the limit on the open files of a process.
fn open_files(pid: u32) -> String {
    let limits = fs::read_to_string(format!("/proc/{pid}/limits")).unwrap();
    let line = limits.lines().find_map(|line| line.strip_prefix("Max open files")).unwrap();
    line.split_whitespace().next().unwrap().to_owned()
}

fn limit_files(pid: u32, limit: &str) {
    let mut prlimit = Command::new("prlimit");
    let status = prlimit.args([&format!("--pid={pid}"), &format!("--nofile={limit}:")]).status().unwrap();
    assert!(status.success(), "prlimit --nofile={limit}:");
}
