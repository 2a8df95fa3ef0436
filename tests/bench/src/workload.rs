//! The workloads: kinds of calls that every peer serves.

use crate::load::Load;
use crate::message::{Credential, RequestShape};
use crate::peers::Peer;
use crate::upstream;

/// A kind of call and how often it is made.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Workload {
    pub(crate) name: &'static str,
    pub(crate) description: &'static str,
    pub(crate) shape: RequestShape,
    pub(crate) expected: u16,
    pub(crate) connections: usize,
    pub(crate) pacing: Pacing,
}

/// When calls are sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pacing {
    /// A closed loop: as soon as the previous response is complete.
    ClosedLoop,
    /// An open loop at `--rate`.
    FixedRate,
    /// An open loop at half the rate of the latest [`FULL_LOAD`] slice.
    HalfLoad,
}

const SMALL: RequestShape = RequestShape { action: "generate", body: 0, close: false };

pub(crate) const WORKLOADS: [Workload; 8] = [
    Workload {
        name: "proxied",
        description: "GET, 97 bytes back, kept connections",
        shape: SMALL,
        expected: 200,
        connections: 64,
        pacing: Pacing::ClosedLoop,
    },
    Workload {
        name: "upload",
        description: "POST of 64 KiB",
        shape: RequestShape { body: 64 << 10, ..SMALL },
        expected: 200,
        connections: 64,
        pacing: Pacing::ClosedLoop,
    },
    Workload {
        name: "download",
        description: "GET, 1 MiB back",
        shape: RequestShape { action: upstream::LARGE_ACTION, ..SMALL },
        expected: 200,
        connections: 16,
        pacing: Pacing::ClosedLoop,
    },
    Workload {
        name: "connect",
        description: "GET, a new connection for each call",
        shape: RequestShape { close: true, ..SMALL },
        expected: 200,
        connections: 32,
        pacing: Pacing::ClosedLoop,
    },
    Workload {
        name: "unknown",
        description: "401; bare proxies forward the GET",
        shape: SMALL,
        expected: 401,
        connections: 64,
        pacing: Pacing::ClosedLoop,
    },
    Workload {
        name: "spent",
        description: "429; bare proxies forward the GET",
        shape: SMALL,
        expected: 429,
        connections: 64,
        pacing: Pacing::ClosedLoop,
    },
    Workload {
        name: "rate",
        description: "GET at a fixed rate",
        shape: SMALL,
        expected: 200,
        connections: 64,
        pacing: Pacing::FixedRate,
    },
    Workload {
        name: "half",
        description: "GET at half load",
        shape: SMALL,
        expected: 200,
        connections: 64,
        pacing: Pacing::HalfLoad,
    },
];

/// The workload that measures the full load. It runs before the one at half load.
pub(crate) const FULL_LOAD: &str = "proxied";

impl Workload {
    /// Returns true if `names` selects the workload, or one that depends on it. An empty list
    /// selects all.
    pub(crate) fn is_selected(&self, names: &[String]) -> bool {
        let needed = |workload: &Self| {
            self.name == workload.name
                || (self.name == FULL_LOAD && (workload.pacing == Pacing::HalfLoad || workload.is_refusal()))
        };
        let mut selected = WORKLOADS
            .iter()
            .filter(|workload| names.is_empty() || names.iter().any(|name| name == workload.name));
        selected.any(needed)
    }

    /// Returns true if the expected response is a refusal.
    pub(crate) const fn is_refusal(&self) -> bool {
        self.expected >= 400
    }

    /// Returns the load on a peer, or `None` if the peer does not support the workload.
    pub(crate) fn load(&self, peer: &Peer) -> Option<Load> {
        if self.pacing == Pacing::HalfLoad && peer.admin.is_none() {
            return None;
        }
        let credential: &Credential = match self.expected {
            401 => peer.unknown.as_ref()?,
            429 => peer.exhausted.as_ref()?,
            _ => &peer.valid,
        };
        let Self { shape, expected, connections, .. } = *self;
        Some(Load { address: peer.address, credential: credential.clone(), shape, expected, connections })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_load_selects_full_load_too() {
        let selected = |names: &[&str]| {
            let names: Vec<String> = names.iter().map(|&name| name.to_owned()).collect();
            let works = WORKLOADS.iter().filter(|workload| workload.is_selected(&names));
            works.map(|workload| workload.name).collect::<Vec<_>>()
        };
        assert_eq!(selected(&["half"]), ["proxied", "half"]);
        assert_eq!(selected(&["spent", "unknown"]), ["proxied", "unknown", "spent"]);
        assert_eq!(selected(&["rate"]), ["rate"]);
        assert_eq!(selected(&[]).len(), WORKLOADS.len());
        assert!(selected(&["nothing"]).is_empty());
    }
}
