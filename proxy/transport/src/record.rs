//! What is measured of a request while it is served. It decides nothing.

use std::time::{Duration, Instant};

use crate::clock::Moment;

/// The log record of a request. `L` is the product's part of it.
#[derive(Debug)]
pub struct Record<L> {
    /// When the head of the request was complete.
    pub started: Moment,
    /// How long the client took to send what was buffered of its body before an upstream was connected.
    pub buffering: Duration,
    /// When the whole request had come: the time of the upstream began.
    pub completed_at: Option<Instant>,
    /// When the request was sent to an upstream.
    pub sent_at: Option<Instant>,
    /// When the response of an upstream began.
    pub responded_at: Option<Instant>,
    /// How many connections were tried.
    pub attempts: u32,
    /// Bytes of the request's body.
    pub received: u64,
    /// Maximum number of bytes of the request's body.
    pub max_body: u64,
    /// The status of the response, or 0 if there was none.
    pub status: u16,
    /// Bytes of the response's body.
    pub sent: usize,
    /// Who ended the response before it was complete.
    pub aborted: Option<Aborted>,
    /// What the product adds.
    pub log: L,
}

/// Who ended a response before it was complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Aborted {
    /// The client, or a timeout.
    ByClient,
    /// The upstream.
    ByUpstream,
}

impl<L> Record<L> {
    /// Returns the record of a request that has just arrived.
    pub(crate) fn new(log: L, max_body: u64) -> Self {
        Self {
            started: Moment::now(),
            buffering: Duration::ZERO,
            completed_at: None,
            sent_at: None,
            responded_at: None,
            attempts: 0,
            received: 0,
            max_body,
            status: 0,
            sent: 0,
            aborted: None,
            log,
        }
    }

    /// Returns when the request had come as far as it is buffered, as if it had come at once: the time of its client is
    /// left out.
    #[must_use]
    pub fn buffered_at(&self) -> Instant {
        self.started.instant + self.buffering
    }
}
