//! What is asked of the peers.

use crate::caller::Calls;
use crate::message::{Credential, Shape};
use crate::peers::Peer;
use crate::upstream;

/// What is asked of a peer in a slice.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Work {
    pub(crate) name: &'static str,
    pub(crate) what: &'static str,
    pub(crate) shape: Shape,
    pub(crate) expected: u16,
    pub(crate) connections: usize,
    pub(crate) pace: Pace,
}

/// When calls are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pace {
    /// As soon as the one before was answered.
    Answers,
    /// At the rate that was asked for.
    Rate,
    /// At half the rate that the peer had, by itself, when [`FULL`] was last asked of it.
    Half,
}

const SMALL: Shape = Shape { action: "generate", body: 0, close: false };

pub(crate) const WORKS: [Work; 8] = [
    Work {
        name: "proxied",
        what: "GET, 97 bytes back, kept connections",
        shape: SMALL,
        expected: 200,
        connections: 64,
        pace: Pace::Answers,
    },
    Work {
        name: "upload",
        what: "POST of 64 KiB",
        shape: Shape { body: 64 << 10, ..SMALL },
        expected: 200,
        connections: 64,
        pace: Pace::Answers,
    },
    Work {
        name: "download",
        what: "GET, 1 MiB back",
        shape: Shape { action: upstream::BIG_ACTION, ..SMALL },
        expected: 200,
        connections: 16,
        pace: Pace::Answers,
    },
    Work {
        name: "connect",
        what: "GET, a connection for each call",
        shape: Shape { close: true, ..SMALL },
        expected: 200,
        connections: 32,
        pace: Pace::Answers,
    },
    Work {
        name: "unknown",
        what: "401; of bare proxies a GET that is passed on",
        shape: SMALL,
        expected: 401,
        connections: 64,
        pace: Pace::Answers,
    },
    Work {
        name: "spent",
        what: "429; of bare proxies a GET that is passed on",
        shape: SMALL,
        expected: 429,
        connections: 64,
        pace: Pace::Answers,
    },
    Work {
        name: "rate",
        what: "GET at a fixed rate",
        shape: SMALL,
        expected: 200,
        connections: 64,
        pace: Pace::Rate,
    },
    Work {
        name: "half",
        what: "GET at half load",
        shape: SMALL,
        expected: 200,
        connections: 64,
        pace: Pace::Half,
    },
];

/// The work whose rate is the whole load: it comes before the one that is half of it.
pub(crate) const FULL: &str = "proxied";

impl Work {
    /// Whether it is asked for, or another that cannot be without it; no names are all.
    pub(crate) fn is_among(&self, names: &[String]) -> bool {
        let needed = |work: &Self| {
            self.name == work.name || (self.name == FULL && (work.pace == Pace::Half || work.is_refusal()))
        };
        let mut asked =
            WORKS.iter().filter(|work| names.is_empty() || names.iter().any(|name| name == work.name));
        asked.any(needed)
    }

    /// Whether its calls are to be refused.
    pub(crate) const fn is_refusal(&self) -> bool {
        self.expected >= 400
    }

    /// The calls it makes to a peer; `None` when the peer has no such work.
    pub(crate) fn calls(&self, peer: &Peer) -> Option<Calls> {
        if self.pace == Pace::Half && peer.admin.is_none() {
            return None;
        }
        let credential: &Credential = match self.expected {
            401 => peer.unknown.as_ref()?,
            429 => peer.spent.as_ref()?,
            _ => &peer.good,
        };
        let Self { shape, expected, connections, .. } = *self;
        Some(Calls { address: peer.address, credential: credential.clone(), shape, expected, connections })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_of_the_load_is_not_asked_without_the_whole() {
        let asked = |names: &[&str]| {
            let names: Vec<String> = names.iter().map(|&name| name.to_owned()).collect();
            let works = WORKS.iter().filter(|work| work.is_among(&names));
            works.map(|work| work.name).collect::<Vec<_>>()
        };
        assert_eq!(asked(&["half"]), ["proxied", "half"]);
        assert_eq!(asked(&["spent", "unknown"]), ["proxied", "unknown", "spent"]);
        assert_eq!(asked(&["rate"]), ["rate"]);
        assert_eq!(asked(&[]).len(), WORKS.len());
        assert!(asked(&["nothing"]).is_empty());
    }
}
