//! The pool of one tool: its upstreams, what it takes and how it is probed.

use std::{fmt, ops::RangeInclusive, time::Duration};

use shared::{
    request::{MAX_BODY_BYTES, TOOL_ANSWER_MS},
    time::UnixMillis,
    tool::Tool,
};

use super::{
    read::{duration_in, names},
    section::{Entry, Section},
    values,
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

/// One server of a pool.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct UpstreamConfig {
    /// A name or an address.
    pub host: String,
    /// The port.
    pub port: u16,
    /// Its share of the calls beside those of the others: from 1 to 100.
    pub weight: u32,
    /// Whether it gets calls only when none of the others can.
    pub backup: bool,
    /// What it is there for.
    pub duty: Duty,
}

/// What an upstream is there for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Duty {
    /// Calls.
    Active,
    /// To finish what it has: it gets no new calls.
    Draining,
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

/// When calls that fail take an upstream out of its pool for a while.
#[derive(Clone, Debug)]
pub struct EjectConfig {
    /// So many failures in a row.
    pub failures: u32,
    /// Or so many of its calls within ten seconds, in percent, once there are twenty.
    pub failure_percent: u64,
    /// How long it is out for the first time.
    pub time: Duration,
    /// Each time is twice as long as the one before, but no longer than this.
    pub longest: Duration,
    /// How much of a pool may be out at once, in percent.
    pub most_percent: u64,
}

impl fmt::Display for UpstreamConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.host.contains(':') {
            true => write!(f, "[{}]:{}", self.host, self.port),
            false => write!(f, "{}:{}", self.host, self.port),
        }
    }
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
    /// Calls that may be under way at once.
    pub calls_in_flight: usize,
    /// How long a connection may take to be made.
    pub connect_timeout: Duration,
    /// How long the tool may take from the last byte of the request until the head of its answer is complete.
    pub answer_timeout: Duration,
    /// How long one upstream may take of that before a GET is tried at another one.
    pub try_timeout: Duration,
    /// How long the tool may pause within its answer.
    pub pause_timeout: Duration,
    /// Calls that may be sent a second time, in percent of all calls.
    pub retry_percent: u64,
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

/// How upstreams are probed.
#[derive(Clone, Debug)]
pub struct ProbeConfig {
    /// What is done.
    pub kind: ProbeKind,
    /// Where, when it is not where calls go.
    pub port: Option<u16>,
    /// The path that is asked for.
    pub path: String,
    /// The statuses of a healthy upstream.
    pub statuses: Vec<u16>,
    /// From the start of one probe to the start of the next.
    pub interval: Duration,
    /// How much an interval varies, in percent of it, either way.
    pub jitter_percent: u64,
    /// How long a whole probe may take.
    pub timeout: Duration,
    /// Passes in a row after which an unhealthy upstream is healthy.
    pub rise: u32,
    /// Failures in a row, of probes and of connections for calls, after which a healthy upstream is unhealthy.
    pub fall: u32,
}

/// What a probe does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProbeKind {
    /// Asks for a path.
    Http,
    /// Makes a connection.
    Tcp,
}

impl Default for EjectConfig {
    fn default() -> Self {
        Self {
            failures: 5,
            failure_percent: 50,
            time: Duration::from_secs(5),
            longest: Duration::from_secs(60),
            most_percent: 50,
        }
    }
}

impl Default for PoolSettings {
    fn default() -> Self {
        Self {
            path: String::new(),
            max_body: MAX_BODY_BYTES,
            accept: Vec::new(),
            calls_in_flight: 256,
            connect_timeout: Duration::from_secs(1),
            answer_timeout: Duration::from_millis(TOOL_ANSWER_MS),
            try_timeout: Duration::from_secs(20),
            pause_timeout: Duration::from_secs(60),
            retry_percent: 20,
            balance: Balance::RoundRobin,
            slow_start: Duration::from_secs(10),
            disabled: None,
            eject: EjectConfig::default(),
            probe: ProbeConfig::default(),
        }
    }
}

impl Default for ProbeConfig {
    fn default() -> Self {
        Self {
            kind: ProbeKind::Http,
            port: None,
            path: "/healthz".to_owned(),
            statuses: vec![200],
            interval: Duration::from_secs(2),
            jitter_percent: 20,
            timeout: Duration::from_secs(1),
            rise: 2,
            fall: 3,
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
            max_body: section.read("max_body", inherited.max_body, |entry| values::size(&entry.text()?)),
            accept: section.read("accept", inherited.accept.clone(), media_types),
            calls_in_flight: section.read("calls_in_flight", inherited.calls_in_flight, |entry| {
                usize::try_from(entry.number(1..=1_000_000)?).map_err(|error| error.to_string())
            }),
            connect_timeout: section.read("connect_timeout", inherited.connect_timeout, duration_in(TIMEOUT)),
            answer_timeout: section.read("answer_timeout", inherited.answer_timeout, duration_in(TIMEOUT)),
            try_timeout: section.read("try_timeout", inherited.try_timeout, duration_in(TIMEOUT)),
            pause_timeout: section.read("pause_timeout", inherited.pause_timeout, duration_in(TIMEOUT)),
            retry_percent: section
                .read("retry_percent", inherited.retry_percent, |entry| entry.number(0..=100)),
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

impl EjectConfig {
    fn read(section: &mut Section<'_>, inherited: &Self) -> Self {
        Self {
            failures: section.read("eject_after", inherited.failures, |entry| {
                u32::try_from(entry.number(1..=1_000)?).map_err(|error| error.to_string())
            }),
            failure_percent: section
                .read("eject_failure_percent", inherited.failure_percent, |entry| entry.number(1..=100)),
            time: section.read("eject_time", inherited.time, duration_in(TIMEOUT)),
            longest: section.read("eject_longest", inherited.longest, duration_in(TIMEOUT)),
            most_percent: section
                .read("eject_percent", inherited.most_percent, |entry| entry.number(0..=100)),
        }
    }
}

impl ProbeConfig {
    fn read(section: &mut Section<'_>, inherited: &Self) -> Self {
        let count =
            |entry: &Entry<'_>| u32::try_from(entry.number(1..=100)?).map_err(|error| error.to_string());
        Self {
            kind: section.read("kind", inherited.kind, |entry| match entry.text()?.as_str() {
                "http" => Ok(ProbeKind::Http),
                "tcp" => Ok(ProbeKind::Tcp),
                other => Err(format!("`{other}` is no kind of probe; write http or tcp")),
            }),
            port: section.read("port", inherited.port, |entry| {
                u16::try_from(entry.number(1..=65_535)?).map(Some).map_err(|error| error.to_string())
            }),
            path: section.read("path", inherited.path.clone(), |entry| match entry.text()? {
                path if is_path(&path) => Ok(path),
                path => Err(format!("`{path}` is no path; write one such as /healthz")),
            }),
            statuses: section.read("statuses", inherited.statuses.clone(), statuses),
            interval: section.read("interval", inherited.interval, duration_in(TIMEOUT)),
            jitter_percent: section
                .read("jitter_percent", inherited.jitter_percent, |entry| entry.number(0..=50)),
            timeout: section.read("timeout", inherited.timeout, duration_in(TIMEOUT)),
            rise: section.read("rise", inherited.rise, count),
            fall: section.read("fall", inherited.fall, count),
        }
    }
}

impl PoolConfig {
    /// Reads the pool of one tool; a fault is noted when it has no upstream.
    pub(super) fn read(tool: Tool, entry: Entry<'_>, defaults: &PoolSettings) -> Self {
        let mut section = entry.section();
        let upstreams = match section.entry("upstreams") {
            Some(entry) => upstreams(&entry),
            None => {
                section.fault("", "has no `upstreams`; write upstreams = [\"host:port\"]");
                Vec::new()
            }
        };
        let settings = PoolSettings::read(&mut section, defaults);
        section.finish();
        Self { tool, upstreams, settings }
    }
}

fn upstreams(entry: &Entry<'_>) -> Vec<UpstreamConfig> {
    const MOST: usize = 64;
    let elements = entry.read(|entry| match entry.elements()? {
        elements if elements.is_empty() => Err("names no upstream; a pool needs at least one".to_owned()),
        elements if elements.len() > MOST => Err(format!("a pool has at most {MOST} upstreams")),
        elements => Ok(elements),
    });
    let mut upstreams = Vec::new();
    for element in elements.into_iter().flatten() {
        let Some(upstream) = element.read(|element| upstream(&element.text()?)) else { continue };
        let named = |other: &UpstreamConfig| (&other.host, other.port) == (&upstream.host, upstream.port);
        if upstream.port == 0 {
            element.fault("an upstream needs a port other than 0");
        } else if upstreams.iter().any(named) {
            element.fault("is named twice in this pool");
        } else {
            upstreams.push(upstream);
        }
    }
    upstreams
}

/// An address and what is said of it: `10.0.0.1:9100 weight=3 backup`.
fn upstream(text: &str) -> Result<UpstreamConfig, String> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let is_word = |word: &&&str| word.starts_with("weight=") || matches!(**word, "backup" | "drain");
    let said = words.iter().rev().take_while(is_word).count();
    let (address, said) = words.split_at(words.len() - said);
    let address = if said.is_empty() { text.to_owned() } else { address.join(" ") };
    let (host, port) = values::address(&address)?;
    let host = host.to_owned();
    let mut upstream = UpstreamConfig { host, port, weight: 1, backup: false, duty: Duty::Active };
    for word in said {
        match (*word, word.strip_prefix("weight=")) {
            (_, Some(weight)) => upstream.weight = self::weight(weight)?,
            ("backup", None) => upstream.backup = true,
            _ => upstream.duty = Duty::Draining,
        }
    }
    Ok(upstream)
}

fn weight(text: &str) -> Result<u32, String> {
    let weight = text.parse().ok().filter(|weight| (1..=100).contains(weight));
    weight.ok_or_else(|| format!("`{text}` is no weight; write one from 1 to 100, such as weight=3"))
}

fn balance(entry: &Entry<'_>) -> Result<Balance, String> {
    match entry.text()?.as_str() {
        "round-robin" => Ok(Balance::RoundRobin),
        "least-connections" => Ok(Balance::LeastConnections),
        "key-hash" => Ok(Balance::KeyHash),
        other => {
            Err(format!("`{other}` is no way to balance; write round-robin, least-connections or key-hash"))
        }
    }
}

fn disabled(entry: &Entry<'_>) -> Result<Option<DisabledUntil>, String> {
    match entry.text()?.as_str() {
        "further-notice" => Ok(Some(DisabledUntil::FurtherNotice)),
        text => match UnixMillis::from_rfc3339(text) {
            Some(moment) => Ok(Some(DisabledUntil::Moment(moment))),
            None => Err(format!(
                "`{text}` is no moment; write one such as 2027-01-31T06:00:00Z, or further-notice"
            )),
        },
    }
}

fn prefix(entry: &Entry<'_>) -> Result<String, String> {
    match entry.text()? {
        path if path.is_empty() || (is_path(&path) && !path.ends_with('/')) => Ok(path),
        path => Err(format!("`{path}` is no path prefix; write one such as /api/v2, or nothing")),
    }
}

fn is_path(path: &str) -> bool {
    path.starts_with('/') && path.bytes().all(|b| b.is_ascii_graphic() && !matches!(b, b'#' | b'"' | b'\\'))
}

fn media_types(entry: &Entry<'_>) -> Result<Vec<String>, String> {
    let of_a_type = |c: char| c.is_ascii_alphanumeric() || matches!(c, '/' | '*' | '-' | '.' | '+' | '_');
    let well_formed = |name: &String| name.matches('/').count() == 1 && name.chars().all(of_a_type);
    names(entry)?
        .into_iter()
        .map(|name| name.to_ascii_lowercase())
        .map(|name| match well_formed(&name) {
            true => Ok(name),
            false => {
                Err(format!("`{name}` is no media type; write some such as audio/* or multipart/form-data"))
            }
        })
        .collect()
}

fn statuses(entry: &Entry<'_>) -> Result<Vec<u16>, String> {
    let status =
        |entry: &Entry<'_>| u16::try_from(entry.number(100..=599)?).map_err(|error| error.to_string());
    if !entry.is_array() {
        return Ok(vec![status(entry)?]);
    }
    match entry.elements()?.iter().map(status).collect::<Result<Vec<_>, _>>()? {
        statuses if statuses.is_empty() => Err("names no status; a probe needs at least one".to_owned()),
        statuses => Ok(statuses),
    }
}
