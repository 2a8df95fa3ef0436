//! Counts what is under way, and knows how far the process is on its way to its end, so that it ends when all is done and
//! not a grace period later.

use std::sync::{
    Arc,
    atomic::{AtomicBool, AtomicUsize, Ordering},
};

use tokio::sync::watch;

/// What is under way, and whether the process was told to end.
#[derive(Debug, Default)]
pub struct Drain {
    sockets: AtomicUsize,
    requests: AtomicUsize,
    connections: AtomicUsize,
    sending: AtomicUsize,
    /// Whether the process drains: the phase is [`Phase::Leaving`] or [`Phase::Ending`]. Calls ask for nothing else.
    begun: AtomicBool,
    phase: watch::Sender<Phase>,
    /// Whether the sockets are another process's, in the form that Pingora takes.
    left: watch::Sender<bool>,
}

/// How far the process is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Phase {
    /// It takes connections.
    #[default]
    Serving,
    /// It takes connections as before, and is not ready any more: load balancers are to notice before it drains.
    Delaying,
    /// Another process does; connections that are open are served once more each, and told to come anew.
    Leaving,
    /// Connections without a request are closed.
    Ending,
}

/// Something under way: a socket that is listened at, a request, a connection, or what one has to send. It ends when this is dropped, also by a panic.
#[derive(Debug)]
pub struct UnderWay {
    drain: Arc<Drain>,
    what: What,
}

#[derive(Clone, Copy, Debug)]
enum What {
    Socket,
    Request,
    Connection,
    Sending,
}

impl Drain {
    /// Counts a socket whose connections are accepted, until the result is dropped.
    #[must_use]
    pub fn listen(self: &Arc<Self>) -> UnderWay {
        self.count(What::Socket)
    }

    /// Counts a request until the result is dropped.
    #[must_use]
    pub fn enter(self: &Arc<Self>) -> UnderWay {
        self.count(What::Request)
    }

    /// Counts a connection until the result is dropped.
    #[must_use]
    pub fn connect(self: &Arc<Self>) -> UnderWay {
        self.count(What::Connection)
    }

    /// Counts what somebody still has to be sent and nobody else waits for, until the result is dropped.
    #[must_use]
    pub fn sending(self: &Arc<Self>) -> UnderWay {
        self.count(What::Sending)
    }

    fn count(self: &Arc<Self>, what: What) -> UnderWay {
        self.counter(what).fetch_add(1, Ordering::Relaxed);
        UnderWay { drain: Arc::clone(self), what }
    }

    const fn counter(&self, what: What) -> &AtomicUsize {
        match what {
            What::Socket => &self.sockets,
            What::Request => &self.requests,
            What::Connection => &self.connections,
            What::Sending => &self.sending,
        }
    }

    /// From now on the process is not ready any more, and serves as before.
    pub fn delay(&self) {
        self.phase.send_if_modified(|phase| {
            let serving = *phase == Phase::Serving;
            if serving {
                *phase = Phase::Delaying;
            }
            serving
        });
    }

    /// From now on the process is ending.
    pub fn begin(&self) {
        self.go_on_to(Phase::Ending);
    }

    /// From now on another process takes the connections.
    pub fn leave(&self) {
        self.go_on_to(Phase::Leaving);
        self.left.send_replace(true);
    }

    fn go_on_to(&self, phase: Phase) {
        self.begun.store(true, Ordering::Release);
        self.phase.send_replace(phase);
    }

    /// Whether the process is ending, or another one takes the connections: answers say that theirs is closed.
    #[must_use]
    pub fn has_begun(&self) -> bool {
        self.begun.load(Ordering::Acquire)
    }

    /// Whether the process was told to end, or another one takes the connections: it is not ready.
    #[must_use]
    pub fn is_announced(&self) -> bool {
        *self.phase.borrow() != Phase::Serving
    }

    /// How far it is, from now on.
    #[must_use]
    pub fn phase(&self) -> watch::Receiver<Phase> {
        self.phase.subscribe()
    }

    /// Turns true once another process has the sockets.
    #[must_use]
    pub fn left(&self) -> watch::Receiver<bool> {
        self.left.subscribe()
    }

    /// Whether no request is under way, and nothing is left to be sent.
    #[must_use]
    pub fn is_done(&self) -> bool {
        self.under_way() == 0 && self.sending.load(Ordering::Relaxed) == 0
    }

    /// Sockets whose connections are accepted.
    #[must_use]
    pub fn sockets(&self) -> usize {
        self.sockets.load(Ordering::Relaxed)
    }

    /// Requests under way.
    #[must_use]
    pub fn under_way(&self) -> usize {
        self.requests.load(Ordering::Relaxed)
    }

    /// Connections that are open.
    #[must_use]
    pub fn connections(&self) -> usize {
        self.connections.load(Ordering::Relaxed)
    }
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        self.drain.counter(self.what).fetch_sub(1, Ordering::Relaxed);
    }
}
