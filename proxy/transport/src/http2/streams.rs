//! What is known of the requests of one connection together.

use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering},
    },
    time::Duration,
};

use tokio::{sync::Notify, task::yield_now, time::sleep};

use crate::limits::Limit;

/// The requests of one connection.
pub(super) struct Streams {
    begun: AtomicU32,
    under_way: AtomicU32,
    /// Those that the client took back before they were answered.
    taken_back: AtomicU32,
    unused: Notify,
    /// Bytes that are held of all requests and responses of an unverified connection.
    held: AtomicUsize,
    /// Whether one of its requests had a valid key or grant.
    verified: AtomicBool,
    verification: Notify,
    exceeded: Box<dyn Fn(Limit) + Send + Sync>,
}

/// One request, until this is dropped.
#[derive(Debug)]
pub(super) struct Begun {
    in_flight: InFlight,
    taken_back: AtomicBool,
    /// Its share of [`Streams::held`].
    held: AtomicUsize,
}

/// A place among the requests in flight of one connection. Dropping it releases the place.
#[derive(Debug)]
pub(super) struct InFlight(Arc<Streams>);

/// So many requests may be taken back; of more than that, as many as were not. People leave pages, and proxies give up,
/// but neither does so most of the time.
const TAKEN_BACK: u32 = 100;
/// Maximum number of bytes that are held of requests and responses on a connection that has not sent a valid key or
/// grant. With the bodies, which the window of such a connection limits, it is 1 MiB.
const UNVERIFIED_BYTES: usize = 768 << 10;
/// Beyond this other tasks go on before the next request is begun: requests are decided without waiting, and hold nothing
/// after that. The responses that wait for their client stay below it.
const CROWDED: usize = UNVERIFIED_BYTES / 3;
/// How often they do. A task on another thread may take longer.
const YIELDS: usize = 32;
/// What a response that waits for its client takes beside its bytes. Measured: 1.2 KiB.
const WAITING_RESPONSE: usize = 1 << 10;

impl Streams {
    /// No requests yet. `exceeded` is called for each limit that they run into.
    pub(super) fn new(exceeded: impl Fn(Limit) + Send + Sync + 'static) -> Self {
        Self {
            begun: AtomicU32::new(0),
            under_way: AtomicU32::new(0),
            taken_back: AtomicU32::new(0),
            unused: Notify::new(),
            held: AtomicUsize::new(0),
            verified: AtomicBool::new(false),
            verification: Notify::new(),
            exceeded: Box::new(exceeded),
        }
    }

    /// Counts a request, of which so many bytes are held. Returns `None` if the connection must not hold more.
    pub(super) fn begin(self: &Arc<Self>, bytes: usize) -> Option<Begun> {
        self.begun.fetch_add(1, Ordering::Relaxed);
        let begun = Begun {
            in_flight: InFlight::new(self),
            taken_back: AtomicBool::new(false),
            held: AtomicUsize::new(0),
        };
        begun.try_hold(bytes).then_some(begun)
    }

    pub(super) fn begun(&self) -> u32 {
        self.begun.load(Ordering::Relaxed)
    }

    /// Whether requests are made to be taken back: each costs us more than the client.
    pub(super) fn is_flood(&self) -> bool {
        let taken_back = self.taken_back.load(Ordering::Relaxed);
        taken_back > TAKEN_BACK && taken_back > self.begun() / 2
    }

    /// Waits until no request was under way for so long.
    pub(super) async fn unused_for(&self, time: Duration) {
        loop {
            let unused = self.unused.notified();
            if self.under_way.load(Ordering::Acquire) == 0 {
                break;
            }
            unused.await;
        }
        sleep(time).await;
    }

    /// Lets other tasks go on for a while if much is held of an unverified connection.
    pub(super) async fn make_room(&self) {
        for _ in 0..YIELDS {
            if self.verified.load(Ordering::Relaxed) || self.held.load(Ordering::Relaxed) < CROWDED {
                break;
            }
            yield_now().await;
        }
    }

    /// Waits until a request had a valid key or grant. Only one task may wait.
    pub(super) async fn verified(&self) {
        while !self.verified.load(Ordering::Acquire) {
            self.verification.notified().await;
        }
    }

    /// Adds to the bytes that are held, unless they are too many then.
    fn try_add(&self, bytes: usize) -> bool {
        let most = match self.verified.load(Ordering::Relaxed) {
            // From here on the limits of the key hold.
            true => usize::MAX,
            false => UNVERIFIED_BYTES,
        };
        let more = |held: usize| held.checked_add(bytes).filter(|held| *held <= most);
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

impl Begun {
    /// The client took it back.
    pub(super) fn taken_back(&self) {
        if !self.taken_back.swap(true, Ordering::Relaxed) {
            self.streams().taken_back.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Records that the request had a valid key or grant.
    pub(super) fn verified(&self) {
        let streams = self.streams();
        if !streams.verified.load(Ordering::Relaxed) {
            streams.verified.store(true, Ordering::Release);
            streams.verification.notify_one();
        }
    }

    /// Records that nothing is held of the request.
    pub(super) fn release(&self) {
        // Without a write where there is nothing to release: this is asked for each piece of a response.
        if self.held.load(Ordering::Relaxed) > 0 {
            self.streams().held.fetch_sub(self.held.swap(0, Ordering::Relaxed), Ordering::Relaxed);
        }
    }

    /// Records that so many bytes of its response wait for the client, and nothing else is held. Returns false if the
    /// connection must not hold as much.
    pub(super) fn try_wait(&self, bytes: usize) -> bool {
        let wanted = bytes + WAITING_RESPONSE;
        if self.streams().verified.load(Ordering::Relaxed) || self.held.load(Ordering::Relaxed) == wanted {
            return true;
        }
        self.release();
        self.try_hold(wanted)
    }

    /// The rest of its response, which waits for the client when the request itself is over.
    pub(super) fn split(&self) -> Self {
        Self {
            in_flight: InFlight::new(self.streams()),
            taken_back: AtomicBool::new(true),
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

impl Drop for Begun {
    fn drop(&mut self) {
        self.release();
    }
}

impl InFlight {
    fn new(streams: &Arc<Streams>) -> Self {
        streams.under_way.fetch_add(1, Ordering::Relaxed);
        Self(Arc::clone(streams))
    }
}

impl Drop for InFlight {
    fn drop(&mut self) {
        if self.0.under_way.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.0.unused.notify_one();
        }
    }
}

impl fmt::Debug for Streams {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Streams")
            .field("begun", &self.begun)
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
    fn unverified_connection_holds_so_many_bytes_and_no_more() {
        let (streams, exceeded) = streams();
        let mut held: Vec<_> = std::iter::from_fn(|| streams.begin(64 << 10)).collect();
        assert_eq!((held.len(), exceeded.load(Ordering::Relaxed)), (12, 1));
        held.pop();
        assert!(streams.begin(64 << 10).is_some(), "a request that is over makes room");
        for begun in &held {
            begun.release();
        }
        assert_eq!(streams.held.load(Ordering::Relaxed), 0);
        assert!(held.iter().all(|begun| begun.try_wait(600) && begun.try_wait(600)));
        assert_eq!(streams.held.load(Ordering::Relaxed), 11 * (600 + WAITING_RESPONSE));
        let waiting: Vec<_> = held.iter().map(Begun::split).collect();
        drop(held);
        assert_eq!(streams.held.load(Ordering::Relaxed), 11 * (600 + WAITING_RESPONSE));
        drop(waiting);
        assert_eq!(streams.held.load(Ordering::Relaxed), 0);
        assert_eq!(streams.under_way.load(Ordering::Relaxed), 0);
    }

    #[test]
    fn verified_connection_holds_more() {
        let (streams, exceeded) = streams();
        let first = streams.begin(UNVERIFIED_BYTES).unwrap();
        assert!(streams.begin(1).is_none());
        first.verified();
        let others: Vec<_> = (0..STREAMS).filter_map(|_| streams.begin(64 << 10)).collect();
        assert_eq!((others.len(), exceeded.load(Ordering::Relaxed)), (STREAMS, 1));
        drop((first, others));
        assert_eq!(streams.held.load(Ordering::Relaxed), 0);
    }

    const STREAMS: usize = 128;
}
