//! The proxies that are compared, each set up for the same work: an unknown key is 401, one over its minute 429, an
//! unknown tool 404, and each of 17 tools has a pool with connections that are kept.

use std::ffi::OsStr;
use std::fs;
use std::io::{self, Write as _};
use std::net::{SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::rc::Rc;

use shared::key::{ApiKey, KeyEnv, KeyId};
use shared::secret::MacKeys;
use shared::tier::Tier;
use shared::time::UnixMillis;
use shared::tool::Tool;

use crate::message::Credential;
use crate::process::{self, Process};
use crate::share::Share;

/// One of the proxies, running.
pub(crate) struct Peer {
    pub(crate) name: &'static str,
    pub(crate) process: Process,
    pub(crate) address: SocketAddr,
    /// Where it tells its metrics, if it is ours.
    pub(crate) admin: Option<SocketAddr>,
    /// What good calls present.
    pub(crate) good: Credential,
    /// What calls present that are to be answered 401; `None` where there is no such answer.
    pub(crate) unknown: Option<Credential>,
    /// What calls present that are to be answered 429.
    pub(crate) spent: Option<Credential>,
}

/// Where things are and on which processor peers run.
pub(crate) struct Place<'a> {
    pub(crate) programs: &'a Path,
    pub(crate) folder: &'a Path,
    pub(crate) upstream: SocketAddr,
    pub(crate) processor: usize,
    /// Keys that call in direct mode.
    pub(crate) keys: usize,
}

/// What the other peers know: keys as long as ours, each allowed so many calls a minute.
const KEYS: usize = 1_000;
const KEY_SIGNING_SECRET: &str = "key-signing-secret-of-the-bench-0123";
const GRANT_SECRET: &str = "grant-secret-of-the-bench-0123456789";
const NGINX: &str = include_str!("peers/nginx.conf");
const HAPROXY: &str = include_str!("peers/haproxy.cfg");

impl Peer {
    /// Whether it knows callers from others.
    pub(crate) const fn refuses(&self) -> bool {
        self.unknown.is_some() || self.spent.is_some()
    }

    /// A peer that asks for nothing and refuses nothing.
    const fn new(name: &'static str, process: Process, address: SocketAddr) -> Self {
        Self { name, process, address, admin: None, good: Credential::None, unknown: None, spent: None }
    }

    /// What the gateway's own share of its calls was until now; `None` of a peer that is not ours.
    pub(crate) async fn share(&self) -> io::Result<Option<Share>> {
        let Some(admin) = self.admin else { return Ok(None) };
        let answer = process::get(admin, "/metrics").await?;
        let share = Share::parse(&String::from_utf8_lossy(&answer));
        share.map(Some).ok_or_else(|| io::Error::other("the metrics do not tell the gateway's own share"))
    }
}

impl Place<'_> {
    /// Starts every peer that there is on this machine; those that are not installed are named.
    pub(crate) async fn start(&self, only: &[String]) -> io::Result<Vec<Peer>> {
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
                "utg direct" => peers.push(self.direct(name).await.map_err(named)?),
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
        self.ready(Peer::new(name, process, address)).await
    }

    /// Our proxy behind an edge: it checks a grant for every call.
    async fn utg(&self, name: &'static str) -> io::Result<Peer> {
        let mut peer = self.ours(name, "utg.toml", "[grants]\nsecret = \"${GRANT_SECRET}\"\n").await?;
        peer.good = Credential::Grants(Rc::new(secret(GRANT_SECRET)?));
        peer.unknown = Some(Credential::None);
        Ok(peer)
    }

    /// Our proxy without an edge: it checks keys and keeps their quotas. The keys are more than the others', since each
    /// may make a few hundred calls a minute.
    async fn direct(&self, name: &'static str) -> io::Result<Peer> {
        let state = self.folder.join("keys");
        let section = format!(
            "[keys]\ndirect = true\nbehind_tls = true\nsecret = \"${{KEY_SIGNING_SECRET}}\"\nstate = \"{}\"\n",
            state.display()
        );
        let mut peer = self.ours(name, "direct.toml", &section).await?;
        let signing = secret(KEY_SIGNING_SECRET)?;
        let key = |tier: Tier, number: usize, signing: &MacKeys| {
            // Spread over all bits, as the random ids of real keys are.
            let spread =
                (number as u128 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15_F39C_C060_5CED_C835).to_le_bytes();
            let mut id = [0; 12];
            id.iter_mut().zip(spread.into_iter().rev()).for_each(|(byte, of)| *byte = of);
            let (key, _) = ApiKey::mint(
                KeyEnv::Live,
                KeyId::new(id),
                tier,
                UnixMillis(1_763_000_000_000),
                [7; 16],
                signing,
            );
            key.reveal()
        };
        peer.good =
            Credential::Keys((0..self.keys).map(|number| key(Tier::Enterprise, number, &signing)).collect());
        peer.unknown = Some(Credential::Keys([key(Tier::Pro, 0, &secret(GRANT_SECRET)?)].into()));
        peer.spent = Some(Credential::Keys([key(Tier::Free, usize::MAX, &signing)].into()));
        Ok(peer)
    }

    async fn ours(&self, name: &'static str, file: &str, callers: &str) -> io::Result<Peer> {
        let (address, admin) = (free_address()?, free_address()?);
        let pools = Tool::ALL.map(|tool| format!("{tool}.upstreams = [\"{}\"]\n", self.upstream)).concat();
        let config = format!(
            "[server]\nlisten = \"{address}\"\nadmin = \"{admin}\"\nthreads = 1\n\n{callers}\n\
             [clients]\nconnections_per_address = 10_000\nrequests_per_connection = 1_000_000_000\n\
             refusals_per_second = 1_000_000\n\n[defaults]\nmax_body = \"2GiB\"\n\n[pools]\n{pools}"
        );
        let file = self.write(file, &config)?;
        let secrets = [("GRANT_SECRET", GRANT_SECRET), ("KEY_SIGNING_SECRET", KEY_SIGNING_SECRET)];
        let arguments = [OsStr::new("-c"), file.as_os_str()];
        let mut process = self.process(name, self.programs.join("proxy"), &arguments, &secrets)?;
        process.answers(admin, "/readyz").await?;
        self.ready(Peer { admin: Some(admin), ..Peer::new(name, process, address) }).await
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

fn secret(text: &str) -> io::Result<MacKeys> {
    MacKeys::parse(text).map_err(|fault| io::Error::other(fault.to_string()))
}

fn with_keys(name: &'static str, process: Process, address: SocketAddr) -> Peer {
    Peer {
        good: Credential::Keys(keys().collect()),
        unknown: Some(Credential::Keys([key_text("unknown", 0)].into())),
        spent: Some(Credential::Keys([spent()].into())),
        ..Peer::new(name, process, address)
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
