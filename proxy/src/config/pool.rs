//! The pool of one tool: its upstreams, what it takes and how it is probed.

mod eject;
mod probe;
mod upstream;

use std::{ops::RangeInclusive, time::Duration};

pub use eject::EjectConfig;
pub use probe::{ProbeConfig, ProbeKind};
use shared::{
    headers::PassedHeaders,
    request::{MAX_BODY_BYTES, TOOL_RESPONSE_TIMEOUT_MS},
    time::UnixMillis,
    tool::Tool,
};
pub use upstream::{AdminState, UpstreamConfig};

use super::{
    reader::{Entry, Section, duration_in, effective::Size, names, values},
    tls::{self, UpstreamTls},
};

/// What is known of a pool before it runs.
#[derive(Clone, Debug)]
pub struct PoolConfig {
    /// Whose pool it is.
    pub tool: Tool,
    /// At least one.
    pub upstreams: Vec<UpstreamConfig>,
    /// Everything that has a default.
    pub settings: PoolSettings,
}

/// How a pool chooses among its upstreams.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Balance {
    /// Each in turn.
    RoundRobin,
    /// The one with the fewest calls under way.
    LeastConnections,
    /// The same one for the same key.
    KeyHash,
}

/// Until when a tool is switched off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DisabledUntil {
    /// A moment at which it serves again by itself.
    Moment(UnixMillis),
    /// The configuration says otherwise.
    FurtherNotice,
}

/// What `[defaults]` sets for every pool and a pool may set for itself.
#[derive(Clone, Debug)]
pub struct PoolSettings {
    /// What is put before `/{action}` on the way to the tool; empty or a path without a slash at its end.
    pub path: String,
    /// The longest body, in bytes.
    pub max_body: u64,
    /// Media types taken beside JSON.
    pub accept: Vec<String>,
    /// Which of the tool's headers that clients do not get by default they get.
    pub passed_headers: PassedHeaders,
    /// Calls that may be under way at once.
    pub calls_in_flight: usize,
    /// How long a connection may take to be made.
    pub connect_timeout: Duration,
    /// How long a connection may wait for its next call.
    pub keep_idle: Duration,
    /// How long the tool may take from the last byte of the request until the head of its answer is complete.
    pub answer_timeout: Duration,
    /// How long one upstream may take of that before a GET is tried at another one.
    pub try_timeout: Duration,
    /// How long the tool may pause within its answer.
    pub pause_timeout: Duration,
    /// Calls that may be sent a second time, in percent of all calls.
    pub retry_percent: u64,
    /// How upstreams are connected to.
    pub tls: UpstreamTls,
    /// Whether upstreams are spoken to in HTTP/2: over TLS if they choose it, else unasked.
    pub http2: bool,
    /// How the pool chooses among its upstreams.
    pub balance: Balance,
    /// How long an upstream that is back takes to get its whole share of the calls.
    pub slow_start: Duration,
    /// Until when the tool is switched off, if it is.
    pub disabled: Option<DisabledUntil>,
    /// When calls take an upstream out.
    pub eject: EjectConfig,
    /// How upstreams are probed.
    pub probe: ProbeConfig,
}

impl Default for PoolSettings {
    fn default() -> Self {
        Self {
            path: String::new(),
            max_body: MAX_BODY_BYTES,
            accept: Vec::new(),
            passed_headers: PassedHeaders::default(),
            calls_in_flight: 256,
            connect_timeout: Duration::from_secs(1),
            keep_idle: Duration::from_secs(4),
            answer_timeout: Duration::from_millis(TOOL_RESPONSE_TIMEOUT_MS),
            try_timeout: Duration::from_secs(20),
            pause_timeout: Duration::from_secs(60),
            retry_percent: 20,
            tls: UpstreamTls::default(),
            http2: false,
            balance: Balance::RoundRobin,
            slow_start: Duration::from_secs(10),
            disabled: None,
            eject: EjectConfig::default(),
            probe: ProbeConfig::default(),
        }
    }
}

const LONGEST: Duration = Duration::from_secs(3600);
const TIMEOUT: RangeInclusive<Duration> = Duration::from_millis(10)..=LONGEST;

impl PoolSettings {
    /// Reads the settings of a section over those it inherits.
    pub(super) fn read(section: &mut Section<'_>, inherited: &Self) -> Self {
        let mut probe = section.section("probe");
        let settings = Self {
            path: section.read("path", inherited.path.clone(), prefix),
            max_body: section.read("max_body", Size(inherited.max_body), size).0,
            accept: section.read("accept", inherited.accept.clone(), media_types),
            passed_headers: section.read("pass_response_headers", inherited.passed_headers, passed_headers),
            calls_in_flight: section.read("calls_in_flight", inherited.calls_in_flight, |entry| {
                usize::try_from(entry.number(1..=1_000_000)?).map_err(|error| error.to_string())
            }),
            connect_timeout: section.read("connect_timeout", inherited.connect_timeout, duration_in(TIMEOUT)),
            keep_idle: section.read("keep_idle", inherited.keep_idle, duration_in(TIMEOUT)),
            answer_timeout: section.read("answer_timeout", inherited.answer_timeout, duration_in(TIMEOUT)),
            try_timeout: section.read("try_timeout", inherited.try_timeout, duration_in(TIMEOUT)),
            pause_timeout: section.read("pause_timeout", inherited.pause_timeout, duration_in(TIMEOUT)),
            retry_percent: section
                .read("retry_percent", inherited.retry_percent, |entry| entry.number(0..=100)),
            tls: UpstreamTls::read(section, &inherited.tls),
            http2: section.read("http2", inherited.http2, Entry::truth),
            balance: section.read("balance", inherited.balance, balance),
            slow_start: section.read(
                "slow_start",
                inherited.slow_start,
                duration_in(Duration::ZERO..=LONGEST),
            ),
            disabled: section.read("disabled_until", inherited.disabled, disabled),
            eject: EjectConfig::read(section, &inherited.eject),
            probe: ProbeConfig::read(&mut probe, &inherited.probe),
        };
        probe.finish();
        settings
    }
}

impl PoolConfig {
    /// Reads the pool of one tool; a fault is noted when it has no upstream.
    pub(super) fn read(tool: Tool, entry: Entry<'_>, defaults: &PoolSettings) -> Self {
        let mut section = entry.section();
        let upstreams = match section.entry("upstreams") {
            Some(entry) => upstream::all(&entry),
            None => {
                section.fault("", "has no `upstreams`; write upstreams = [\"host:port\"]");
                Vec::new()
            }
        };
        let settings = PoolSettings::read(&mut section, defaults);
        if settings.tls.on && settings.tls.name.is_none() {
            for upstream in upstreams.iter().filter(|upstream| !tls::is_name(&upstream.host)) {
                let fault =
                    format!("`{}` cannot be the name in a certificate: set `tls_name`", upstream.host);
                section.fault_at("upstreams", fault);
            }
        }
        section.finish();
        Self { tool, upstreams, settings }
    }
}

fn size(entry: &Entry<'_>) -> Result<Size, String> {
    values::size(&entry.text()?).map(Size)
}

fn balance(entry: &Entry<'_>) -> Result<Balance, String> {
    match entry.text()?.as_str() {
        "round-robin" => Ok(Balance::RoundRobin),
        "least-connections" => Ok(Balance::LeastConnections),
        "key-hash" => Ok(Balance::KeyHash),
        other => {
            Err(format!("invalid balance `{other}`: expected round-robin, least-connections or key-hash"))
        }
    }
}

fn disabled(entry: &Entry<'_>) -> Result<Option<DisabledUntil>, String> {
    match entry.text()?.as_str() {
        "further-notice" => Ok(Some(DisabledUntil::FurtherNotice)),
        text => match UnixMillis::from_rfc3339(text) {
            Some(moment) => Ok(Some(DisabledUntil::Moment(moment))),
            None => Err(format!(
                "invalid time `{text}`: expected RFC 3339, for example 2027-01-31T06:00:00Z, or further-notice"
            )),
        },
    }
}

fn prefix(entry: &Entry<'_>) -> Result<String, String> {
    match entry.text()? {
        path if path.is_empty() || (is_path(&path) && !path.ends_with('/')) => Ok(path),
        path => {
            Err(format!("invalid path prefix `{path}`: expected a path such as /api/v2, or an empty string"))
        }
    }
}

fn is_path(path: &str) -> bool {
    path.starts_with('/') && path.bytes().all(|b| b.is_ascii_graphic() && !matches!(b, b'#' | b'"' | b'\\'))
}

fn passed_headers(entry: &Entry<'_>) -> Result<PassedHeaders, String> {
    names(entry)?.iter().try_fold(PassedHeaders::default(), |passed, name| {
        let withheld = PassedHeaders::withheld().join(", ");
        passed
            .with(name)
            .ok_or_else(|| format!("`{name}` is not withheld from clients; expected some of {withheld}"))
    })
}

fn media_types(entry: &Entry<'_>) -> Result<Vec<String>, String> {
    let of_a_type = |c: char| c.is_ascii_alphanumeric() || matches!(c, '/' | '*' | '-' | '.' | '+' | '_');
    let well_formed = |name: &String| name.matches('/').count() == 1 && name.chars().all(of_a_type);
    names(entry)?
        .into_iter()
        .map(|name| name.to_ascii_lowercase())
        .map(|name| match well_formed(&name) {
            true => Ok(name),
            false => Err(format!(
                "invalid media type `{name}`: expected for example audio/* or multipart/form-data"
            )),
        })
        .collect()
}
