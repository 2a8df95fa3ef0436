//! Connections to an upstream that wait for the next call. Each thread has its own, since a connection wakes the thread
//! that has made it; and nothing watches them while they wait, since it costs less to look when one is wanted.

use std::{
    future::poll_fn,
    pin::{Pin, pin},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    task::{Context, Waker},
    time::Duration,
};

use parking_lot::Mutex;
use pingora_core::protocols::Stream;
use tokio::{
    io::{AsyncRead as _, ReadBuf},
    task::unconstrained,
};

use crate::{
    clock::Monotonic,
    thread::{self, THREADS},
};

/// How many connections may wait, towards all upstreams together.
#[derive(Debug)]
pub struct Room {
    most: usize,
    used: AtomicUsize,
}

/// The waiting connections to one upstream.
#[derive(Debug, Default)]
pub(super) struct Idle {
    threads: [Mutex<Vec<Kept>>; THREADS],
}

#[derive(Debug)]
struct Kept {
    stream: Stream,
    to: u64,
    since: Monotonic,
    _place: Taken,
}

/// A place among those that may wait. It is free again when this is dropped.
#[derive(Debug)]
pub(crate) struct Taken(Arc<Room>);

impl Room {
    /// Room for so many.
    #[must_use]
    pub fn new(most: usize) -> Arc<Self> {
        Arc::new(Self { most, used: AtomicUsize::new(0) })
    }

    /// A place, if one is left.
    pub(crate) fn take(self: &Arc<Self>) -> Option<Taken> {
        let place = Taken(Arc::clone(self));
        (self.used.fetch_add(1, Ordering::Relaxed) < self.most).then_some(place)
    }
}

impl Drop for Taken {
    fn drop(&mut self) {
        self.0.used.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Idle {
    /// The connection to `to` that was used last, if one is left that has waited no longer than the longest time and that
    /// the upstream has not closed.
    pub(super) fn take(&self, to: u64, now: Monotonic, longest: Duration) -> Option<Stream> {
        let mut kept = self.own()?.lock();
        loop {
            let mut last = kept.pop()?;
            if last.is_good(to, now, longest) {
                return Some(last.stream);
            }
        }
    }

    /// Keeps a connection over which nothing is under way, if there is room.
    pub(super) fn keep(&self, stream: Stream, to: u64, now: Monotonic, room: &Arc<Room>) {
        if let (Some(own), Some(place)) = (self.own(), room.take()) {
            own.lock().push(Kept { stream, to, since: now, _place: place });
        }
    }

    /// Closes those that nobody will use any more.
    pub(super) fn sweep(&self, to: u64, now: Monotonic, longest: Duration) {
        for kept in &self.threads {
            kept.lock().retain_mut(|kept| kept.is_good(to, now, longest));
        }
    }

    fn own(&self) -> Option<&Mutex<Vec<Kept>>> {
        self.threads.get(thread::own() % THREADS)
    }
}

impl Kept {
    fn is_good(&mut self, to: u64, now: Monotonic, longest: Duration) -> bool {
        let old = self.since.plus(longest) < now;
        self.to == to && !old && is_quiet(&mut self.stream)
    }
}

/// Whether nothing has come: the other end has neither closed the connection nor said what nobody asked for.
fn is_quiet(stream: &mut Stream) -> bool {
    let mut byte = [0];
    let mut buffer = ReadBuf::new(&mut byte);
    // Not held to the task's budget, which would make everything look quiet once it is spent.
    let read = unconstrained(poll_fn(|context| Pin::new(&mut *stream).poll_read(context, &mut buffer)));
    pin!(read).poll(&mut Context::from_waker(Waker::noop())).is_pending()
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncWriteExt, DuplexStream, duplex};

    use super::*;

    const LONGEST: Duration = Duration::from_secs(55);

    fn connection() -> (DuplexStream, Stream) {
        let (far, near) = duplex(64);
        (far, Box::new(near))
    }

    fn at(millis: u64) -> Monotonic {
        Monotonic::from_millis(millis)
    }

    #[tokio::test]
    async fn a_connection_is_used_again_unless_it_is_old_closed_talkative_or_leads_elsewhere() {
        let (idle, room) = (Idle::default(), Room::new(10));
        let (_far, near) = connection();
        idle.keep(near, 1, at(0), &room);
        assert!(idle.take(1, at(55_000), LONGEST).is_some());
        assert!(idle.take(1, at(55_000), LONGEST).is_none(), "it was taken");

        let (_far, near) = connection();
        idle.keep(near, 1, at(0), &room);
        assert!(idle.take(1, at(55_001), LONGEST).is_none(), "old");
        let (_far, near) = connection();
        idle.keep(near, 1, at(0), &room);
        assert!(idle.take(2, at(1), LONGEST).is_none(), "elsewhere");
        let (far, near) = connection();
        idle.keep(near, 1, at(0), &room);
        drop(far);
        assert!(idle.take(1, at(1), LONGEST).is_none(), "closed");
        let (mut far, near) = connection();
        far.write_all(b"HTTP/1.1 408 ").await.unwrap();
        idle.keep(near, 1, at(0), &room);
        assert!(idle.take(1, at(1), LONGEST).is_none(), "talkative");
        assert_eq!(room.used.load(Ordering::Relaxed), 0);
    }

    #[tokio::test]
    async fn no_more_wait_than_there_is_room_for() {
        let (idle, room) = (Idle::default(), Room::new(2));
        let ends: Vec<_> = (0..3)
            .map(|_| {
                let (far, near) = connection();
                idle.keep(near, 1, at(0), &room);
                far
            })
            .collect();
        let taken = std::iter::from_fn(|| idle.take(1, at(1), LONGEST)).count();
        assert_eq!((ends.len(), taken), (3, 2));
        let (_far, near) = connection();
        idle.keep(near, 1, at(0), &room);
        idle.sweep(1, at(1), LONGEST);
        assert_eq!(room.used.load(Ordering::Relaxed), 1);
        idle.sweep(1, at(60_000), LONGEST);
        assert_eq!(room.used.load(Ordering::Relaxed), 0);
    }
}
