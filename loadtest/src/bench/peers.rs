//! The proxies that are compared, each set up for the same work: an unknown key is 401, one over its minute 429, an
//! unknown tool 404, and each of 17 tools has a pool with connections that are kept.

use std::ffi::OsStr;
use std::fs;
use std::io::{self, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::rc::Rc;

use shared::key::{ApiKey, KeyEnv, KeyId};
use shared::secret::MacKeys;
use shared::tier::Tier;
use shared::time::UnixMillis;
use shared::tool::Tool;

use super::message::Credential;
use super::process::Process;

/// One of the proxies, running.
pub(super) struct Peer {
    pub(super) name: &'static str,
    pub(super) process: Process,
    pub(super) address: SocketAddr,
    /// What good calls present.
    pub(super) good: Credential,
    /// What calls present that are to be answered 401; `None` where there is no such answer.
    pub(super) unknown: Option<Credential>,
    /// What calls present that are to be answered 429.
    pub(super) spent: Option<Credential>,
}

/// Where things are and on which processor peers run.
pub(super) struct Place<'a> {
    pub(super) programs: &'a Path,
    pub(super) folder: &'a Path,
    pub(super) upstream: SocketAddr,
    pub(super) processor: usize,
}

/// What the other peers know: keys as long as ours, each allowed so many calls a minute.
const KEYS: usize = 1_000;
const GRANT_SECRET: &str = "grant-secret-of-the-bench-0123456789";
const SIGNING_SECRET: &str = "key-signing-secret-of-the-bench-01234";
const ADMIN_SECRET: &str = "admin-secret-of-the-bench-0123456789";
/// Keys that call in turn in direct mode: so many that none comes to its 500 calls a minute.
const DIRECT_KEYS: u64 = 20_000;
const NGINX: &str = include_str!("peers/nginx.conf");
const HAPROXY: &str = include_str!("peers/haproxy.cfg");

impl Place<'_> {
    /// Starts every peer that there is on this machine; those that are not installed are named.
    pub(super) async fn start(&self, only: &[String]) -> io::Result<Vec<Peer>> {
        let mut peers = Vec::new();
        for name in ["bare", "bare tuned", "utg", "utg direct", "nginx", "haproxy"] {
            if !only.is_empty() && !only.iter().any(|other| other == name) {
                continue;
            }
            let named = |error: io::Error| io::Error::new(error.kind(), format!("{name}: {error}"));
            match name {
                "bare" => peers.push(self.bare(name, &[]).await.map_err(named)?),
                "bare tuned" => peers.push(self.bare(name, &["tuned"]).await.map_err(named)?),
                "utg" => peers.push(self.utg(name).await.map_err(named)?),
                "utg direct" => peers.push(self.utg_direct(name).await.map_err(named)?),
                program if !is_installed(program) => {
                    writeln!(io::stderr(), "{program} is not installed: left out")?;
                }
                "nginx" => peers.push(self.nginx(name).await.map_err(named)?),
                _ => peers.push(self.haproxy(name).await.map_err(named)?),
            }
        }
        Ok(peers)
    }

    async fn bare(&self, name: &'static str, words: &[&str]) -> io::Result<Peer> {
        let address = free_address()?;
        let (listen, upstream) = (address.to_string(), self.upstream.to_string());
        let arguments: Vec<&OsStr> =
            [listen.as_str(), &upstream].into_iter().chain(words.iter().copied()).map(OsStr::new).collect();
        let process = self.process(name, self.programs.join("examples/bare"), &arguments, &[])?;
        self.ready(Peer { name, process, address, good: Credential::None, unknown: None, spent: None }).await
    }

    async fn utg(&self, name: &'static str) -> io::Result<Peer> {
        let (address, admin) = (free_address()?, free_address()?);
        let callers = "[grants]\nsecret = \"${GRANT_SECRET}\"\n";
        let file = self.write("utg.toml", &self.utg_config(address, admin, callers))?;
        let secret = [("GRANT_SECRET", GRANT_SECRET)];
        let process =
            self.process(name, self.programs.join("proxy"), &[OsStr::new("-c"), file.as_os_str()], &secret)?;
        let keys = MacKeys::parse(GRANT_SECRET).map_err(|fault| io::Error::other(format!("{fault:?}")))?;
        let (good, unknown) = (Credential::Grants(Rc::new(keys)), Some(Credential::None));
        self.ready(Peer { name, process, address, good, unknown, spent: None }).await
    }

    /// The same without an edge: it checks keys and keeps their quotas.
    async fn utg_direct(&self, name: &'static str) -> io::Result<Peer> {
        let (address, admin) = (free_address()?, free_address()?);
        let callers = format!(
            "[keys]\ndirect = true\nsecret = \"${{KEY_SIGNING_SECRET}}\"\nadmin_secret = \"${{ADMIN_SECRET}}\"\n\
             state = {:?}\nbehind_tls = true\n",
            self.folder.join("utg-keys")
        );
        let file = self.write("utg-direct.toml", &self.utg_config(address, admin, &callers))?;
        let secrets = [("KEY_SIGNING_SECRET", SIGNING_SECRET), ("ADMIN_SECRET", ADMIN_SECRET)];
        let arguments = [OsStr::new("-c"), file.as_os_str()];
        let process = self.process(name, self.programs.join("proxy"), &arguments, &secrets)?;
        let keys = MacKeys::parse(SIGNING_SECRET).map_err(|fault| io::Error::other(format!("{fault:?}")))?;
        let good: Vec<String> = (0..DIRECT_KEYS).map(|number| enterprise_key(number, &keys)).collect();
        let strangers =
            MacKeys::parse(GRANT_SECRET).map_err(|fault| io::Error::other(format!("{fault:?}")))?;
        let (good, unknown) =
            (Credential::Keys(good.into()), Credential::Keys([enterprise_key(0, &strangers)].into()));
        let peer = Peer { name, process, address, good, unknown: Some(unknown), spent: None };
        let peer = self.ready(peer).await?;
        let spent = Credential::Keys([issue_for_one_call(address)?].into());
        Ok(Peer { spent: Some(spent), ..peer })
    }

    /// Ours, with bounds that nobody hits; `callers` is the section that says who may call.
    fn utg_config(&self, address: SocketAddr, admin: SocketAddr, callers: &str) -> String {
        let mut config = format!(
            "[server]\nlisten = \"{address}\"\nadmin = \"{admin}\"\nthreads = 1\n\n{callers}\n\
             [clients]\nrequests_per_connection = 1_000_000_000\nrefusals_per_second = 1_000_000\n\
             connections = 1_000_000\nconnections_per_address = 1_000_000\n\n\
             [defaults]\nmax_body = \"2GiB\"\n\n[pools]\n"
        );
        for tool in Tool::ALL {
            config.push_str(&format!("{tool}.upstreams = [\"{}\"]\n", self.upstream));
        }
        config
    }

    async fn nginx(&self, name: &'static str) -> io::Result<Peer> {
        let address = free_address()?;
        let list: String = keys().map(|key| format!("        \"{key}\" \"{key}\";\n")).collect();
        let pool = |tool: Tool| {
            format!(
                "    upstream {tool} {{ server {}; keepalive 256; keepalive_requests 1000000000; }}\n",
                self.upstream
            )
        };
        let pools: String = Tool::ALL.map(pool).concat();
        let tool = |tool: Tool| format!("        \"{tool}\" {tool};\n");
        let config = NGINX
            .replace("@folder@", &self.folder.display().to_string())
            .replace("@listen@", &address.to_string())
            .replace("@spent@", &spent())
            .replace("@keys@", &list)
            .replace("@pools@", &pools)
            .replace("@tools@", &Tool::ALL.map(tool).concat());
        let file = self.write("nginx.conf", &config)?;
        let arguments = [OsStr::new("-p"), self.folder.as_os_str(), OsStr::new("-c"), file.as_os_str()];
        let process = self.process(name, "nginx", &arguments, &[])?;
        self.ready(with_keys(name, process, address)).await
    }

    async fn haproxy(&self, name: &'static str) -> io::Result<Peer> {
        let address = free_address()?;
        let limits: String = keys().map(|key| format!("{key} 1000000000\n")).collect();
        let limits = self.write("limits.map", &format!("{limits}{} 1\n", spent()))?;
        let tools = self.write("tools.map", &Tool::ALL.map(|tool| format!("{tool} {tool}\n")).concat())?;
        let pool = |tool: Tool| {
            format!(
                "backend {tool}\n    option httpchk GET /healthz\n    server one {} check inter 2s\n\n",
                self.upstream
            )
        };
        let config = HAPROXY
            .replace("@listen@", &address.to_string())
            .replace("@limits@", &limits.display().to_string())
            .replace("@tools@", &tools.display().to_string())
            .replace("@pools@", &Tool::ALL.map(pool).concat());
        let file = self.write("haproxy.cfg", &config)?;
        let process = self.process(name, "haproxy", &[OsStr::new("-f"), file.as_os_str()], &[])?;
        self.ready(with_keys(name, process, address)).await
    }

    fn process(
        &self,
        name: &str,
        program: impl AsRef<OsStr>,
        arguments: &[&OsStr],
        environment: &[(&str, &str)],
    ) -> io::Result<Process> {
        let log = self.folder.join(format!("{}.log", name.replace(' ', "-")));
        Process::start(self.processor, program, arguments, environment, &log)
    }

    async fn ready(&self, mut peer: Peer) -> io::Result<Peer> {
        peer.process.listens(peer.address).await?;
        Ok(peer)
    }

    fn write(&self, name: &str, text: &str) -> io::Result<PathBuf> {
        let file = self.folder.join(name);
        fs::write(&file, text)?;
        Ok(file)
    }
}

/// A key as if it had just been issued.
fn enterprise_key(number: u64, keys: &MacKeys) -> String {
    let mut id = [0; 12];
    // Spread over all bits, as random ids are.
    let spread = number.wrapping_mul(0x9E37_79B9_7F4A_7C15).to_be_bytes();
    for (place, byte) in id.iter_mut().zip(spread.iter().chain(&spread)) {
        *place = *byte;
    }
    let since = std::time::UNIX_EPOCH.elapsed().unwrap_or_default();
    let now = UnixMillis(u64::try_from(since.as_millis()).unwrap_or_default());
    ApiKey::mint(KeyEnv::Live, KeyId::new(id), Tier::Enterprise, now, [7; 16], keys).0.reveal()
}

/// A key that may make one call a day.
fn issue_for_one_call(address: SocketAddr) -> io::Result<String> {
    let body = format!(
        r#"{{"admin_secret":"{ADMIN_SECRET}","email":"bench@example.com","name":"Bench","tier":"free","limits":{{"minute":1,"day":1}}}}"#
    );
    let mut stream = TcpStream::connect(address)?;
    let length = body.len();
    write!(
        stream,
        "POST /v1/keys/issue HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\nContent-Type: application/json\r\n\
         Content-Length: {length}\r\n\r\n{body}"
    )?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    let body = answer.split_once("\r\n\r\n").map_or("", |(_, body)| body);
    let issued: serde_json::Value = serde_json::from_str(body)?;
    let key = issued.get("key").and_then(serde_json::Value::as_str);
    key.map(str::to_owned).ok_or_else(|| io::Error::other("no key was issued"))
}

fn with_keys(name: &'static str, process: Process, address: SocketAddr) -> Peer {
    Peer {
        name,
        process,
        address,
        good: Credential::Keys(keys().collect()),
        unknown: Some(Credential::Keys([key_text("unknown", 0)].into())),
        spent: Some(Credential::Keys([spent()].into())),
    }
}

fn keys() -> impl Iterator<Item = String> {
    (0..KEYS).map(|number| key_text("known", number))
}

fn spent() -> String {
    key_text("spent", 0)
}

fn key_text(kind: &str, number: usize) -> String {
    format!("utg_live_{kind:Z<30}{number:Z>40}")
}

fn free_address() -> io::Result<SocketAddr> {
    TcpListener::bind("127.0.0.1:0")?.local_addr()
}

fn is_installed(program: &str) -> bool {
    let asked = Command::new(program)
        .arg("-v")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    asked.is_ok_and(|status| status.success())
}
