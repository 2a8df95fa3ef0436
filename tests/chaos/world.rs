//! The stack of a run: the worker in workerd, two proxies, four fake tools, a receiver of webhooks.

use std::{
    collections::BTreeMap, fs, net::SocketAddr, path::PathBuf, process::Command, sync::Arc, time::Duration,
};

use parking_lot::Mutex;
use serde_json::{Value, json};
use shared::tool::Tool;
use tempfile::TempDir;
use tests::{
    FakeTool, Proxy, ProxyConfig, ToolBehavior,
    faults::{ACCOUNT, Fate, Faults, KV_GET, METER, PAGES_GET, SALT, STATS, WEBHOOKS},
    http::Request,
    keys,
    objects::Object,
    process::send_signal,
    receiver::Receiver,
    stack::Edge,
    tls::{Authority, NAME, TempFiles, TlsTerminator, quoted},
    wait::{PATIENCE, wait_for},
};

use crate::{
    load::Key,
    plan::{Fault, Misbehavior},
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

/// The worker, its bindings, its disk, and the receiver of webhooks.
pub(crate) struct EdgeSide {
    pub(crate) edge: Edge,
    pub(crate) receiver: Receiver,
    faults: Faults,
    origins: String,
    pids: Pids,
    disk: Option<Disk>,
}

/// The proxies and the tools.
pub(crate) struct OriginSide {
    pub(crate) proxies: [Proxy; 2],
    configs: [ProxyConfig; 2],
    /// Two of `qr`, one of `pdf` behind TLS, and those at the two addresses of `seo`.
    pub(crate) tools: [Arc<FakeTool>; 5],
    terminator: TlsTerminator,
    authority: Authority,
    hosts: Option<Hosts>,
    named: usize,
    clock: Option<PathBuf>,
    open_files: String,
    pids: Pids,
    _folder: TempDir,
    _files: TempFiles,
}

/// A published page whose link is clicked.
pub(crate) struct Page {
    pub(crate) id: String,
    pub(crate) account: String,
    pub(crate) key: String,
    /// The path of its link.
    pub(crate) link: String,
}

const NAMES: [&str; 2] = ["proxy a", "proxy b"];

impl OriginSide {
    pub(crate) async fn start(has_mounts: bool, pids: &Pids) -> Self {
        let (folder, files) = (tempfile::tempdir().unwrap(), TempFiles::create());
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
                "listen = \"127.0.0.1:0\"\nadmin = \"127.0.0.1:0\"\ndata_centre = \"{name}\"\nthreads = 2\n"
            )
        };
        let mut configs = ["a", "b"].map(|name| base.clone().section("server", &server(name)));
        if let (Some(library), Some(clock)) = (libfaketime(), &clock) {
            fs::write(clock, "+0").unwrap();
            let second = std::mem::take(&mut configs[1]).variable("LD_PRELOAD", library);
            configs[1] = second
                .variable("FAKETIME_TIMESTAMP_FILE", clock)
                .variable("FAKETIME_CACHE_DURATION", "1")
                .variable("FAKETIME_DONT_FAKE_MONOTONIC", "1");
        }
        let proxies = [configs[0].ready().await, configs[1].ready().await];
        for nth in 0..2 {
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
            named,
            clock,
            open_files,
            pids,
            _folder: folder,
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

impl EdgeSide {
    pub(crate) fn start(has_mounts: bool, origins: &str, pids: &Pids) -> Self {
        let faults = Faults::start();
        let state = tempfile::tempdir().unwrap();
        let disk = has_mounts.then(|| Disk::mount(state.path()));
        let edge = Edge::start_at_with_faults(origins, state, &faults);
        let (pids, origins) = (Arc::clone(pids), origins.to_owned());
        let side = Self { edge, receiver: Receiver::start(), faults, origins, pids, disk };
        side.note_pids();
        side
    }

    fn note_pids(&self) {
        let mut pids = self.pids.lock();
        pids.insert("workerd", self.edge.process.child("workerd"));
        pids.insert("miniflare", self.edge.process.pid());
    }

    /// Returns true if the machine allows the fault.
    pub(crate) const fn allows(&self, fault: Fault) -> bool {
        !matches!(fault, Fault::FullDisk) || self.disk.is_some()
    }

    pub(crate) fn begin(&mut self, fault: Fault) {
        match fault {
            Fault::KillEdge => self.edge.kill(),
            Fault::StopEdge => send_signal(self.edge.process.child("workerd"), "STOP"),
            Fault::FullDisk => self.disk.as_ref().unwrap().fill(),
            Fault::ReceiverFails => self.receiver.respond("500 Internal Server Error"),
            Fault::KvDown => self.set(&[KV_GET, PAGES_GET], Fate::Fail),
            Fault::MeterDown => self.set(&[METER], Fate::Fail),
            Fault::ObjectsLate => self.set(&[METER, ACCOUNT, STATS, SALT, WEBHOOKS], Fate::Far { ms: 400 }),
            _ => unreachable!("{fault} is a fault of the origins"),
        }
    }

    pub(crate) fn end(&mut self, fault: Fault) {
        match fault {
            Fault::KillEdge => {
                self.edge.start_again(&self.origins, &self.faults);
                self.note_pids();
            }
            Fault::StopEdge => send_signal(self.edge.process.child("workerd"), "CONT"),
            Fault::FullDisk => self.disk.as_ref().unwrap().free(),
            Fault::ReceiverFails => self.receiver.respond("204 No Content"),
            _ => self.set(&[KV_GET, PAGES_GET, METER, ACCOUNT, STATS, SALT, WEBHOOKS], Fate::Pass),
        }
    }

    fn set(&self, operations: &[&'static str], fate: Fate) {
        operations.iter().for_each(|operation| self.faults.set(operation, fate));
    }

    /// Issues a key with these fields besides its holder.
    pub(crate) fn issue(&self, fields: &Value) -> Value {
        let mut body = json!({"email": "ada@example.com", "name": "Ada", "admin_secret": keys::ADMIN_SECRET});
        body.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        let response = Request::post("/v1/keys/issue", &body).send(self.edge.addr);
        assert_eq!(response.status, 201, "{}", response.text());
        response.json()
    }

    /// Publishes a page and subscribes the receiver to the clicks on its link.
    pub(crate) fn publish(&self) -> Page {
        let issued = self.issue(&json!({"tier": "free", "biolink_plan": "business"}));
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        let (key, account) = (text(&issued["key"]), text(&issued["account"]));
        let link = json!({"title": "News", "url": "https://example.com/news"});
        let page = json!({"title": "Ada", "slug": "ada", "status": "published", "links": [link]});
        let created = Request::post("/pages", &page).key(&key).send(self.edge.addr);
        assert_eq!(created.status, 201, "{}", created.text());
        let hook = json!({"url": self.receiver.url("/hook"), "events": ["click"]});
        let hook = Request::post("/webhooks", &hook).key(&key).send(self.edge.addr);
        assert_eq!(hook.status, 201, "{}", hook.text());
        let page = created.json();
        let link = format!("/ada/l/{}", text(&page["links"][0]["id"]));
        let page = Page { id: text(&page["id"]), account, key, link };
        wait_for(PATIENCE, || self.is_subscribed(&page).then_some(()));
        page
    }

    /// Returns true if the store of the page writes clicks to its outbox.
    fn is_subscribed(&self, page: &Page) -> bool {
        let stats = Object::stats(&self.edge, &page.id);
        stats.send(&json!({"export": 0}));
        let stored = stats.sql("SELECT j FROM settings");
        stored.first().and_then(|row| row[0].as_str()).is_some_and(|settings| settings.contains("click"))
    }

    /// Returns what `GET /v1/keys/me` says of a key.
    pub(crate) fn own_key(&self, key: &Key) -> Option<Value> {
        let response = Request::get("/v1/keys/me").key(&key.text).try_send(self.edge.addr)?;
        (response.status == 200).then(|| response.json())
    }

    /// Returns the clicks that the report counts today.
    pub(crate) fn counted(&self, page: &Page) -> Option<u64> {
        let report = Request::get("/analytics?metrics=clicks").key(&page.key).try_send(self.edge.addr)?;
        report.json()["totals"]["clicks"].as_u64()
    }

    /// Returns the number of events in the outbox of the page's store, and of deliveries that are
    /// neither delivered nor failed. Makes them due now, and closes the circuit of the receiver.
    pub(crate) fn undelivered(&self, page: &Page) -> u64 {
        let (stats, webhooks) =
            (Object::stats(&self.edge, &page.id), Object::webhooks(&self.edge, &page.account));
        let count = |rows: Vec<Vec<Value>>| rows[0][0].as_u64().unwrap();
        let left = count(stats.sql("SELECT COUNT(*) FROM outbox"))
            + count(webhooks.sql("SELECT COUNT(*) FROM delivery WHERE state < 2"));
        if left > 0 {
            stats.set_alarm(keys::now());
            webhooks.sql("UPDATE delivery SET due = 0 WHERE state < 2");
            webhooks
                .sql("UPDATE state SET j = json_remove(j, '$.list[0].health.probe') WHERE k = 'endpoints'");
            webhooks.restart();
            webhooks.set_alarm(keys::now());
        }
        left
    }

    /// Waits until calls of each tool pass.
    pub(crate) fn recovered(&self, key: &str) -> Duration {
        let started = std::time::Instant::now();
        for tool in [Tool::Qr, Tool::Pdf, Tool::Seo] {
            for method in ["GET", "POST"] {
                let request = Request::new(method, &format!("/v1/{tool}/look")).key(key);
                let request = if method == "POST" { request.json("{}") } else { request };
                let passes =
                    || request.try_send(self.edge.addr).is_some_and(|response| response.status == 200);
                wait_for(PATIENCE, || passes().then_some(()));
            }
        }
        started.elapsed()
    }

    /// Returns the folder of the worker's state.
    pub(crate) fn state(&self) -> PathBuf {
        self.edge.state().to_owned()
    }

    pub(crate) const fn addr(&self) -> SocketAddr {
        self.edge.addr
    }
}
