//! The options of `loadtest run`.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

use super::knee_range::KneeRange;
use crate::duration;
use crate::saved::Noise;

/// The options of `loadtest run`.
#[derive(Args, Clone, Debug)]
pub struct Arguments {
    /// Scenario: the name of a built-in one, or a .toml file. Several are composed in this order.
    #[arg(long, value_name = "NAME", default_value = "steady")]
    pub(super) scenario: Vec<String>,
    /// Base URL of the gateway: scheme, host and port.
    #[arg(long, default_value = "http://127.0.0.1:8787")]
    pub(super) url: String,

    /// Base URL of another gateway, to compare with: of the calls every second one goes there, at the same
    /// time and on its own connections. Exit code 3: the other one is worse.
    #[arg(long, value_name = "URL", conflicts_with_all = ["shard", "start_at", "knee", "json", "control", "metrics", "edge_counters"])]
    pub(super) against: Option<String>,
    /// Difference that does not matter with --against, as a share of the value of the first gateway.
    #[arg(long, default_value = "5%", value_parser = Noise::parse, requires = "against")]
    pub(super) noise: Noise,

    /// Stage of the load, in place of the scenario's: 10s:100, 1m:100..2000 or 10s:100 burst. Stages
    /// follow each other.
    #[arg(long, value_name = "STAGE", help_heading = "Load")]
    pub(super) stage: Vec<String>,
    /// Calls per second at the peak. Other stages are scaled with it.
    #[arg(long, help_heading = "Load")]
    pub(super) rate: Option<f64>,
    /// Duration of the run. Stages are scaled with it.
    #[arg(long, value_parser = duration::argument, help_heading = "Load")]
    pub(super) duration: Option<Duration>,
    /// Find the highest rate in this range, such as 100..5000, at which all checks pass. Each rate is
    /// kept for the duration of the run, and tried again if it fails: it counts what two of three say.
    #[arg(
        long,
        value_name = "RANGE",
        value_parser = KneeRange::parse,
        conflicts_with_all = ["rate", "stage", "shard", "start_at"],
        help_heading = "Load"
    )]
    pub(super) knee: Option<KneeRange>,
    /// Number of open connections.
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..=8192), help_heading = "Load")]
    pub(super) connections: Option<u16>,
    /// Part of the load that this driver makes, such as 2/5. `loadtest merge` puts the logs together.
    #[arg(long, value_name = "NUMBER/OF", help_heading = "Load")]
    pub(super) shard: Option<String>,
    /// Start at this time, in milliseconds since 1970, so that several drivers start together.
    #[arg(long, value_name = "MILLISECONDS", help_heading = "Load")]
    pub(super) start_at: Option<u64>,
    /// Allow more than an hour and more than 20 million calls.
    #[arg(long, help_heading = "Load")]
    pub(super) unbounded: bool,
    /// Allow a target that is not loopback. You need its owner's consent.
    #[arg(long, help_heading = "Load")]
    pub(super) allow_remote: bool,

    /// Path and query, in place of the scenario's requests.
    #[arg(long, help_heading = "Request")]
    pub(super) path: Option<String>,
    /// Method. The default is GET, and POST with a body.
    #[arg(long, requires = "path", help_heading = "Request")]
    pub(super) method: Option<String>,
    /// JSON body. `@FILE` reads it from a file.
    #[arg(long, requires = "path", help_heading = "Request")]
    pub(super) body: Option<String>,
    /// Header, such as 'Accept: image/png'. It replaces that of the scenario's requests.
    #[arg(long, value_name = "NAME: VALUE", help_heading = "Request")]
    pub(super) header: Vec<String>,
    /// Value of a variable of the scenario, such as tool=qr.
    #[arg(long, value_name = "NAME=VALUE", help_heading = "Request")]
    pub(super) var: Vec<String>,
    /// Timeout of a call.
    #[arg(long, default_value = "40s", value_parser = duration::argument, help_heading = "Request")]
    pub(super) timeout: Duration,
    /// Use HTTP/2: with TLS by ALPN, without TLS by prior knowledge.
    #[arg(long, help_heading = "Request")]
    pub(super) http2: bool,
    /// Concurrent calls on each HTTP/2 connection.
    #[arg(long, default_value_t = 16, value_parser = clap::value_parser!(u16).range(1..=128), help_heading = "Request")]
    pub(super) streams: u16,
    /// Trust certificates of these authorities (PEM) in place of the public ones.
    #[arg(long, value_name = "FILE", help_heading = "Request")]
    pub(super) ca: Option<PathBuf>,
    /// Accept any certificate.
    #[arg(long, conflicts_with = "ca", help_heading = "Request")]
    pub(super) insecure: bool,

    /// Environment variable with the API key, or with several separated by commas, used in turn.
    #[arg(long, value_name = "NAME", help_heading = "Keys")]
    pub(super) key_env: Option<String>,
    /// File with API keys, one per line.
    #[arg(long, value_name = "FILE", conflicts_with = "key_env", help_heading = "Keys")]
    pub(super) key_file: Option<PathBuf>,
    /// Environment variable with the admin secret, to issue the scenario's keys. They are revoked at
    /// the end.
    #[arg(long, value_name = "NAME", help_heading = "Keys")]
    pub(super) admin_env: Option<String>,
    /// Environment variable with the signing secret, to mint the scenario's keys for a proxy in
    /// direct mode.
    #[arg(long, value_name = "NAME", help_heading = "Keys")]
    pub(super) signing_env: Option<String>,
    /// Number of keys of each pool, in place of the scenario's.
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u32).range(1..=4_000_000), help_heading = "Keys")]
    pub(super) keys: Option<u32>,
    /// File to create for the new key of a rotation (mode 0600).
    #[arg(long, value_name = "FILE", help_heading = "Keys")]
    pub(super) new_key_file: Option<PathBuf>,

    /// Condition that must hold, such as 'errors=0' or 'success>=99.9%'.
    #[arg(long, value_name = "CONDITION", help_heading = "Verdict")]
    pub(super) expect: Vec<String>,
    /// Condition that must not hold, such as 'p99>50ms'.
    #[arg(long, value_name = "CONDITION", help_heading = "Verdict")]
    pub(super) fail_if: Vec<String>,
    /// Response other than 2xx and 3xx that is expected, such as 429 or '5xx in stopped'.
    #[arg(long, value_name = "RESPONSE", help_heading = "Verdict")]
    pub(super) allow: Vec<String>,
    /// Maximum send lag (p99) of each cause: the driver woke up late, or no connection was free.
    /// By default 1ms, and judged if a condition is about times or if there are 100 calls.
    #[arg(long, value_parser = duration::argument, help_heading = "Verdict")]
    pub(super) max_send_lag: Option<Duration>,
    /// End the run as soon as a check can no longer pass.
    #[arg(long, help_heading = "Verdict")]
    pub(super) abort_on_fail: bool,

    /// Control API of the simulated tools, for events, books and their own load.
    #[arg(long, value_name = "URL", help_heading = "Around the run")]
    pub(super) control: Option<String>,
    /// Admin listener of the proxy, whose metrics go into the books.
    #[arg(long, value_name = "URL", help_heading = "Around the run")]
    pub(super) metrics: Option<String>,
    /// Counters of a local edge (scripts/edge.mjs --counters), for books and costs.
    #[arg(long, value_name = "URL", help_heading = "Around the run")]
    pub(super) edge_counters: Option<String>,
    /// Time after the run in which an edge does what its calls leave to do. Costs include it.
    #[arg(long, default_value = "31s", value_parser = duration::argument, requires = "edge_counters", help_heading = "Around the run")]
    pub(super) costs_wait: Duration,
    /// Command of a hook of the scenario, such as 'reload=kill -HUP 4711'.
    #[arg(long, value_name = "NAME=COMMAND", help_heading = "Around the run")]
    pub(super) hook: Vec<String>,

    /// Print the report as JSON.
    #[arg(long, help_heading = "Output")]
    pub(super) json: bool,
    /// File for the raw log, for `loadtest report`, `compare` and `merge`.
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub(super) log: Option<PathBuf>,
    /// File for the report as JSON.
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub(super) json_file: Option<PathBuf>,
    /// File for the run second by second.
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub(super) csv_file: Option<PathBuf>,
    /// File for the report as an HTML page.
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub(super) html_file: Option<PathBuf>,
    /// File for the checks as JUnit XML.
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub(super) junit_file: Option<PathBuf>,
    /// Address at which Prometheus reads /metrics while the run is under way, such as 127.0.0.1:9464.
    #[arg(long, value_name = "ADDRESS", conflicts_with = "against", help_heading = "Output")]
    pub(super) prometheus: Option<SocketAddr>,
    /// Show no progress.
    #[arg(long, short, help_heading = "Output")]
    pub(super) quiet: bool,
}

impl Arguments {
    /// Returns true if keys of the caller take the place of the scenario's.
    pub(super) const fn keys_are_given(&self) -> bool {
        self.key_env.is_some() || self.key_file.is_some()
    }
}
