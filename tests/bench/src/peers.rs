//! The compared proxies, configured for the same work.
//!
//! nginx, HAProxy, Caddy and Envoy have the defaults of their settings, and those that operators choose
//! for speed ("tuned"). An unknown key is 401, a key over its minute limit 429, an unknown tool 404. Each of 17 tools
//! has a connection pool.

use std::ffi::OsStr;
use std::fs;
use std::io::{self, Write as _};
use std::net::{SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::rc::Rc;

use shared::key::{ApiKey, KeyEnv, KeyId};
use shared::secret::MacKeys;
use shared::tier::Tier;
use shared::time::UnixMillis;
use shared::tool::Tool;

use crate::counter::{Counted, Counter};
use crate::message::Credential;
use crate::overhead::OverheadHistogram;
use crate::process::{self, PeerProcess};
use crate::secure::Certificate;

/// The variant of a peer. Each workload is for the peers of one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Variant {
    /// One thread, without TLS.
    Plain,
    /// One thread, with TLS 1.3.
    Tls,
    /// Two threads on two processors, without TLS.
    TwoThreads,
}

/// A running proxy.
pub(crate) struct Peer {
    pub(crate) name: &'static str,
    pub(crate) variant: Variant,
    pub(crate) process: PeerProcess,
    /// The server that keeps its keys' meters, if it is not the proxy itself.
    pub(crate) authority: Option<PeerProcess>,
    pub(crate) address: SocketAddr,
    /// The address of its metrics, if it is our proxy.
    pub(crate) admin: Option<SocketAddr>,
    /// The credential of calls that succeed.
    pub(crate) valid: Credential,
    /// The credential of calls that get 401. `None` if the peer does not authenticate.
    pub(crate) unknown: Option<Credential>,
    /// The credential of calls that get 429. `None` if the peer does not limit.
    pub(crate) exhausted: Option<Credential>,
}

/// The configuration common to all peers.
pub(crate) struct PeerSetup<'a> {
    pub(crate) programs: &'a Path,
    pub(crate) folder: &'a Path,
    pub(crate) upstream: SocketAddr,
    /// The number of the CPU that peers with one thread run on.
    pub(crate) cpu: usize,
    pub(crate) certificate: &'a Certificate,
    /// The number of keys that call in direct mode.
    pub(crate) keys: usize,
    /// What is counted in place of their CPU time.
    pub(crate) counted: Option<Counted>,
}

/// The number of keys that nginx and HAProxy know. They are as long as ours.
const KEYS: usize = 1_000;
const KEY_SIGNING_SECRET: &str = "key-signing-secret-of-the-bench-0123";
const GRANT_SECRET: &str = "grant-secret-of-the-bench-0123456789";
/// The server that can keep the meters of keys, as Debian names it.
const VALKEY: &str = "redis-server";
const NGINX: &str = include_str!("peers/nginx.conf");
const HAPROXY: &str = include_str!("peers/haproxy.cfg");
const CADDY: &str = include_str!("peers/Caddyfile");
const ENVOY: &str = include_str!("peers/envoy.yaml");
const ENVOY_TLS: &str = include_str!("peers/envoy-tls.yaml");
/// What operators of nginx set for downloads: a body of a megabyte fits into the buffers.
const NGINX_TUNING: &str = "proxy_buffer_size 64k; proxy_buffers 16 64k; proxy_busy_buffers_size 128k;";
/// What operators of HAProxy set for downloads.
const HAPROXY_TUNING: &str = "option splice-response";
/// What operators of Caddy set for downloads, beside a rarer collection of garbage (`GOGC`): buffers as large as the
/// relay's, and no compression towards the tool.
const CADDY_TUNING: &str = "compression off\n\t\t\tread_buffer 64KiB\n\t\t\twrite_buffer 64KiB";
/// What operators of Envoy leave out if they have no use for it: statistics of each cluster.
const ENVOY_TUNING: &str = "stats_config: { stats_matcher: { reject_all: true } }";
/// All peers, in the order of the tables.
const PEERS: [(&str, Variant); 26] = [
    ("bare", Variant::Plain),
    ("bare tuned", Variant::Plain),
    ("utg", Variant::Plain),
    ("utg traced", Variant::Plain),
    ("utg pingora", Variant::Plain),
    ("utg direct", Variant::Plain),
    ("utg valkey", Variant::Plain),
    ("nginx", Variant::Plain),
    ("nginx tuned", Variant::Plain),
    ("haproxy", Variant::Plain),
    ("haproxy tuned", Variant::Plain),
    ("caddy", Variant::Plain),
    ("caddy tuned", Variant::Plain),
    ("envoy", Variant::Plain),
    ("envoy tuned", Variant::Plain),
    ("utg tls", Variant::Tls),
    ("nginx tls", Variant::Tls),
    ("haproxy tls", Variant::Tls),
    ("caddy tls", Variant::Tls),
    ("envoy tls", Variant::Tls),
    ("bare 2", Variant::TwoThreads),
    ("utg 2", Variant::TwoThreads),
    ("nginx 2", Variant::TwoThreads),
    ("haproxy 2", Variant::TwoThreads),
    ("caddy 2", Variant::TwoThreads),
    ("envoy 2", Variant::TwoThreads),
];

/// A peer to start.
#[derive(Clone, Copy, Debug)]
struct PeerSpec {
    name: &'static str,
    variant: Variant,
}

impl PeerSpec {
    const fn threads(self) -> usize {
        match self.variant {
            Variant::Plain | Variant::Tls => 1,
            Variant::TwoThreads => 2,
        }
    }

    fn is_tuned(self) -> bool {
        self.name.ends_with(" tuned")
    }
}

impl Peer {
    /// Returns true if the peer authenticates or limits callers.
    pub(crate) const fn refuses(&self) -> bool {
        self.unknown.is_some() || self.exhausted.is_some()
    }

    /// Returns a peer that needs no credential and refuses nothing.
    const fn new(spec: PeerSpec, process: PeerProcess, address: SocketAddr) -> Self {
        let PeerSpec { name, variant } = spec;
        Self {
            name,
            variant,
            process,
            authority: None,
            address,
            admin: None,
            valid: Credential::None,
            unknown: None,
            exhausted: None,
        }
    }

    /// Reads the gateway's overhead histogram. Returns `None` if the peer is not our proxy.
    pub(crate) async fn overhead(&self) -> io::Result<Option<OverheadHistogram>> {
        let Some(admin) = self.admin else { return Ok(None) };
        let response = process::get(admin, "/metrics").await?;
        let histogram = OverheadHistogram::parse(&String::from_utf8_lossy(&response));
        histogram
            .map(Some)
            .ok_or_else(|| io::Error::other("the metrics of the proxy lack its overhead histogram"))
    }
}

impl PeerSetup<'_> {
    /// Starts the peers of these variants that are in `only`, or all if it is empty. Prints the names
    /// of those that are not installed.
    pub(crate) async fn start(&self, only: &[String], variants: &[Variant]) -> io::Result<Vec<Peer>> {
        let mut peers = Vec::new();
        for (name, variant) in PEERS {
            let is_selected = only.is_empty() || only.iter().any(|other| other == name);
            if !is_selected || !variants.contains(&variant) {
                continue;
            }
            let program = name.split(' ').next().unwrap_or_default();
            if self.counted == Some(Counted::Instructions) && matches!(program, "caddy" | "envoy") {
                writeln!(io::stderr(), "skipping {name}: valgrind does not run it")?;
                continue;
            }
            let needed = if name == "utg valkey" { VALKEY } else { program };
            let asked = match needed {
                "nginx" | "haproxy" | VALKEY => Some("-v"),
                "caddy" => Some("version"),
                "envoy" => Some("--version"),
                _ => None,
            };
            if asked.is_some_and(|option| !process::is_installed(needed, option)) {
                writeln!(io::stderr(), "skipping {name}: not installed")?;
                continue;
            }
            let peer = self.start_peer(PeerSpec { name, variant }, program).await;
            peers.push(peer.map_err(|error| io::Error::new(error.kind(), format!("{name}: {error}")))?);
        }
        Ok(peers)
    }

    async fn start_peer(&self, spec: PeerSpec, program: &str) -> io::Result<Peer> {
        match (program, spec.name) {
            ("bare", _) => self.start_bare(spec).await,
            ("nginx", _) => self.start_nginx(spec).await,
            ("haproxy", _) => self.start_haproxy(spec).await,
            ("caddy", _) => self.start_caddy(spec).await,
            ("envoy", _) => self.start_envoy(spec).await,
            (_, "utg direct") => self.start_direct(spec, "").await,
            (_, "utg valkey") => self.start_with_valkey(spec).await,
            (_, "utg pingora") => self.start_behind_edge(spec, "pingora-proxy").await,
            _ => self.start_behind_edge(spec, "relay").await,
        }
    }

    async fn start_bare(&self, spec: PeerSpec) -> io::Result<Peer> {
        let address = free_address()?;
        let (listen, upstream) = (address.to_string(), self.upstream.to_string());
        let threads = spec.threads().to_string();
        let settings = if spec.is_tuned() { "tuned" } else { "default" };
        let arguments = [&listen, &upstream, settings, &threads].map(OsStr::new);
        let process = self.spawn(spec, self.programs.join("bare"), &arguments, &[])?;
        self.wait_for(Peer::new(spec, process, address)).await
    }

    /// Starts our proxy behind an edge. It verifies a grant for every call. If it traces, it exports one
    /// call of a hundred, to the upstream.
    async fn start_behind_edge(&self, spec: PeerSpec, transport: &str) -> io::Result<Peer> {
        let mut sections = "[grants]\nsecret = \"${GRANT_SECRET}\"\n".to_owned();
        if spec.name == "utg traced" {
            sections += &format!("[tracing]\nendpoint = \"http://{}\"\nratio = 0.01\n", self.upstream);
        }
        let mut peer = self.start_proxy(spec, transport, &sections).await?;
        peer.valid = Credential::Grants(Rc::new(parse_secret(GRANT_SECRET)?));
        peer.unknown = Some(Credential::None);
        Ok(peer)
    }

    /// Starts our proxy in direct mode. It verifies keys and counts their quotas. It has more keys
    /// than nginx and HAProxy because each may make only a few hundred calls a minute.
    async fn start_direct(&self, spec: PeerSpec, limits: &str) -> io::Result<Peer> {
        let state = self.folder.join(format!("{}-keys", spec.name.replace(' ', "-")));
        let section = format!(
            "[keys]\ndirect = true\nbehind_tls = true\nsecret = \"${{KEY_SIGNING_SECRET}}\"\nstate = \"{}\"\n{limits}",
            state.display()
        );
        let mut peer = self.start_proxy(spec, "relay", &section).await?;
        let signing = parse_secret(KEY_SIGNING_SECRET)?;
        let key = |tier: Tier, number: usize, signing: &MacKeys| {
            // Spread over all bits, like the random ids of real keys.
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
        peer.valid =
            Credential::Keys((0..self.keys).map(|number| key(Tier::Enterprise, number, &signing)).collect());
        peer.unknown = Some(Credential::Keys([key(Tier::Pro, 0, &parse_secret(GRANT_SECRET)?)].into()));
        peer.exhausted = Some(Credential::Keys([key(Tier::Free, usize::MAX, &signing)].into()));
        Ok(peer)
    }

    /// Starts the same with its own Redis, which keeps the meters of keys.
    async fn start_with_valkey(&self, spec: PeerSpec) -> io::Result<Peer> {
        let address = free_address()?;
        let port = address.port().to_string();
        let folder = self.folder.display().to_string();
        let arguments =
            ["--port", &port, "--bind", "127.0.0.1", "--save", "", "--dir", &folder].map(OsStr::new);
        let mut authority = self.spawn(PeerSpec { name: "valkey", ..spec }, VALKEY, &arguments, &[])?;
        authority.wait_until_listening(address).await?;
        let limits = format!("[limits]\nauthority = \"valkey\"\n\n[valkey]\nservers = [\"{address}\"]\n");
        Ok(Peer { authority: Some(authority), ..self.start_direct(spec, &limits).await? })
    }

    async fn start_proxy(&self, spec: PeerSpec, transport: &str, callers: &str) -> io::Result<Peer> {
        let (address, admin) = (free_address()?, free_address()?);
        let pools = Tool::ALL.map(|tool| format!("{tool}.upstreams = [\"{}\"]\n", self.upstream)).concat();
        let Certificate { certificate, key, .. } = self.certificate;
        let tls = match spec.variant {
            Variant::Tls => format!(
                "[server.tls]\ncertificate = \"{}\"\nkey = \"{}\"\nmin_version = \"1.3\"\n\n",
                certificate.display(),
                key.display()
            ),
            Variant::Plain | Variant::TwoThreads => String::new(),
        };
        let config = format!(
            "[server]\nlisten = \"{address}\"\nadmin = \"{admin}\"\nthreads = {}\n\
             transport = \"{transport}\"\n\n{tls}{callers}\n\
             [clients]\nconnections_per_address = 10_000\nrequests_per_connection = 1_000_000_000\n\
             refusals_per_second = 1_000_000\n\n[defaults]\nmax_body = \"2GiB\"\ncalls_in_flight = 2_000\n\n[pools]\n{pools}",
            spec.threads()
        );
        let file = self.write_file(&format!("{}.toml", spec.name.replace(' ', "-")), &config)?;
        let secrets = [("GRANT_SECRET", GRANT_SECRET), ("KEY_SIGNING_SECRET", KEY_SIGNING_SECRET)];
        let arguments = [OsStr::new("-c"), file.as_os_str()];
        let mut process = self.spawn(spec, self.programs.join("proxy"), &arguments, &secrets)?;
        process.wait_until_ready(admin, "/readyz").await?;
        self.wait_for(Peer { admin: Some(admin), ..Peer::new(spec, process, address) }).await
    }

    async fn start_nginx(&self, spec: PeerSpec) -> io::Result<Peer> {
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
        let Certificate { certificate, key, .. } = self.certificate;
        let (tls, tls_settings) = match spec.variant {
            Variant::Tls => (
                "ssl http2",
                format!(
                    "ssl_certificate {}; ssl_certificate_key {}; ssl_protocols TLSv1.3;",
                    certificate.display(),
                    key.display()
                ),
            ),
            Variant::Plain | Variant::TwoThreads => ("", String::new()),
        };
        let folder = self.own_folder(spec)?;
        let config = NGINX
            .replace("@folder@", &folder.display().to_string())
            .replace("@listen@", &address.to_string())
            // One process is counted.
            .replace("@master@", if self.counted.is_some() { "off" } else { "on" })
            .replace("@threads@", &spec.threads().to_string())
            .replace("@tls@", tls)
            .replace("@tls_settings@", &tls_settings)
            .replace("@tuning@", if spec.is_tuned() { NGINX_TUNING } else { "" })
            .replace("@spent@", &exhausted_key())
            .replace("@keys@", &list)
            .replace("@pools@", &pools)
            .replace("@tools@", &Tool::ALL.map(tool).concat());
        let file = self.write_file(&format!("{}.conf", spec.name.replace(' ', "-")), &config)?;
        let arguments = [OsStr::new("-p"), folder.as_os_str(), OsStr::new("-c"), file.as_os_str()];
        let process = self.spawn(spec, "nginx", &arguments, &[])?;
        self.wait_for(peer_with_keys(spec, process, address)).await
    }

    async fn start_haproxy(&self, spec: PeerSpec) -> io::Result<Peer> {
        let address = free_address()?;
        let limits: String = keys().map(|key| format!("{key} 1000000000\n")).collect();
        let limits = self.write_file("limits.map", &format!("{limits}{} 1\n", exhausted_key()))?;
        let tools =
            self.write_file("tools.map", &Tool::ALL.map(|tool| format!("{tool} {tool}\n")).concat())?;
        let pool = |tool: Tool| {
            format!(
                "backend {tool}\n    option httpchk GET /healthz\n    server one {} check inter 2s\n\n",
                self.upstream
            )
        };
        let tls = match spec.variant {
            Variant::Tls => {
                format!("ssl crt {} alpn h2,http/1.1 ssl-min-ver TLSv1.3", self.certificate.both.display())
            }
            Variant::Plain | Variant::TwoThreads => String::new(),
        };
        let config = HAPROXY
            .replace("@listen@", &address.to_string())
            .replace("@threads@", &spec.threads().to_string())
            .replace("@tls@", &tls)
            .replace("@log@", if spec.is_tuned() { "ring@access" } else { "stdout" })
            .replace("@tuning@", if spec.is_tuned() { HAPROXY_TUNING } else { "" })
            .replace("@limits@", &limits.display().to_string())
            .replace("@tools@", &tools.display().to_string())
            .replace("@pools@", &Tool::ALL.map(pool).concat());
        let file = self.write_file(&format!("{}.cfg", spec.name.replace(' ', "-")), &config)?;
        let process = self.spawn(spec, "haproxy", &[OsStr::new("-f"), file.as_os_str()], &[])?;
        self.wait_for(peer_with_keys(spec, process, address)).await
    }

    /// Starts Caddy. Its standard modules limit no rates, so it refuses unknown keys only.
    async fn start_caddy(&self, spec: PeerSpec) -> io::Result<Peer> {
        let address = free_address()?;
        let list: String = keys().map(|key| format!("\t\t{key} {key}\n")).collect();
        let tool = |tool: Tool| format!("\t\thandle /v1/{tool}/* {{\n\t\t\timport tool\n\t\t}}\n");
        let Certificate { certificate, key, .. } = self.certificate;
        let (scheme, tls) = match spec.variant {
            Variant::Tls => {
                ("https", format!("tls {} {} {{ protocols tls1.3 }}", certificate.display(), key.display()))
            }
            Variant::Plain | Variant::TwoThreads => ("http", String::new()),
        };
        let folder = self.own_folder(spec)?;
        let config = CADDY
            .replace("@folder@", &folder.display().to_string())
            .replace("@upstream@", &self.upstream.to_string())
            .replace("@tuning@", if spec.is_tuned() { CADDY_TUNING } else { "" })
            .replace("@scheme@", scheme)
            .replace("@port@", &address.port().to_string())
            .replace("@tls@", &tls.replace("{ ", "{\n\t\t").replace(" }", "\n\t}"))
            .replace("@keys@", &list)
            .replace("@tools@", &Tool::ALL.map(tool).concat());
        let file = self.write_file(&format!("{}.caddy", spec.name.replace(' ', "-")), &config)?;
        let arguments = ["run", "--adapter", "caddyfile", "--config"].map(OsStr::new);
        let folder = folder.display().to_string();
        let threads = spec.threads().to_string();
        let environment = [
            ("HOME", folder.as_str()),
            ("XDG_CONFIG_HOME", folder.as_str()),
            ("XDG_DATA_HOME", folder.as_str()),
            ("GOMAXPROCS", threads.as_str()),
            ("GOGC", if spec.is_tuned() { "400" } else { "100" }),
        ];
        let arguments: Vec<&OsStr> = arguments.into_iter().chain([file.as_os_str()]).collect();
        let process = self.spawn(spec, "caddy", &arguments, &environment)?;
        self.wait_for(Peer { exhausted: None, ..peer_with_keys(spec, process, address) }).await
    }

    async fn start_envoy(&self, spec: PeerSpec) -> io::Result<Peer> {
        let address = free_address()?;
        let credential = |key: String| format!("              - {{ key: {key}, client: {key} }}\n");
        let list: String = keys().chain([exhausted_key()]).map(credential).collect();
        let route = |tool: Tool| {
            format!(
                "              - match: {{ prefix: /v1/{tool}/ }}\n                route: {{ cluster: {tool}, timeout: 60s }}\n"
            )
        };
        let (host, port) = (self.upstream.ip(), self.upstream.port());
        let cluster = |tool: Tool| {
            format!(
                "  - name: {tool}\n    connect_timeout: 2s\n    load_assignment:\n      cluster_name: {tool}\n      \
                 endpoints: [{{ lb_endpoints: [{{ endpoint: {{ address: {{ socket_address: \
                 {{ address: {host}, port_value: {port} }} }} }} }}] }}]\n"
            )
        };
        let Certificate { certificate, key, .. } = self.certificate;
        let tls = match spec.variant {
            Variant::Tls => ENVOY_TLS
                .replace("@certificate@", &certificate.display().to_string())
                .replace("@key@", &key.display().to_string()),
            Variant::Plain | Variant::TwoThreads => String::new(),
        };
        let config = ENVOY
            .replace("@folder@", &self.own_folder(spec)?.display().to_string())
            .replace("@stats@", if spec.is_tuned() { ENVOY_TUNING } else { "" })
            .replace("@port@", &address.port().to_string())
            .replace("@tls@", &tls)
            .replace("@routes@", &Tool::ALL.map(route).concat())
            .replace("@keys@", &list)
            .replace("@spent@", &exhausted_key())
            .replace("@clusters@", &Tool::ALL.map(cluster).concat());
        let file = self.write_file(&format!("{}.yaml", spec.name.replace(' ', "-")), &config)?;
        let threads = spec.threads().to_string();
        let options = ["--disable-hot-restart", "--log-level", "error", "--concurrency", &threads, "-c"];
        let arguments: Vec<&OsStr> = options.into_iter().map(OsStr::new).chain([file.as_os_str()]).collect();
        let process = self.spawn(spec, "envoy", &arguments, &[])?;
        self.wait_for(peer_with_keys(spec, process, address)).await
    }

    /// Creates a folder for the files that a peer writes.
    fn own_folder(&self, spec: PeerSpec) -> io::Result<PathBuf> {
        let folder = self.folder.join(spec.name.replace(' ', "-"));
        fs::create_dir_all(&folder)?;
        Ok(folder)
    }

    fn spawn(
        &self,
        spec: PeerSpec,
        program: impl AsRef<OsStr>,
        arguments: &[&OsStr],
        environment: &[(&str, &str)],
    ) -> io::Result<PeerProcess> {
        let file = |end: &str| self.folder.join(format!("{}.{end}", spec.name.replace(' ', "-")));
        let counter = self.counted.map(|counted| Counter::new(counted, file("count"))).transpose()?;
        let cpus = match spec.variant {
            Variant::Plain | Variant::Tls => self.cpu.to_string(),
            Variant::TwoThreads => "0,1".to_owned(),
        };
        PeerProcess::start(&cpus, program, arguments, environment, &file("log"), counter)
    }

    async fn wait_for(&self, mut peer: Peer) -> io::Result<Peer> {
        peer.process.wait_until_listening(peer.address).await?;
        Ok(peer)
    }

    fn write_file(&self, name: &str, text: &str) -> io::Result<PathBuf> {
        let file = self.folder.join(name);
        fs::write(&file, text)?;
        Ok(file)
    }
}

fn parse_secret(text: &str) -> io::Result<MacKeys> {
    MacKeys::parse(text).map_err(|error| io::Error::other(error.to_string()))
}

fn peer_with_keys(spec: PeerSpec, process: PeerProcess, address: SocketAddr) -> Peer {
    Peer {
        valid: Credential::Keys(keys().collect()),
        unknown: Some(Credential::Keys([key_text("unknown", 0)].into())),
        exhausted: Some(Credential::Keys([exhausted_key()].into())),
        ..Peer::new(spec, process, address)
    }
}

fn keys() -> impl Iterator<Item = String> {
    (0..KEYS).map(|number| key_text("known", number))
}

fn exhausted_key() -> String {
    key_text("spent", 0)
}

fn key_text(kind: &str, number: usize) -> String {
    format!("utg_live_{kind:Z<30}{number:Z>40}")
}

fn free_address() -> io::Result<SocketAddr> {
    TcpListener::bind("127.0.0.1:0")?.local_addr()
}
