//! The settings of a pool: its upstreams, limits, timeouts and health checks.

mod eject;
mod probe;
mod servers;
mod servers_file;
mod statuses;
mod upstream;

use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::time::Duration;

pub use eject::EjectConfig;
pub use probe::{ProbeConfig, ProbeKind};
use shared::headers::PassedHeaders;
use shared::request::{MAX_BODY_BYTES, TOOL_RESPONSE_TIMEOUT_MS};
use shared::time::UnixMillis;
use shared::tool::Tool;
use statuses::error_statuses;
use transport::downstream::Transport;
pub use upstream::{AdminState, ServerValues, UpstreamConfig};

use super::reader::choice::choice;
use super::reader::effective::Size;
use super::reader::{Entry, Section, ValueError, count, duration_in, names, values};
use super::tls::UpstreamTls;

/// The configuration of one pool.
#[derive(Clone, Debug)]
pub struct PoolConfig {
    /// The tool that the pool serves.
    pub tool: Tool,
    /// At least one, unless `upstreams_file` is faulty and the pool had none before.
    pub upstreams: Vec<UpstreamConfig>,
    /// What an operator has set of single servers of names, by their identity.
    pub by_server: BTreeMap<String, ServerValues>,
    /// Why `upstreams_file` cannot be used, if so.
    pub upstreams_file_error: Option<String>,
    /// The settings that have defaults.
    pub settings: PoolSettings,
    /// The server that gets copies of calls.
    pub mirror: Option<MirrorConfig>,
}

/// A server that gets copies of a share of calls, and whose responses are discarded.
#[derive(Clone, Debug)]
pub struct MirrorConfig {
    /// The address: `host:port`.
    pub address: String,
    /// The share of calls: 1 to 100.
    pub percent: u32,
}

/// The load balancing algorithm of a pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Balance {
    /// Weighted round robin.
    RoundRobin,
    /// The upstream with the fewest calls in flight for its weight.
    LeastConnections,
    /// Rendezvous hashing: the same upstream for the same key.
    KeyHash,
}

/// The time until which a tool is disabled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DisabledUntil {
    /// The tool is enabled again at this time.
    Moment(UnixMillis),
    /// The tool is disabled until the configuration changes.
    FurtherNotice,
}

impl DisabledUntil {
    /// Returns true if the tool is still disabled.
    pub fn is_after(self, now: UnixMillis) -> bool {
        match self {
            Self::Moment(until) => now < until,
            Self::FurtherNotice => true,
        }
    }
}

/// The settings that `[defaults]` has for every pool and a pool can override.
#[derive(Clone, Debug)]
pub struct PoolSettings {
    /// The prefix of `/{action}` in requests to the tool. Empty, or a path without a trailing
    /// slash.
    pub path: String,
    /// The path at the tool of its OpenAPI description. Empty if it publishes none.
    pub describe: String,
    /// Maximum size of a request body, in bytes.
    pub max_body: u64,
    /// Media types of request bodies that are accepted besides JSON.
    pub accept: Vec<String>,
    /// Response headers that are passed to clients although they are withheld by default.
    pub passed_headers: PassedHeaders,
    /// Maximum number of calls in flight.
    pub calls_in_flight: usize,
    /// Maximum number of calls of one key in flight. 0 means none.
    pub calls_in_flight_per_key: u32,
    /// Maximum rate of calls per second. 0 means none.
    pub calls_per_second: u64,
    /// Maximum rate of calls per second of one key. 0 means none.
    pub calls_per_second_per_key: u32,
    /// Maximum number of calls that wait while the pool is at its limit of calls in flight.
    pub queue: usize,
    /// Maximum time that a call waits in the queue.
    pub queue_timeout: Duration,
    /// Maximum time to connect to an upstream.
    pub connect_timeout: Duration,
    /// Idle timeout of a keep-alive connection to an upstream.
    pub keep_idle: Duration,
    /// Maximum time from the last byte of the request to the end of the response headers.
    pub answer_timeout: Duration,
    /// Maximum part of `answer_timeout` for one upstream before a GET is retried on another one.
    pub try_timeout: Duration,
    /// Maximum pause within the tool's response.
    pub pause_timeout: Duration,
    /// Whether a call that was sent to the tool continues when its client leaves.
    pub finish_when_client_leaves: bool,
    /// Share of calls that the retry budget earns, in percent.
    pub retry_percent: u64,
    /// The statuses of responses after which an idempotent call is retried on another upstream.
    pub retry_statuses: Vec<u16>,
    /// TLS towards upstreams.
    pub tls: UpstreamTls,
    /// Whether HTTP/2 is used: over TLS if the upstream chooses it, otherwise with prior knowledge.
    pub http2: bool,
    /// The load balancing algorithm.
    pub balance: Balance,
    /// Time over which a recovered upstream ramps up to its full share of calls.
    pub slow_start: Duration,
    /// Share of available upstreams, in percent, below which calls go to all active ones. 0 means
    /// never.
    pub panic_percent: u64,
    /// The time until which the tool is disabled, if it is.
    pub disabled: Option<DisabledUntil>,
    /// Why it is disabled, for clients. An operator's change has it.
    pub disabled_reason: Option<String>,
    /// The rules of outlier detection.
    pub eject: EjectConfig,
    /// The settings of health checks.
    pub probe: ProbeConfig,
}

impl Default for PoolSettings {
    fn default() -> Self {
        Self {
            path: String::new(),
            describe: String::new(),
            max_body: MAX_BODY_BYTES,
            accept: Vec::new(),
            passed_headers: PassedHeaders::default(),
            calls_in_flight: 256,
            calls_in_flight_per_key: 0,
            calls_per_second: 0,
            calls_per_second_per_key: 0,
            queue: 0,
            queue_timeout: Duration::from_secs(1),
            connect_timeout: Duration::from_secs(1),
            keep_idle: Duration::from_secs(4),
            answer_timeout: Duration::from_millis(TOOL_RESPONSE_TIMEOUT_MS),
            try_timeout: Duration::from_secs(20),
            pause_timeout: Duration::from_secs(60),
            finish_when_client_leaves: false,
            retry_percent: 20,
            retry_statuses: Vec::new(),
            tls: UpstreamTls::default(),
            http2: false,
            balance: Balance::RoundRobin,
            slow_start: Duration::from_secs(10),
            panic_percent: 0,
            disabled: None,
            disabled_reason: None,
            eject: EjectConfig::default(),
            probe: ProbeConfig::default(),
        }
    }
}

const MAX_TIME: Duration = Duration::from_secs(3600);
const TIMEOUT: RangeInclusive<Duration> = Duration::from_millis(10)..=MAX_TIME;

impl PoolSettings {
    /// Reads the settings of a section. Missing ones are inherited.
    pub(super) fn read(section: &mut Section<'_>, inherited: &Self, transport: Transport) -> Self {
        let mut probe = section.section("probe");
        let settings = Self {
            path: section.read("path", inherited.path.clone(), prefix),
            describe: section.read("describe", inherited.describe.clone(), description),
            max_body: section.read("max_body", Size(inherited.max_body), size).0,
            accept: section.read("accept", inherited.accept.clone(), media_types),
            passed_headers: section.read("pass_response_headers", inherited.passed_headers, passed_headers),
            calls_in_flight: section.read("calls_in_flight", inherited.calls_in_flight, count(1..=1_000_000)),
            calls_in_flight_per_key: section.read(
                "calls_in_flight_per_key",
                inherited.calls_in_flight_per_key,
                count(0..=1_000_000),
            ),
            calls_per_second: section.read(
                "calls_per_second",
                inherited.calls_per_second,
                count(0..=10_000_000),
            ),
            calls_per_second_per_key: section.read(
                "calls_per_second_per_key",
                inherited.calls_per_second_per_key,
                count(0..=1_000_000),
            ),
            queue: section.read("queue", inherited.queue, count(0..=1_000_000)),
            queue_timeout: section.read("queue_timeout", inherited.queue_timeout, duration_in(TIMEOUT)),
            connect_timeout: section.read("connect_timeout", inherited.connect_timeout, duration_in(TIMEOUT)),
            keep_idle: section.read("keep_idle", inherited.keep_idle, duration_in(TIMEOUT)),
            answer_timeout: section.read("answer_timeout", inherited.answer_timeout, duration_in(TIMEOUT)),
            try_timeout: section.read("try_timeout", inherited.try_timeout, duration_in(TIMEOUT)),
            pause_timeout: section.read("pause_timeout", inherited.pause_timeout, duration_in(TIMEOUT)),
            finish_when_client_leaves: section.read(
                "finish_when_client_leaves",
                inherited.finish_when_client_leaves,
                Entry::boolean,
            ),
            retry_percent: section.read("retry_percent", inherited.retry_percent, count(0..=100)),
            retry_statuses: section.read("retry_statuses", inherited.retry_statuses.clone(), error_statuses),
            tls: UpstreamTls::read(section, &inherited.tls),
            http2: section.read("http2", inherited.http2, |entry| http2(entry, transport)),
            balance: section.read("balance", inherited.balance, choice),
            slow_start: section.read(
                "slow_start",
                inherited.slow_start,
                duration_in(Duration::ZERO..=MAX_TIME),
            ),
            panic_percent: section.read("panic_percent", inherited.panic_percent, count(0..=100)),
            disabled: section.read("disabled_until", inherited.disabled, disabled),
            disabled_reason: None,
            eject: EjectConfig::read(section, &inherited.eject),
            probe: ProbeConfig::read(&mut probe, &inherited.probe),
        };
        probe.finish();
        settings
    }
}

impl PoolConfig {
    /// Reads the pool of one tool. Reports an error if it has no upstream.
    pub(super) fn read(tool: Tool, entry: Entry<'_>, defaults: &PoolSettings, transport: Transport) -> Self {
        let mut section = Section::of(entry);
        let (servers, file) = (section.entry("upstreams"), section.entry("upstreams_file"));
        let settings = PoolSettings::read(&mut section, defaults, transport);
        let (upstreams, upstreams_file_error) = match (servers, file) {
            (Some(entry), None) => (servers::of_array(&entry, &settings.tls), None),
            (None, Some(entry)) => servers::of_file(&entry, &settings.tls),
            (Some(_), Some(entry)) => {
                entry.fault("cannot be combined with `upstreams`: expected one of both");
                (Vec::new(), None)
            }
            (None, None) => {
                section.fault("", "has no `upstreams`; write upstreams = [\"host:port\"]");
                (Vec::new(), None)
            }
        };
        let mirror = section.read("mirror", None, |entry| mirror(entry, transport).map(Some));
        let percent = section.read("mirror_percent", 100, count(1..=100));
        section.finish();
        let mirror = mirror.map(|address| MirrorConfig { address, percent });
        Self { tool, upstreams, by_server: BTreeMap::new(), upstreams_file_error, settings, mirror }
    }
}

/// Parses the address of a mirror.
fn mirror(entry: &Entry<'_>, transport: Transport) -> Result<String, ValueError> {
    let text = entry.text()?;
    let (host, port) = values::address(&text)?;
    match (port, transport) {
        (0, _) => Err(ValueError::invalid("port", "0", "1 to 65535")),
        (_, Transport::PingoraProxy) => Err(ValueError::NeedsRelay),
        (port, Transport::Relay) => Ok(values::show_address(&host, port)),
    }
}

fn http2(entry: &Entry<'_>, transport: Transport) -> Result<bool, ValueError> {
    match (entry.boolean()?, transport) {
        (true, Transport::Relay) => Err(ValueError::NeedsPingoraProxy),
        (http2, Transport::Relay | Transport::PingoraProxy) => Ok(http2),
    }
}

fn size(entry: &Entry<'_>) -> Result<Size, ValueError> {
    values::size(&entry.text()?).map(Size)
}

fn disabled(entry: &Entry<'_>) -> Result<Option<DisabledUntil>, ValueError> {
    let text = entry.text()?;
    if text == "further-notice" {
        return Ok(Some(DisabledUntil::FurtherNotice));
    }
    let expected = "RFC 3339, for example 2027-01-31T06:00:00Z, or further-notice";
    let moment =
        UnixMillis::from_rfc3339(&text).ok_or_else(|| ValueError::invalid("time", text, expected))?;
    Ok(Some(DisabledUntil::Moment(moment)))
}

fn prefix(entry: &Entry<'_>) -> Result<String, ValueError> {
    match entry.text()? {
        path if path.is_empty() || (is_path(&path) && !path.ends_with('/')) => Ok(path),
        path => Err(ValueError::invalid("path prefix", path, "a path such as /api/v2, or an empty string")),
    }
}

fn description(entry: &Entry<'_>) -> Result<String, ValueError> {
    match entry.text()? {
        path if path.is_empty() || is_path(&path) => Ok(path),
        path => Err(ValueError::invalid("path", path, "for example /openapi.json, or an empty string")),
    }
}

/// Returns true if the text is an absolute path of a URL, without a fragment.
fn is_path(path: &str) -> bool {
    path.starts_with('/') && path.bytes().all(|b| b.is_ascii_graphic() && !matches!(b, b'#' | b'"' | b'\\'))
}

fn passed_headers(entry: &Entry<'_>) -> Result<PassedHeaders, ValueError> {
    names(entry)?.iter().try_fold(PassedHeaders::default(), |passed, name| {
        passed.with(name).ok_or_else(|| {
            let withheld = PassedHeaders::withheld().join(", ");
            ValueError::invalid(
                "response header",
                name,
                format!("one that is withheld by default: {withheld}"),
            )
        })
    })
}

fn media_types(entry: &Entry<'_>) -> Result<Vec<String>, ValueError> {
    names(entry)?
        .into_iter()
        .map(|name| name.to_ascii_lowercase())
        .map(|name| match is_media_type(&name) {
            true => Ok(name),
            false => {
                let expected = "for example audio/* or multipart/form-data";
                Err(ValueError::invalid("media type", name, expected))
            }
        })
        .collect()
}

fn is_media_type(name: &str) -> bool {
    let is_type_char = |c: char| c.is_ascii_alphanumeric() || matches!(c, '/' | '*' | '-' | '.' | '+' | '_');
    name.matches('/').count() == 1 && name.chars().all(is_type_char)
}
