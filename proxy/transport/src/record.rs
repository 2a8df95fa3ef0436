//! The log record of a request. No decision depends on it.

use std::time::{Duration, Instant};

use strum::{IntoStaticStr, VariantArray};

use crate::clock::Moment;

/// The log record of a request. `L` is the product's part of it.
#[derive(Debug)]
pub struct Record<L> {
    /// The time at which the head of the request was complete.
    pub started: Moment,
    /// The time in which the beginning of the body was buffered, before an upstream was chosen.
    pub buffering: Duration,
    /// The time at which the whole request was sent: the timeout of the response starts.
    pub completed_at: Option<Instant>,
    /// The time at which the request was sent to an upstream.
    pub sent_at: Option<Instant>,
    /// The time at which the response of an upstream started.
    pub responded_at: Option<Instant>,
    /// The number of connections that were tried.
    pub attempts: u32,
    /// The number of bytes of the request's body.
    pub received: u64,
    /// Maximum number of bytes of the request's body.
    pub max_body: u64,
    /// Whether the request is a stream of HTTP/2.
    pub is_http2: bool,
    /// The status of the response, or 0 if there was none.
    pub status: u16,
    /// The number of bytes of the response's body.
    pub sent: usize,
    /// The side that aborted the response, if it is not complete.
    pub aborted: Option<Aborted>,
    /// The product's part.
    pub log: L,
}

/// The times at which a new connection to an upstream was made.
#[derive(Clone, Copy, Debug)]
pub struct DialTimes {
    /// The time at which it began.
    pub begun: Instant,
    /// The time at which the TCP connection was established.
    pub connected: Instant,
    /// The time at which the TLS handshake was complete, if TLS is on.
    pub secured: Option<Instant>,
}

/// The side that aborted a response. The discriminants are indices.
#[derive(Clone, Copy, Debug, PartialEq, Eq, VariantArray, IntoStaticStr)]
#[strum(const_into_str)]
pub enum Aborted {
    /// The upstream, or its timeout.
    #[strum(serialize = "upstream")]
    ByUpstream,
    /// The client, or its timeout.
    #[strum(serialize = "client")]
    ByClient,
}

impl<L> Record<L> {
    /// Returns the record of a request that has just arrived.
    pub(crate) fn new(log: L, max_body: u64, is_http2: bool) -> Self {
        Self {
            started: Moment::now(),
            buffering: Duration::ZERO,
            completed_at: None,
            sent_at: None,
            responded_at: None,
            attempts: 0,
            received: 0,
            max_body,
            is_http2,
            status: 0,
            sent: 0,
            aborted: None,
            log,
        }
    }

    /// Returns the start of the request plus the time in which its body was buffered. The time
    /// since then excludes the client's.
    pub fn buffered_at(&self) -> Instant {
        self.started.instant + self.buffering
    }
}
