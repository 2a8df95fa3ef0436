//! The configuration of the proxy. A [`Config`] is always valid: a file becomes one, or a list of
//! all its errors.
//!
//! **What belongs here**: what operators write, in a file or with `ctl`, how it is read and checked, and what is
//! kept of it. **What does not**: whatever acts on it, which is in the crates above.
#![deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod callers;
pub mod changes;
mod choices;
pub mod file;
mod fixed;
mod last_good;
mod limits;
mod log;
pub mod per_tool;
mod pool;
pub mod prices;
mod read;
mod reader;
mod report;
mod sampler;
pub mod state_directory;
mod tls;
mod tracing;

use std::collections::BTreeSet;
use std::fmt;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

pub use callers::{Authority, Callers, DirectConfig, FeedConfig, GrantConfig};
use ipnet::IpNet;
pub use last_good::{Known, LastGood};
pub use limits::{MeterAuthority, Password, ValkeyConfig, ValkeyKind};
pub use log::{AccessDetail, AccessTarget, DiagnosticFormat, LogConfig, LogField, LogFields};
pub use pool::{
    AdminState, Balance, DisabledUntil, EjectConfig, MirrorConfig, PoolConfig, PoolSettings, ProbeConfig,
    ProbeKind, ServerValues, UpstreamConfig,
};
pub(crate) use reader::effective::EffectiveValues;
pub use reader::env::Lookup;
pub use reader::fault::{FailedPart, Fault, Faults, Places, SecretFile};
pub use reader::values::duration as parse_duration;
pub use reader::values::show as show_duration;
pub use report::{ReloadOutcome, ReloadReport};
use shared::secret::AdminSecret;
use thiserror::Error;
pub use tls::UpstreamTls;
pub use tls::is_name;
pub use tracing::OTLP_PATH;
pub use tracing::TracingConfig;

use crate::per_tool::PerTool;
use transport::downstream::Transport;
use transport::hooks::ClientOptions;
use transport::tls::ServerTls;

/// The whole configuration.
#[derive(Clone, Debug)]
pub struct Config {
    /// Listening addresses, threads and graceful shutdown.
    pub server: ServerConfig,
    /// The source of requests: the edge or clients.
    pub callers: Callers,
    /// Limits on clients.
    pub clients: ClientConfig,
    /// The access log and the diagnostic log.
    pub log: LogConfig,
    /// The file of the access log, if it is not standard output.
    pub log_file: Option<PathBuf>,
    /// The export of traces, if it is on.
    pub tracing: Option<Box<TracingConfig>>,
    /// Maximum number of idle connections to all upstreams together.
    pub idle_upstream_connections: usize,
    /// The interval between two resolutions of upstream names.
    pub resolve_interval: Duration,
    /// The name servers of SRV records and of the hosts that they name. Empty: those of the system.
    pub dns_servers: Vec<SocketAddr>,
    /// One pool for each tool.
    pub pools: PerTool<PoolConfig>,
    /// The other files that the file names, such as secrets. A change of one reloads the
    /// configuration.
    pub files: Vec<PathBuf>,
    /// Those of them whose content must be kept secret.
    pub secret_files: Vec<SecretFile>,
    /// The good content of those files, which stays in use while one is faulty.
    pub last_good: Arc<LastGood>,
    /// Those of them that cannot be used.
    pub failed_parts: Vec<FailedPart>,
    /// The positions of the values in the file.
    pub places: Places,
    /// The values by their key, with defaults and without secrets.
    pub(crate) values: Arc<EffectiveValues>,
}

/// Settings of the process.
#[derive(Clone, Debug)]
pub struct ServerConfig {
    /// The address on which requests are served.
    pub listen: SocketAddr,
    /// The address of the admin listener: metrics, readiness and pools.
    pub admin: SocketAddr,
    /// The TLS settings towards clients. `None` for plain HTTP.
    pub tls: Option<ServerTls>,
    /// The name of the data center, which grants for it carry.
    pub data_center: String,
    /// Number of threads that serve requests.
    pub threads: usize,
    /// The transport that forwards requests to upstreams.
    pub transport: Transport,
    /// Time for which a graceful shutdown still accepts connections.
    pub drain_delay: Duration,
    /// Maximum time for which a graceful shutdown waits for requests in flight.
    pub grace: Duration,
    /// Maximum time for which a process waits for requests in flight after an upgrade, if it is not `grace`.
    pub upgrade_grace: Option<Duration>,
    /// The Unix socket through which a new process takes over, if upgrades are enabled.
    pub upgrade_socket: Option<PathBuf>,
    /// The Unix socket of `proxy ctl`, if operators may act through it.
    pub admin_socket: Option<PathBuf>,
    /// The token with which operators may act through the admin listener.
    pub admin_token: Option<AdminSecret>,
    /// Whether operators may make changes, by either way.
    pub takes_changes: bool,
    /// The file of an operator's changes, if it is not beside the configuration file.
    pub admin_changes: Option<PathBuf>,
}

/// Limits that protect the machine. They are not a customer's quota.
#[derive(Clone, Debug)]
pub struct ClientConfig {
    /// The limits that the transport enforces.
    pub connection: ClientOptions,
    /// Maximum number of open connections.
    pub connections: usize,
    /// Maximum number of open connections per address.
    pub connections_per_address: u32,
    /// Maximum number of calls in flight per key.
    pub calls_in_flight_per_key: u32,
    /// Maximum rate of refused unauthenticated requests per address before it is throttled.
    pub refusals_per_second: u32,
    /// The load balancers whose connections begin with a PROXY header.
    pub proxy_protocol: Vec<IpNet>,
}

impl ClientConfig {
    /// Returns true if connections from this address begin with a PROXY header, which announces the client.
    pub fn announces_clients(&self, address: IpAddr) -> bool {
        let address = address.to_canonical();
        self.proxy_protocol.iter().any(|network| network.contains(&address))
    }
}

/// An error of loading a configuration file.
#[derive(Debug, Error)]
pub enum LoadError {
    /// The file cannot be read.
    #[error("{file}: cannot be read: {error}")]
    Unreadable {
        /// The file, as it was named.
        file: String,
        /// The error of the operating system.
        error: io::Error,
    },
    /// The file is invalid.
    #[error(transparent)]
    Faulty(Faults),
}

impl Config {
    /// Loads the file at `path`. Of another file that it names and that is faulty, it takes what is
    /// `known`.
    ///
    /// # Errors
    /// If the file cannot be read, or is invalid. Lists all errors.
    pub fn load(path: &Path, env: Lookup<'_>, known: Known<'_>) -> Result<Self, LoadError> {
        let (file, text) = read_file(path)?;
        read::config(&file, &text, env, known).map_err(LoadError::Faulty)
    }

    /// Loads the file at `path` again, like [`Self::load`]. Never waits for another program, as the read
    /// of a FIFO would.
    ///
    /// # Errors
    /// If the file cannot be read, or is invalid. Lists all errors.
    pub fn reload(path: &Path, env: Lookup<'_>, known: Known<'_>) -> Result<Self, LoadError> {
        let name = path.display().to_string();
        let text = file::read(path).and_then(|bytes| String::from_utf8(bytes).map_err(io::Error::other));
        match text {
            Ok(text) => read::config(&name, &text, env, known).map_err(LoadError::Faulty),
            Err(error) => Err(LoadError::Unreadable { file: name, error }),
        }
    }

    /// Refuses a configuration that names a faulty file.
    ///
    /// # Errors
    /// Lists all faulty files. `file` names that of the configuration.
    pub fn check_parts(&self, file: &str) -> Result<(), Faults> {
        if self.failed_parts.is_empty() {
            return Ok(());
        }
        let list = self.failed_parts.iter().map(|part| part.fault.clone()).collect();
        Err(Faults { file: file.to_owned(), list, files: self.files.clone() })
    }

    /// Records that a file which a key names cannot be used, and that its last good state stays in use.
    pub(crate) fn fail_part(&mut self, key: &str, error: &impl fmt::Display) {
        let fault = Fault { place: self.places.of(key), key: key.to_owned(), detail: error.to_string() };
        self.failed_parts.push(FailedPart { fault, is_kept: true });
    }

    /// Returns the effective configuration of the file at `path` as TOML. References to the
    /// environment are replaced and defaults filled in. Secrets are shown by their source.
    ///
    /// # Errors
    /// If the file cannot be read, or is invalid. Lists all errors.
    pub fn dump(path: &Path, env: Lookup<'_>) -> Result<String, LoadError> {
        let (file, text) = read_file(path)?;
        read::dump(&file, &text, env).map_err(LoadError::Faulty)
    }

    /// Returns the keys whose value, or the content of whose file, is another than in `former`.
    pub fn changed_keys(&self, former: &Self) -> BTreeSet<String> {
        let all = self.values.changed_keys(&former.values).cloned();
        let expiry = |config: &Self| config.server.tls.as_ref().map(ServerTls::expires_at);
        let tls = (expiry(self) != expiry(former)).then(|| "server.tls.certificate".to_owned());
        all.chain(self.last_good.changed_keys(&former.last_good)).chain(tls).collect()
    }

    /// Returns the other files that the file names, also if it is invalid.
    pub fn files(read: &Result<Self, LoadError>) -> &[PathBuf] {
        match read {
            Ok(config) => &config.files,
            Err(LoadError::Faulty(faults)) => &faults.files,
            Err(LoadError::Unreadable { .. }) => &[],
        }
    }

    /// Returns every key in its general form, such as `pools.{tool}.upstreams`, including sections.
    pub fn keys() -> BTreeSet<String> {
        read::keys()
    }

    /// Parses the text of a file. Errors name it `file`. Another file that it names and that is faulty
    /// has no content.
    ///
    /// # Errors
    /// If the text is invalid. Lists all errors.
    pub fn parse(file: &str, text: &str, env: Lookup<'_>) -> Result<Self, Faults> {
        read::config(file, text, env, Known::NOTHING)
    }
}

/// Returns the name and the text of a file.
fn read_file(path: &Path) -> Result<(String, String), LoadError> {
    let file = path.display().to_string();
    match std::fs::read_to_string(path) {
        Ok(text) => Ok((file, text)),
        Err(error) => Err(LoadError::Unreadable { file, error }),
    }
}

#[cfg(test)]
mod tests {
    use shared::tool::Tool;

    use super::*;

    const SAMPLE: &str = include_str!("../../../conf/proxy.toml");
    const SECRET: &str = "0123456789abcdef0123456789abcdef";

    fn parse(text: &str) -> Result<Config, Faults> {
        Config::parse("proxy.toml", text, &|name| (name == "GRANT_SECRET").then(|| SECRET.to_owned()))
    }

    fn faults(text: &str) -> Vec<String> {
        let faults = parse(text).err().map(|faults| faults.to_string()).unwrap_or_default();
        faults.lines().map(str::to_owned).collect()
    }

    #[test]
    fn grant_secret_is_required_long_and_never_shown() {
        for (text, expected) in [
            (SAMPLE.replace("secret = ", "# secret = "), "grants.secret: is missing"),
            (SAMPLE.replace("${GRANT_SECRET}", "hush"), "is shorter than 32"),
            (SAMPLE.replace("${GRANT_SECRET}", "${OTHER}"), "OTHER is not set"),
            (
                SAMPLE.replace("data_center = \"", "data_center = \"${GRANT_SECRET}"),
                "GRANT_SECRET is a secret",
            ),
        ] {
            let faults = faults(&text).join("\n");
            assert!(faults.contains(expected) && !faults.contains("hush"), "{faults}");
        }
    }

    #[test]
    fn pool_inherits_from_defaults() {
        let defaults = SAMPLE.replace("[defaults]", "[defaults]\nmax_body = \"1MiB\"");
        let text = format!("{defaults}\n[pools.qr.probe]\nfall = 7\n[defaults.probe]\nrise = 4\n");
        let config = parse(&text).unwrap_or_else(|faults| panic!("{faults}"));
        let (qr, pdf) = (&config.pools[Tool::Qr].settings, &config.pools[Tool::Pdf].settings);
        assert_eq!((qr.max_body, qr.probe.rise, qr.probe.fall), (1 << 20, 4, 7));
        assert_eq!((pdf.max_body, pdf.probe.rise, pdf.probe.fall), (1 << 20, 4, 3));
    }
}
