//! The streams of one connection: their number, their resets, and the bytes that they hold.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::task::yield_now;
use tokio::time::sleep;

use super::close_reason::CloseReason;
use crate::idle_clients::IdleClients;
use crate::limits::Limit;

/// The streams of one connection.
pub(super) struct Streams {
    opened: AtomicU32,
    in_flight: AtomicU32,
    /// The number of streams that the client has reset before the response was complete.
    reset: AtomicU32,
    idle: Notify,
    /// The bytes of requests and responses that an unverified connection holds.
    held: AtomicUsize,
    /// Whether a request had a valid key or grant.
    verified: AtomicBool,
    verification: Notify,
    exceeded: Box<dyn Fn(Limit) + Send + Sync>,
}

/// The slot of one stream. Dropping it releases the slot and its bytes.
#[derive(Debug)]
#[must_use]
pub(super) struct StreamSlot {
    in_flight: InFlight,
    is_reset: AtomicBool,
    /// The stream's share of [`Streams::held`].
    held: AtomicUsize,
}

/// A guard that counts a stream as in flight.
#[derive(Debug)]
#[must_use]
pub(super) struct InFlight(Arc<Streams>);

/// The number of resets that is always allowed. Beyond it, half of all streams may be reset: users
/// leave pages and proxies time out, but not most of the time.
const FREE_RESETS: u32 = 100;
/// Maximum number of bytes of requests and responses that a connection without a valid key or grant
/// holds. Together with the bodies, which the window of such a connection limits, it is 1 MiB.
const UNVERIFIED_BYTES: usize = 768 << 10;
/// Number of held bytes beyond which other tasks run before the next request is started. Requests
/// are decided without waiting and hold nothing after that. Responses that wait for their client
/// stay below it.
const CROWDED: usize = UNVERIFIED_BYTES / 3;
/// Maximum number of yields. A task of another thread can take longer.
const YIELDS: usize = 32;
/// Memory of a response that waits for its client, besides its bytes. Measured: 1.2 KiB.
const WAITING_RESPONSE: usize = 1 << 10;

impl Streams {
    /// Returns the streams of a new connection. `exceeded` is called for each limit that a stream
    /// exceeds.
    pub(super) fn new(exceeded: impl Fn(Limit) + Send + Sync + 'static) -> Self {
        Self {
            opened: AtomicU32::new(0),
            in_flight: AtomicU32::new(0),
            reset: AtomicU32::new(0),
            idle: Notify::new(),
            held: AtomicUsize::new(0),
            verified: AtomicBool::new(false),
            verification: Notify::new(),
            exceeded: Box::new(exceeded),
        }
    }

    /// Opens a stream that holds so many bytes. Returns `None` if the connection would hold too
    /// many.
    pub(super) fn open(self: &Arc<Self>, bytes: usize) -> Option<StreamSlot> {
        self.opened.fetch_add(1, Ordering::Relaxed);
        // Made before the bytes are held, so that a refusal releases it too.
        let slot = StreamSlot {
            in_flight: InFlight::new(self),
            is_reset: AtomicBool::new(false),
            held: AtomicUsize::new(0),
        };
        slot.try_hold(bytes).then_some(slot)
    }

    /// Returns the number of streams that were opened.
    pub(super) fn opened(&self) -> u32 {
        self.opened.load(Ordering::Relaxed)
    }

    /// Returns true if the client opens streams only to reset them, which costs the proxy more than
    /// the client.
    pub(super) fn is_flood(&self) -> bool {
        let reset = self.reset.load(Ordering::Relaxed);
        reset > FREE_RESETS && reset > self.opened() / 2
    }

    /// Waits until no stream has been in flight for so long, or another client needs the file
    /// descriptor of the idle connection. Returns the reason to close it.
    pub(super) async fn idle_for(&self, time: Duration, clients: &IdleClients) -> CloseReason {
        loop {
            let idle = self.idle.notified();
            if self.in_flight.load(Ordering::Acquire) == 0 {
                break;
            }
            idle.await;
        }
        tokio::select! {
            () = sleep(time) => CloseReason::Idle,
            // The first request of a new connection may be on its way.
            () = clients.closed(), if self.opened() > 0 => CloseReason::Done,
        }
    }

    /// Lets other tasks run for a while if an unverified connection holds many bytes.
    pub(super) async fn yield_while_crowded(&self) {
        for _ in 0..YIELDS {
            if self.verified.load(Ordering::Relaxed) || self.held.load(Ordering::Relaxed) < CROWDED {
                break;
            }
            yield_now().await;
        }
    }

    /// Waits for a request with a valid key or grant. Only one task may wait.
    pub(super) async fn verified(&self) {
        while !self.verified.load(Ordering::Acquire) {
            self.verification.notified().await;
        }
    }

    /// Adds to the held bytes. Returns false if they would exceed the limit.
    fn try_add(&self, bytes: usize) -> bool {
        let max = match self.verified.load(Ordering::Relaxed) {
            // The limits of the key apply.
            true => usize::MAX,
            false => UNVERIFIED_BYTES,
        };
        let more = |held: usize| held.checked_add(bytes).filter(|held| *held <= max);
        // One step: two streams that look first and add then would both pass.
        let added = self.held.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more).is_ok();
        if !added {
            self.record_exceeded(Limit::Http2HeldBytes);
        }
        added
    }

    /// Records that a limit was exceeded.
    pub(super) fn record_exceeded(&self, limit: Limit) {
        (self.exceeded)(limit);
    }
}

impl StreamSlot {
    /// Records that the client has reset the stream.
    pub(super) fn record_reset(&self) {
        if !self.is_reset.swap(true, Ordering::Relaxed) {
            self.streams().reset.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Records that the request has a valid key or grant.
    pub(super) fn accept(&self) {
        let streams = self.streams();
        if !streams.verified.load(Ordering::Relaxed) {
            streams.verified.store(true, Ordering::Release);
            streams.verification.notify_one();
        }
    }

    /// Releases the bytes that the stream holds.
    pub(super) fn release(&self) {
        // Reads first, because this is called for each piece of a response.
        if self.held.load(Ordering::Relaxed) > 0 {
            self.streams().held.fetch_sub(self.held.swap(0, Ordering::Relaxed), Ordering::Relaxed);
        }
    }

    /// Replaces the held bytes by those of a response that waits for the client. Returns false if
    /// the connection would hold too many.
    pub(super) fn try_hold_response(&self, bytes: usize) -> bool {
        let wanted = bytes + WAITING_RESPONSE;
        // Each poll offers the same bytes again, which must not be counted twice.
        if self.streams().verified.load(Ordering::Relaxed) || self.held.load(Ordering::Relaxed) == wanted {
            return true;
        }
        self.release();
        self.try_hold(wanted)
    }

    /// Returns a slot for the rest of the response, which outlives this one and takes over its
    /// bytes.
    pub(super) fn detach_response(&self) -> Self {
        Self {
            in_flight: InFlight::new(self.streams()),
            // The request is over: a client that leaves its refusal is no flood.
            is_reset: AtomicBool::new(true),
            held: AtomicUsize::new(self.held.swap(0, Ordering::Relaxed)),
        }
    }

    /// Records that a limit was exceeded.
    pub(super) fn record_exceeded(&self, limit: Limit) {
        self.streams().record_exceeded(limit);
    }

    fn try_hold(&self, bytes: usize) -> bool {
        let added = self.streams().try_add(bytes);
        if added {
            self.held.store(bytes, Ordering::Relaxed);
        }
        added
    }

    const fn streams(&self) -> &Arc<Streams> {
        &self.in_flight.0
    }
}

impl Drop for StreamSlot {
    fn drop(&mut self) {
        self.release();
    }
}

impl InFlight {
    fn new(streams: &Arc<Streams>) -> Self {
        streams.in_flight.fetch_add(1, Ordering::Relaxed);
        Self(Arc::clone(streams))
    }
}

impl Drop for InFlight {
    fn drop(&mut self) {
        if self.0.in_flight.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.0.idle.notify_one();
        }
    }
}

impl fmt::Debug for Streams {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Streams")
            .field("opened", &self.opened)
            .field("held", &self.held)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn streams() -> (Arc<Streams>, Arc<AtomicU32>) {
        let exceeded = Arc::new(AtomicU32::new(0));
        let count = Arc::clone(&exceeded);
        let streams = Streams::new(move |limit| {
            assert_eq!(limit, Limit::Http2HeldBytes);
            count.fetch_add(1, Ordering::Relaxed);
        });
        (Arc::new(streams), exceeded)
    }

    #[test]
    fn unverified_connection_holds_a_limited_number_of_bytes() {
        let (streams, exceeded) = streams();
        let mut held: Vec<_> = std::iter::from_fn(|| streams.open(64 << 10)).collect();
        assert_eq!((held.len(), exceeded.load(Ordering::Relaxed)), (12, 1));
        held.pop();
        assert!(streams.open(64 << 10).is_some(), "a dropped slot releases its bytes");
        for slot in &held {
            slot.release();
        }
        assert_eq!(streams.held.load(Ordering::Relaxed), 0);
        assert!(held.iter().all(|slot| slot.try_hold_response(600) && slot.try_hold_response(600)));
        assert_eq!(streams.held.load(Ordering::Relaxed), 11 * (600 + WAITING_RESPONSE));
        let waiting: Vec<_> = held.iter().map(StreamSlot::detach_response).collect();
        drop(held);
        assert_eq!(streams.held.load(Ordering::Relaxed), 11 * (600 + WAITING_RESPONSE));
        drop(waiting);
        assert_eq!(streams.held.load(Ordering::Relaxed), 0);
        assert_eq!(streams.in_flight.load(Ordering::Relaxed), 0);
    }

    #[test]
    fn verified_connection_holds_more() {
        let (streams, exceeded) = streams();
        let first = streams.open(UNVERIFIED_BYTES).unwrap();
        assert!(streams.open(1).is_none());
        first.accept();
        let others: Vec<_> = (0..STREAMS).filter_map(|_| streams.open(64 << 10)).collect();
        assert_eq!((others.len(), exceeded.load(Ordering::Relaxed)), (STREAMS, 1));
        drop((first, others));
        assert_eq!(streams.held.load(Ordering::Relaxed), 0);
    }

    const STREAMS: usize = 128;
}
