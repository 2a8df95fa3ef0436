//! How upstreams are probed.

use std::time::Duration;

use super::{TIMEOUT, is_path};
use crate::config::reader::{Entry, Section, duration_in};

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

impl ProbeConfig {
    pub(super) fn read(section: &mut Section<'_>, inherited: &Self) -> Self {
        let count =
            |entry: &Entry<'_>| u32::try_from(entry.number(1..=100)?).map_err(|error| error.to_string());
        Self {
            kind: section.read("kind", inherited.kind, |entry| match entry.text()?.as_str() {
                "http" => Ok(ProbeKind::Http),
                "tcp" => Ok(ProbeKind::Tcp),
                other => Err(format!("invalid probe kind `{other}`: expected http or tcp")),
            }),
            port: section.read("port", inherited.port, |entry| {
                u16::try_from(entry.number(1..=65_535)?).map(Some).map_err(|error| error.to_string())
            }),
            path: section.read("path", inherited.path.clone(), |entry| match entry.text()? {
                path if is_path(&path) => Ok(path),
                path => Err(format!("invalid path `{path}`: expected for example /healthz")),
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

fn statuses(entry: &Entry<'_>) -> Result<Vec<u16>, String> {
    let status =
        |entry: &Entry<'_>| u16::try_from(entry.number(100..=599)?).map_err(|error| error.to_string());
    if !entry.is_array() {
        return Ok(vec![status(entry)?]);
    }
    match entry.elements()?.iter().map(status).collect::<Result<Vec<_>, _>>()? {
        statuses if statuses.is_empty() => Err("is empty: expected at least one status".to_owned()),
        statuses => Ok(statuses),
    }
}
