//! The settings of health checks.

use std::time::Duration;

use super::statuses::probe_statuses;
use super::{TIMEOUT, is_path};
use crate::reader::choice::choice;
use crate::reader::{Entry, Section, ValueError, count, duration_in};

/// The settings of health checks.
#[derive(Clone, Debug)]
pub struct ProbeConfig {
    /// The kind of probe.
    pub kind: ProbeKind,
    /// The port to probe, if it is not that of calls.
    pub port: Option<u16>,
    /// The path of the request.
    pub path: String,
    /// The statuses of a healthy upstream.
    pub statuses: Vec<u16>,
    /// Time from the start of one probe to the start of the next.
    pub interval: Duration,
    /// Random variation of the interval in either direction, in percent.
    pub jitter_percent: u64,
    /// Maximum time for a whole probe.
    pub timeout: Duration,
    /// Number of consecutive passes after which an unhealthy upstream is healthy.
    pub rise: u32,
    /// Number of consecutive failures, of probes and of connections for calls, after which a
    /// healthy upstream is unhealthy.
    pub fall: u32,
    /// Whether the connections of an unhealthy upstream are closed when its probes time out.
    pub close_connections: bool,
}

/// The kind of probe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProbeKind {
    /// Requests a path.
    Http,
    /// Connects only.
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
            close_connections: true,
        }
    }
}

impl ProbeConfig {
    pub(super) fn read(section: &mut Section<'_>, inherited: &Self) -> Self {
        Self {
            kind: section.read("kind", inherited.kind, choice),
            port: section.read("port", inherited.port, |entry| entry.number(1..=65_535).map(Some)),
            path: section.read("path", inherited.path.clone(), |entry| match entry.text()? {
                path if is_path(&path) => Ok(path),
                path => Err(ValueError::invalid("path", path, "for example /healthz")),
            }),
            statuses: section.read("statuses", inherited.statuses.clone(), probe_statuses),
            interval: section.read("interval", inherited.interval, duration_in(TIMEOUT)),
            jitter_percent: section.read("jitter_percent", inherited.jitter_percent, count(0..=50)),
            timeout: section.read("timeout", inherited.timeout, duration_in(TIMEOUT)),
            rise: section.read("rise", inherited.rise, count(1..=100)),
            fall: section.read("fall", inherited.fall, count(1..=100)),
            close_connections: section.read("close_connections", inherited.close_connections, Entry::boolean),
        }
    }
}
