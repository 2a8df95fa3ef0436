//! Graceful shutdown: counts what is in flight, so that the process exits when all of it is done
//! and not only when the grace period ends.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use tokio::sync::watch;

/// The work in flight, and the phase of the shutdown.
#[derive(Debug, Default)]
pub struct Drain {
    listeners: AtomicUsize,
    requests: AtomicUsize,
    connections: AtomicUsize,
    sending: AtomicUsize,
    /// Whether the phase is not [`Phase::Serving`]. Requests check only this.
    announced: AtomicBool,
    /// Whether the phase is [`Phase::Draining`] or [`Phase::Closing`].
    begun: AtomicBool,
    phase: watch::Sender<Phase>,
    /// Whether another process accepts the connections, in the form that Pingora expects.
    handed_over: watch::Sender<bool>,
}

/// The phase of a graceful shutdown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Phase {
    /// The process accepts connections.
    #[default]
    Serving,
    /// The process accepts connections but is not ready, so that load balancers stop using it
    /// before it drains. Open connections are closed after their next response.
    Delaying,
    /// Another process accepts connections. Open connections are closed after their next response.
    Draining,
    /// Connections without a request are closed.
    Closing,
}

/// A guard that counts work as in flight: a listener, a request, a connection, or data to send.
/// Dropping it ends the work.
#[derive(Debug)]
#[must_use]
pub struct InFlightGuard {
    drain: Arc<Drain>,
    kind: WorkKind,
}

/// A kind of work that is counted as in flight.
#[derive(Clone, Copy, Debug)]
pub enum WorkKind {
    /// A socket that accepts connections.
    Listener,
    /// A request.
    Request,
    /// A connection.
    Connection,
    /// Data that must be sent although no request waits for it.
    Sending,
}

impl Drain {
    /// Counts work as in flight. Dropping the guard ends it.
    pub fn track(self: &Arc<Self>, kind: WorkKind) -> InFlightGuard {
        self.counter(kind).fetch_add(1, Ordering::Relaxed);
        InFlightGuard { drain: Arc::clone(self), kind }
    }

    const fn counter(&self, kind: WorkKind) -> &AtomicUsize {
        match kind {
            WorkKind::Listener => &self.listeners,
            WorkKind::Request => &self.requests,
            WorkKind::Connection => &self.connections,
            WorkKind::Sending => &self.sending,
        }
    }

    /// Makes a serving process not ready. It still accepts connections.
    pub fn delay(&self) {
        self.announced.store(true, Ordering::Release);
        // A delay that is requested while the process drains must not make it serve again.
        self.phase.send_if_modified(|phase| {
            let serving = *phase == Phase::Serving;
            if serving {
                *phase = Phase::Delaying;
            }
            serving
        });
    }

    /// Starts to close connections: the process is shutting down.
    pub fn begin(&self) {
        self.enter(Phase::Closing);
    }

    /// Starts to drain: another process accepts the connections.
    pub fn hand_over(&self) {
        self.enter(Phase::Draining);
        self.handed_over.send_replace(true);
    }

    fn enter(&self, phase: Phase) {
        self.announced.store(true, Ordering::Release);
        // The flags come first: a connection that the phase wakes looks at them.
        self.begun.store(true, Ordering::Release);
        // Not `send`, which stores nothing while nobody is subscribed: a later connection would not
        // learn of the shutdown.
        self.phase.send_replace(phase);
    }

    /// Returns true if the process drains.
    pub fn has_begun(&self) -> bool {
        self.begun.load(Ordering::Acquire)
    }

    /// Returns true if the process is not ready, because a shutdown or an upgrade has been
    /// requested. Responses close their connections then.
    pub fn is_announced(&self) -> bool {
        self.announced.load(Ordering::Acquire)
    }

    /// Subscribes to the phase.
    pub fn phase(&self) -> watch::Receiver<Phase> {
        self.phase.subscribe()
    }

    /// Subscribes to the hand-over. The value turns true when another process accepts the
    /// connections.
    pub fn handed_over(&self) -> watch::Receiver<bool> {
        self.handed_over.subscribe()
    }

    /// Returns true if no request is in flight and no data must be sent.
    pub fn is_done(&self) -> bool {
        self.requests() == 0 && self.sending.load(Ordering::Relaxed) == 0
    }

    /// Returns the number of listeners that accept connections.
    pub fn listeners(&self) -> usize {
        self.listeners.load(Ordering::Relaxed)
    }

    /// Returns the number of requests in flight.
    pub fn requests(&self) -> usize {
        self.requests.load(Ordering::Relaxed)
    }

    /// Returns the number of open connections.
    pub fn connections(&self) -> usize {
        self.connections.load(Ordering::Relaxed)
    }
}

impl Drop for InFlightGuard {
    fn drop(&mut self) {
        self.drain.counter(self.kind).fetch_sub(1, Ordering::Relaxed);
    }
}
