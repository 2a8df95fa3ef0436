//! One connection to a tool, which carries many calls at once.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering},
    },
    task::{Context, Poll, Waker},
    time::Duration,
};

use bytes::Bytes;
use h2::{
    SendStream,
    client::{ResponseFuture, SendRequest},
};
use http::{Request, uri::Scheme};

use super::{fault::Fault, greeting::Heard};
use crate::{clock::Monotonic, connection_limit::Permit};

/// What is known of a connection by all who use it.
#[derive(Debug)]
pub(super) struct Connection {
    /// Connections of one identity are as good as each other.
    pub(super) to: u64,
    /// The name of the server in logs.
    pub(super) server: Arc<str>,
    scheme: Scheme,
    heard: Arc<Heard>,
    /// When somebody began to doubt that anybody is at the other end; 0 for never.
    doubted_at: AtomicU64,
    in_use: AtomicUsize,
    /// Whether a call over it was answered.
    has_served: AtomicBool,
    /// When the first of the calls under way began, and when the last one ended.
    busy_at: AtomicU64,
    used_at: AtomicU64,
    place: Option<Permit>,
}

/// A connection that calls can be made over.
#[derive(Debug)]
pub(super) struct Open {
    pub(super) connection: Arc<Connection>,
    send: SendRequest<Bytes>,
}

/// A call's place on a connection. It is free again when this is dropped, also by a panic.
#[derive(Debug)]
pub(super) struct Seat {
    connection: Arc<Connection>,
    send: Option<SendRequest<Bytes>>,
    /// Whether the connection had served before, so that its end says nothing of the call.
    pub(super) reused: bool,
}

/// As many calls share a connection, whatever the tool would take. A tool that loses one loses no more.
pub(super) const MOST_STREAMS: u32 = 128;
/// A connection over which nothing comes for so long, though it was asked for something, gets no more calls.
const SILENT: Duration = Duration::from_secs(1);

impl Connection {
    /// A connection that was just greeted. Without a place among those that may wait for work, it ends with its first
    /// calls.
    pub(super) fn new(
        to: u64,
        server: Arc<str>,
        scheme: Scheme,
        heard: Arc<Heard>,
        place: Option<Permit>,
    ) -> Arc<Self> {
        let now = Monotonic::now().millis();
        Arc::new(Self {
            to,
            server,
            scheme,
            heard,
            doubted_at: AtomicU64::new(0),
            in_use: AtomicUsize::new(0),
            has_served: AtomicBool::new(false),
            busy_at: AtomicU64::new(now),
            used_at: AtomicU64::new(now),
            place,
        })
    }

    /// Whether it may wait for work.
    pub(super) const fn may_wait(&self) -> bool {
        self.place.is_some()
    }

    /// Since when nothing has come over it that a call waits for.
    pub(super) fn silent_since(&self) -> Monotonic {
        self.heard.at().max(Monotonic::from_millis(self.busy_at.load(Ordering::Acquire)))
    }

    /// Whether a call is under way.
    pub(super) fn is_in_use(&self) -> bool {
        self.in_use.load(Ordering::Acquire) > 0
    }

    /// Until something comes over it, it gets no more calls.
    pub(super) fn doubt(&self, now: Monotonic) {
        self.doubted_at.store(now.millis().max(1), Ordering::Release);
    }

    fn is_doubted(&self) -> bool {
        let doubted_at = self.doubted_at.load(Ordering::Acquire);
        doubted_at > 0 && self.heard.at().millis() < doubted_at
    }

    fn has_waited(&self, now: Monotonic, longest: Duration) -> bool {
        let used_at = Monotonic::from_millis(self.used_at.load(Ordering::Acquire));
        !self.is_in_use() && used_at.plus(longest) < now
    }
}

impl Open {
    pub(super) const fn new(connection: Arc<Connection>, send: SendRequest<Bytes>) -> Self {
        Self { connection, send }
    }

    /// How many calls it carries at once.
    pub(super) fn most_streams(&self) -> usize {
        self.send.current_max_send_streams().min(MOST_STREAMS as usize)
    }

    /// Whether calls can be made over it now or later: it leads there, has waited no longer than the longest time, and
    /// neither has its tool closed it or told that it is about to, nor is it in doubt.
    pub(super) fn is_good(&mut self, to: u64, now: Monotonic, longest: Duration) -> bool {
        let connection = &self.connection;
        // One that is in doubt is kept while calls wait for it: it may turn out to be well.
        let dead = connection.is_doubted() && !connection.is_in_use();
        connection.to == to
            && !dead
            && !connection.heard.is_worn()
            && !connection.has_waited(now, longest)
            && self.takes_requests()
    }

    /// A place for one more call, if there is one.
    pub(super) fn seat(&mut self) -> Option<Seat> {
        let connection = &self.connection;
        if connection.is_doubted() || connection.heard.is_worn() {
            return None;
        }
        // Places are given under the lock of those that hold the connection: there is one taker at a time.
        if connection.in_use.load(Ordering::Acquire) >= self.most_streams() || !self.takes_requests() {
            return None;
        }
        let connection = Arc::clone(&self.connection);
        if connection.in_use.fetch_add(1, Ordering::AcqRel) == 0 {
            connection.busy_at.store(Monotonic::now().millis(), Ordering::Release);
        }
        let reused = connection.has_served.load(Ordering::Relaxed);
        Some(Seat { connection, send: Some(self.send.clone()), reused })
    }

    fn takes_requests(&mut self) -> bool {
        matches!(self.send.poll_ready(&mut Context::from_waker(Waker::noop())), Poll::Ready(Ok(())))
    }
}

impl Seat {
    /// Where requests say that they go.
    pub(super) fn scheme(&self) -> Scheme {
        self.connection.scheme.clone()
    }

    /// Sends the head of a request, once.
    pub(super) fn send(
        &mut self,
        request: Request<()>,
        end: bool,
    ) -> Result<(ResponseFuture, SendStream<Bytes>), Fault> {
        let mut send = self.send.take().ok_or(Fault::Lost)?;
        // Nothing of it leaves when the library says no: the connection has ended, or is about to.
        send.send_request(request, end).map_err(|_error| Fault::Unprocessed)
    }

    /// Takes note that the request was answered.
    pub(super) fn answered(&self) {
        self.connection.has_served.store(true, Ordering::Relaxed);
    }

    /// Takes note that a request that was sent at this moment is not waited for any longer.
    pub(super) fn given_up(&self, sent_at: Monotonic) {
        let (now, heard_at) = (Monotonic::now(), self.connection.heard.at());
        if heard_at <= sent_at && sent_at.plus(SILENT) <= now {
            self.connection.doubt(now);
        }
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        self.connection.used_at.store(Monotonic::now().millis(), Ordering::Release);
        self.connection.in_use.fetch_sub(1, Ordering::AcqRel);
    }
}
