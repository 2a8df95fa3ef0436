//! What the proxy is told to do. A [`Config`] is always valid: what an operator wrote becomes one, or a list of
//! everything that is wrong with it.

mod callers;
mod effective;
mod env;
mod fault;
mod fixed;
mod keys;
mod pool;
mod read;
mod section;
mod tls;
mod values;

use std::{
    collections::BTreeSet,
    fmt, io,
    net::SocketAddr,
    path::{Path, PathBuf},
    time::Duration,
};

pub use callers::{Authority, Callers, DirectConfig, FeedConfig, GrantConfig};
pub use env::Lookup;
pub use fault::{Fault, Faults};
pub use pool::{
    AdminState, Balance, DisabledUntil, EjectConfig, PoolConfig, PoolSettings, ProbeConfig, ProbeKind,
    UpstreamConfig,
};
pub use tls::UpstreamTls;
pub use values::show as show_duration;

use crate::{hooks::ClientOptions, per_tool::PerTool, tls::ServerTls};

/// The whole configuration.
#[derive(Clone, Debug)]
pub struct Config {
    /// Where it listens, and how it ends.
    pub server: ServerConfig,
    /// Whose requests it serves.
    pub callers: Callers,
    /// What it bears from clients.
    pub clients: ClientConfig,
    /// What it writes down.
    pub log: LogConfig,
    /// Connections without work that are kept open towards all upstreams together.
    pub idle_upstream_connections: usize,
    /// How long after the names of upstreams were resolved they are resolved again.
    pub resolve_interval: Duration,
    /// The longest body of a request that names no tool, in bytes: that of `[defaults]`.
    pub max_body: u64,
    /// One pool for each tool.
    pub pools: PerTool<PoolConfig>,
    /// The other files that the file named, such as those of secrets: a change of one is a change of the configuration.
    pub files: Vec<PathBuf>,
}

/// The process.
#[derive(Clone, Debug)]
pub struct ServerConfig {
    /// Where requests are served.
    pub listen: SocketAddr,
    /// Where metrics, readiness and pools are shown.
    pub admin: SocketAddr,
    /// What makes connections from clients safe; without it they are plain.
    pub tls: Option<ServerTls>,
    /// The name that grants for this place end with.
    pub data_centre: String,
    /// Threads that serve requests.
    pub threads: usize,
    /// How long connections are still accepted and served once the process was told to end.
    pub drain_delay: Duration,
    /// How long requests under way may take once the process was told to end.
    pub grace: Duration,
    /// Where a new process asks for the sockets, if it may.
    pub upgrade_socket: Option<PathBuf>,
}

/// Bounds that guard the machine. They are not the customer's quota.
#[derive(Clone, Debug)]
pub struct ClientConfig {
    /// How long the headers of a request may take from their first byte to their last.
    pub header_timeout: Duration,
    /// How long a connection may neither give nor take a byte.
    pub idle_timeout: Duration,
    /// Bytes a second that an upload must average, beyond one `idle_timeout`. 0 is no limit.
    pub min_upload_rate: u64,
    /// Bytes a second of a response that a client must take on average, beyond one `idle_timeout`. 0 is no limit.
    pub min_download_rate: u64,
    /// Connections that may be open at once.
    pub connections: usize,
    /// Connections that one address may have open at once.
    pub connections_per_address: u32,
    /// Requests on one connection before it is closed.
    pub requests_per_connection: u32,
    /// Requests that one connection may have under way at once, with HTTP/2.
    pub streams_per_connection: u32,
    /// Whether clients may speak HTTP/2 without TLS.
    pub h2c: bool,
    /// Calls of one key that may be under way at once.
    pub calls_in_flight_per_key: u32,
    /// Requests without a valid grant that one address may send within a second before it is told to stop.
    pub refusals_per_second: u32,
}

/// The access log and the log of events.
#[derive(Clone, Copy, Debug)]
pub struct LogConfig {
    /// Where the line of each request goes.
    pub access: AccessTarget,
    /// Which requests get a line, and how much it says.
    pub detail: AccessDetail,
    /// The least important event that is written to standard error.
    pub level: log::LevelFilter,
}

/// Where access lines go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AccessTarget {
    /// Standard output.
    Stdout,
    /// Nowhere.
    Off,
}

/// Why there is no configuration.
#[derive(Debug)]
pub enum LoadError {
    /// The file cannot be read.
    Unreadable {
        /// The file, as it was named.
        file: String,
        /// Why not.
        error: io::Error,
    },
    /// The file is there, and is wrong.
    Faulty(Faults),
}

/// How much the access log says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AccessDetail {
    /// Only requests that the proxy refused, that ended with a 5xx, or that got no answer.
    Failures,
    /// Every request.
    Calls,
    /// Every request, and where its time went.
    Timings,
}

impl fmt::Display for LoadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreadable { file, error } => write!(f, "{file}: cannot be read: {error}"),
            Self::Faulty(faults) => faults.fmt(f),
        }
    }
}

impl ClientConfig {
    /// Returns the limits that the transport enforces.
    #[must_use]
    pub const fn options(&self, max_body: u64) -> ClientOptions {
        ClientOptions {
            header_timeout: self.header_timeout,
            idle_timeout: self.idle_timeout,
            min_upload_rate: self.min_upload_rate,
            min_download_rate: self.min_download_rate,
            requests_per_connection: self.requests_per_connection,
            streams_per_connection: self.streams_per_connection,
            h2c: self.h2c,
            max_body,
        }
    }
}

impl Config {
    /// Reads the file at `path`.
    ///
    /// # Errors
    /// Everything that is wrong with it, or that it cannot be read.
    pub fn load(path: &Path, env: Lookup<'_>) -> Result<Self, LoadError> {
        let file = path.display().to_string();
        match std::fs::read_to_string(path) {
            Ok(text) => Self::parse(&file, &text, env).map_err(LoadError::Faulty),
            Err(error) => Err(LoadError::Unreadable { file, error }),
        }
    }

    /// Returns the effective configuration of the file at `path`, as a file: references to the environment are replaced,
    /// defaults filled in, and secrets are shown by where they come from.
    ///
    /// # Errors
    /// Everything that is wrong with it, or that it cannot be read.
    pub fn dump(path: &Path, env: Lookup<'_>) -> Result<String, LoadError> {
        let file = path.display().to_string();
        match std::fs::read_to_string(path) {
            Ok(text) => read::dump(&file, &text, env).map_err(LoadError::Faulty),
            Err(error) => Err(LoadError::Unreadable { file, error }),
        }
    }

    /// The other files that were named by the file, also when it has faults.
    pub fn files(read: &Result<Self, LoadError>) -> &[PathBuf] {
        match read {
            Ok(config) => &config.files,
            Err(LoadError::Faulty(faults)) => &faults.files,
            Err(LoadError::Unreadable { .. }) => &[],
        }
    }

    /// Every key a file may have, in its general form: `pools.{tool}.upstreams`. Sections are among them.
    #[must_use]
    pub fn keys() -> BTreeSet<String> {
        read::keys()
    }

    /// Reads a file's text; `file` is what messages call it.
    ///
    /// # Errors
    /// Everything that is wrong with it.
    pub fn parse(file: &str, text: &str, env: Lookup<'_>) -> Result<Self, Faults> {
        read::config(file, text, env)
    }
}

#[cfg(test)]
mod tests {
    use shared::tool::Tool;

    use super::*;

    const SAMPLE: &str = include_str!("../../conf/proxy.toml");
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
        ] {
            let faults = faults(&text).join("\n");
            assert!(faults.contains(expected) && !faults.contains("hush"), "{faults}");
        }
    }

    #[test]
    fn pool_inherits_from_defaults() {
        let text = format!(
            "{SAMPLE}\n[pools.qr.probe]\nfall = 7\n[defaults]\nmax_body = \"1MiB\"\n[defaults.probe]\nrise = 4\n"
        );
        let config = parse(&text).unwrap_or_else(|faults| panic!("{faults}"));
        let (qr, pdf) = (&config.pools[Tool::Qr].settings, &config.pools[Tool::Pdf].settings);
        assert_eq!((qr.max_body, qr.probe.rise, qr.probe.fall), (1 << 20, 4, 7));
        assert_eq!((pdf.max_body, pdf.probe.rise, pdf.probe.fall), (1 << 20, 4, 3));
    }
}
