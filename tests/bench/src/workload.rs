//! The workloads: kinds of calls that every peer serves.

use std::rc::Rc;

use crate::load::{Load, Protocol};
use crate::message::{Credential, RequestShape};
use crate::peers::{Peer, Variant};
use crate::secure::Certificate;
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
    /// The variants of peers that it is for.
    pub(crate) variants: &'static [Variant],
    pub(crate) is_http2: bool,
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

/// A small GET over kept connections in a closed loop, for peers with one thread and no TLS.
const PROXIED: Workload = Workload {
    name: FULL_LOAD,
    description: "GET, 97 bytes back, kept connections",
    shape: SMALL,
    expected: 200,
    connections: 64,
    pacing: Pacing::ClosedLoop,
    variants: &[Variant::Plain],
    is_http2: false,
};

pub(crate) const WORKLOADS: [Workload; 17] = [
    PROXIED,
    Workload {
        name: "upload",
        description: "POST of 64 KiB",
        shape: RequestShape { body: 64 << 10, ..SMALL },
        ..PROXIED
    },
    Workload {
        name: "upload-large",
        description: "POST of 1 MiB",
        shape: RequestShape { body: upstream::LARGE_BODY, ..SMALL },
        connections: 16,
        ..PROXIED
    },
    Workload {
        name: "download",
        description: "GET, 1 MiB back",
        shape: RequestShape { action: upstream::LARGE_ACTION, ..SMALL },
        connections: 16,
        ..PROXIED
    },
    Workload {
        name: "connect",
        description: "GET, a new connection for each call",
        shape: RequestShape { close: true, ..SMALL },
        connections: 32,
        ..PROXIED
    },
    Workload { name: "unknown", description: "401; bare proxies forward the GET", expected: 401, ..PROXIED },
    Workload { name: "spent", description: "429; bare proxies forward the GET", expected: 429, ..PROXIED },
    Workload { name: "rate", description: "GET at a fixed rate", pacing: Pacing::FixedRate, ..PROXIED },
    Workload { name: "half", description: "GET at half load", pacing: Pacing::HalfLoad, ..PROXIED },
    Workload {
        name: "tls",
        description: "GET over TLS 1.3, kept connections",
        variants: &[Variant::Tls],
        ..PROXIED
    },
    Workload {
        name: "tls-upload",
        description: "POST of 64 KiB over TLS 1.3",
        shape: RequestShape { body: 64 << 10, ..SMALL },
        variants: &[Variant::Tls],
        ..PROXIED
    },
    Workload {
        name: "tls-download",
        description: "GET over TLS 1.3, 1 MiB back",
        shape: RequestShape { action: upstream::LARGE_ACTION, ..SMALL },
        connections: 16,
        variants: &[Variant::Tls],
        ..PROXIED
    },
    Workload {
        name: "tls-connect",
        description: "GET over TLS 1.3, a full handshake for each call",
        shape: RequestShape { close: true, ..SMALL },
        connections: 32,
        variants: &[Variant::Tls],
        ..PROXIED
    },
    Workload {
        name: "http2",
        description: "GET over HTTP/2 and TLS 1.3, 8 streams on each connection",
        variants: &[Variant::Tls],
        is_http2: true,
        ..PROXIED
    },
    Workload {
        name: "http2-upload",
        description: "POST of 64 KiB over HTTP/2 and TLS 1.3, 8 streams on each connection",
        shape: RequestShape { body: 64 << 10, ..SMALL },
        variants: &[Variant::Tls],
        is_http2: true,
        ..PROXIED
    },
    Workload {
        name: "http2-download",
        description: "GET over HTTP/2 and TLS 1.3, 1 MiB back, 8 streams on each connection",
        shape: RequestShape { action: upstream::LARGE_ACTION, ..SMALL },
        connections: 16,
        variants: &[Variant::Tls],
        is_http2: true,
        ..PROXIED
    },
    Workload {
        name: "cores",
        description: "GET, two processors that the clients share",
        variants: &[Variant::TwoThreads],
        ..PROXIED
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

    /// Returns true if each call does a full TLS handshake.
    pub(crate) fn is_handshake(&self) -> bool {
        self.shape.close && self.variants.contains(&Variant::Tls)
    }

    /// Returns the load on a peer, or `None` if the peer does not support the workload.
    pub(crate) fn load(&self, peer: &Peer, certificate: &Rc<Certificate>) -> Option<Load> {
        if self.pacing == Pacing::HalfLoad && peer.admin.is_none() {
            return None;
        }
        let credential: &Credential = match self.expected {
            401 => peer.unknown.as_ref()?,
            429 => peer.exhausted.as_ref()?,
            _ => &peer.valid,
        };
        let Self { shape, expected, connections, .. } = *self;
        let protocol = match peer.variant {
            Variant::Tls if self.is_http2 => Protocol::Http2(Rc::clone(certificate)),
            Variant::Tls => Protocol::Https(Rc::clone(certificate)),
            Variant::Plain | Variant::TwoThreads => Protocol::Http1,
        };
        Some(Load {
            address: peer.address,
            credential: credential.clone(),
            shape,
            expected,
            connections,
            protocol,
        })
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
