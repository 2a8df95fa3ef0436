//! A pool of idle connections to an upstream. Each thread has its own list, because a connection
//! wakes its task through the reactor of the thread that created it. No task watches idle
//! connections: it is cheaper to check one when it is taken. A thread without idle connections
//! borrows from a thread that has not used its list for a while, so that few calls on many threads
//! do not open a new connection each time.
//!
//! Why: docs/decisions/proxy.md, "An idle connection is borrowed from a quiet thread".

use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Waker};
use std::time::Duration;

use parking_lot::Mutex;
use pingora::protocols::Stream;
use tokio::io::{AsyncRead as _, ReadBuf};
use tokio::task::unconstrained;

use crate::clock::Monotonic;
use crate::connection_limit::{Permit, Semaphore};
use crate::thread::{self, THREADS};

/// The idle connections to one upstream.
#[derive(Debug, Default)]
pub(crate) struct IdlePool {
    threads: [Mutex<Vec<IdleConnection>>; THREADS],
}

#[derive(Debug)]
struct IdleConnection {
    stream: Stream,
    to: u64,
    since: Monotonic,
    _permit: Permit,
}

/// The thread whose reactor wakes a connection, and whose list keeps it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct OwnerThread(usize);

/// Time for which a connection must be idle before another thread borrows it. Under load each
/// thread gets its own connections in this way. A borrowed one wakes two threads instead of one.
const LENDS_AFTER: Duration = Duration::from_millis(50);

impl OwnerThread {
    /// Returns the current thread.
    pub(crate) fn own() -> Self {
        Self(thread::own() % THREADS)
    }

    /// Returns the other owners, starting with a different one for each thread.
    fn others(self) -> impl Iterator<Item = Self> {
        (1..THREADS).map(move |step| Self((self.0 + step) % THREADS))
    }
}

impl IdlePool {
    /// Returns the connection to `to` that this thread used last, or one borrowed from another
    /// thread. It was idle for at most `longest`, and the upstream has not closed it. It must be
    /// kept with the owner that is returned.
    pub(crate) fn take(&self, to: u64, now: Monotonic, longest: Duration) -> Option<(Stream, OwnerThread)> {
        let own = OwnerThread::own();
        let is_usable = |kept: &mut IdleConnection| kept.is_usable(to, now, longest);
        let own_stream = self.list(own).and_then(|list| last(&mut list.lock(), is_usable));
        own_stream.map(|stream| (stream, own)).or_else(|| self.borrow(own, now, is_usable))
    }

    fn borrow(
        &self,
        own: OwnerThread,
        now: Monotonic,
        is_usable: impl Fn(&mut IdleConnection) -> bool + Copy,
    ) -> Option<(Stream, OwnerThread)> {
        own.others().find_map(|owner| {
            // A list in use is skipped.
            let mut list = self.list(owner)?.try_lock()?;
            list.last().filter(|kept| kept.since.plus(LENDS_AFTER) <= now)?;
            last(&mut list, is_usable).map(|stream| (stream, owner))
        })
    }

    /// Keeps an idle connection, if the limit allows it.
    pub(crate) fn keep(
        &self,
        stream: Stream,
        owner: OwnerThread,
        to: u64,
        now: Monotonic,
        semaphore: &Arc<Semaphore>,
    ) {
        if let (Some(list), Some(permit)) = (self.list(owner), semaphore.try_acquire()) {
            list.lock().push(IdleConnection { stream, to, since: now, _permit: permit });
        }
    }

    /// Closes the oldest connection of the first thread that has one. Returns false if none has.
    pub(crate) fn close_oldest(&self) -> bool {
        self.threads.iter().any(|list| {
            let mut list = list.lock();
            let oldest = (!list.is_empty()).then(|| list.remove(0));
            oldest.is_some()
        })
    }

    /// Closes the connections that cannot be used any more.
    pub(crate) fn sweep(&self, to: u64, now: Monotonic, longest: Duration) {
        for kept in &self.threads {
            kept.lock().retain_mut(|kept| kept.is_usable(to, now, longest));
        }
    }

    fn list(&self, owner: OwnerThread) -> Option<&Mutex<Vec<IdleConnection>>> {
        self.threads.get(owner.0)
    }
}

/// Removes and returns the last usable connection. Drops those after it.
fn last(list: &mut Vec<IdleConnection>, is_usable: impl Fn(&mut IdleConnection) -> bool) -> Option<Stream> {
    loop {
        let mut kept = list.pop()?;
        if is_usable(&mut kept) {
            return Some(kept.stream);
        }
    }
}

impl IdleConnection {
    fn is_usable(&mut self, to: u64, now: Monotonic, longest: Duration) -> bool {
        let old = self.since.plus(longest) < now;
        self.to == to && !old && is_quiet(&mut self.stream)
    }
}

/// Returns true if the upstream has neither closed the connection nor sent unexpected bytes.
fn is_quiet(stream: &mut Stream) -> bool {
    let mut byte = [0];
    let mut buffer = ReadBuf::new(&mut byte);
    // Unconstrained, because every connection would look quiet once the task's budget is spent.
    let read = unconstrained(poll_fn(|context| Pin::new(&mut *stream).poll_read(context, &mut buffer)));
    pin!(read).poll(&mut Context::from_waker(Waker::noop())).is_pending()
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;
    use std::thread;

    use pingora::protocols::l4::stream::Stream as TcpConnection;
    use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, duplex};
    use tokio::net::{TcpListener, TcpStream};
    use tokio::runtime::Builder;
    use tokio::sync::oneshot;

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
    async fn idle_connection_is_reused_unless_stale_or_elsewhere() {
        let (idle, semaphore) = (IdlePool::default(), Semaphore::new(10));
        let (_far, near) = connection();
        idle.keep(near, OwnerThread::own(), 1, at(0), &semaphore);
        assert!(idle.take(1, at(55_000), LONGEST).is_some());
        assert!(idle.take(1, at(55_000), LONGEST).is_none(), "already taken");

        let (_far, near) = connection();
        idle.keep(near, OwnerThread::own(), 1, at(0), &semaphore);
        assert!(idle.take(1, at(55_001), LONGEST).is_none(), "old");
        let (_far, near) = connection();
        idle.keep(near, OwnerThread::own(), 1, at(0), &semaphore);
        assert!(idle.take(2, at(1), LONGEST).is_none(), "elsewhere");
        let (far, near) = connection();
        idle.keep(near, OwnerThread::own(), 1, at(0), &semaphore);
        drop(far);
        assert!(idle.take(1, at(1), LONGEST).is_none(), "closed");
        let (mut far, near) = connection();
        far.write_all(b"HTTP/1.1 408 ").await.unwrap();
        idle.keep(near, OwnerThread::own(), 1, at(0), &semaphore);
        assert!(idle.take(1, at(1), LONGEST).is_none(), "unexpected bytes");
        assert_eq!(semaphore.used(), 0);
    }

    #[tokio::test]
    async fn idle_connections_are_limited_by_the_semaphore() {
        let (idle, semaphore) = (IdlePool::default(), Semaphore::new(2));
        let ends: Vec<_> = (0..3)
            .map(|_| {
                let (far, near) = connection();
                idle.keep(near, OwnerThread::own(), 1, at(0), &semaphore);
                far
            })
            .collect();
        let taken = std::iter::from_fn(|| idle.take(1, at(1), LONGEST)).count();
        assert_eq!((ends.len(), taken), (3, 2));
        let (_far, near) = connection();
        idle.keep(near, OwnerThread::own(), 1, at(0), &semaphore);
        assert!(idle.close_oldest() && !idle.close_oldest());
        assert_eq!(semaphore.used(), 0);
        let (_far, near) = connection();
        idle.keep(near, OwnerThread::own(), 1, at(0), &semaphore);
        idle.sweep(1, at(1), LONGEST);
        assert_eq!(semaphore.used(), 1);
        idle.sweep(1, at(60_000), LONGEST);
        assert_eq!(semaphore.used(), 0);
    }

    /// Runs on a thread whose list is not this one's.
    fn elsewhere<T: Send>(run: impl FnOnce() -> T + Send) -> T {
        let (here, mut run) = (OwnerThread::own(), Some(run));
        loop {
            let attempt = || (OwnerThread::own() != here).then(|| run.take().map(|run| run()))?;
            if let Some(value) = thread::scope(|scope| scope.spawn(attempt).join().unwrap()) {
                return value;
            }
        }
    }

    #[tokio::test]
    async fn thread_borrows_a_connection_that_has_waited() {
        let (idle, semaphore) = (IdlePool::default(), Semaphore::new(10));
        let (_far, near) = connection();
        let owner = OwnerThread::own();
        idle.keep(near, owner, 1, at(1_000), &semaphore);
        let take = |now: u64| elsewhere(|| idle.take(1, at(now), LONGEST));
        assert!(take(1_049).is_none(), "its own thread used it just now");
        let (stream, from) = take(1_050).unwrap();
        assert_eq!(from, owner);
        // It returns to its owner, and is borrowed again only after it was idle again.
        elsewhere(|| idle.keep(stream, from, 1, at(1_060), &semaphore));
        assert!(take(1_100).is_none());
        assert!(idle.take(1, at(1_061), LONGEST).is_some());
    }

    #[tokio::test]
    async fn busy_list_is_not_waited_for() {
        let (idle, semaphore) = (IdlePool::default(), Semaphore::new(10));
        let (_far, near) = connection();
        let owner = OwnerThread::own();
        idle.keep(near, owner, 1, at(0), &semaphore);
        let held = idle.list(owner).unwrap().lock();
        assert!(elsewhere(|| idle.take(1, at(1_000), LONGEST)).is_none());
        drop(held);
        assert!(elsewhere(|| idle.take(1, at(1_000), LONGEST)).is_some());
    }

    #[tokio::test]
    async fn closed_connection_of_another_thread_is_not_borrowed() {
        let (idle, semaphore) = (IdlePool::default(), Semaphore::new(10));
        let (far, near) = connection();
        idle.keep(near, OwnerThread::own(), 1, at(0), &semaphore);
        drop(far);
        assert!(elsewhere(|| idle.take(1, at(1_000), LONGEST)).is_none());
        assert_eq!(semaphore.used(), 0);
    }

    /// A socket that is registered with one runtime wakes a task of another. Borrowing depends on
    /// this.
    #[test]
    fn connection_of_another_runtime_wakes_and_closes() {
        let runtime = || Builder::new_current_thread().enable_all().build().unwrap();
        let (made, come) = mpsc::channel();
        let (end, ended) = oneshot::channel::<()>();
        let server = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = server.local_addr().unwrap();
        let owner = thread::spawn(move || {
            runtime().block_on(async {
                let stream = TcpStream::connect(address).await.unwrap();
                made.send(Box::new(TcpConnection::from(stream)) as Stream).unwrap();
                // Keeps the reactor running, as a thread of the proxy does.
                let _ended = ended.await;
            });
        });
        let mut stream = come.recv().unwrap();
        runtime().block_on(async {
            server.set_nonblocking(true).unwrap();
            let (mut far, _) = TcpListener::from_std(server).unwrap().accept().await.unwrap();
            assert!(is_quiet(&mut stream));
            let echo = tokio::spawn(async move {
                let mut request = [0; 4];
                far.read_exact(&mut request).await.unwrap();
                far.write_all(&request).await.unwrap();
            });
            stream.write_all(b"ping").await.unwrap();
            stream.flush().await.unwrap();
            let mut response = [0; 4];
            stream.read_exact(&mut response).await.unwrap();
            assert_eq!(&response, b"ping");
            echo.await.unwrap();
            assert_eq!(stream.read(&mut response).await.unwrap(), 0, "the close wakes it too");
            assert!(!is_quiet(&mut stream));
        });
        end.send(()).unwrap();
        owner.join().unwrap();
    }
}
