//! The client connections that wait for their next request. When file descriptors run out, the one that has
//! waited longest is closed, so that a new client is served.

use std::future::poll_fn;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use parking_lot::Mutex;
use slab::Slab;

use crate::clock::Monotonic;
use crate::thread::{self, THREADS};

/// The waiting connections. Each thread has its own list, so that requests do not contend for one
/// lock. The lists have no order: each request pays for the waits, and few connections are closed.
#[derive(Debug, Default)]
pub struct IdleClients {
    threads: [Mutex<WaitList>; THREADS],
}

#[derive(Debug, Default)]
struct WaitList {
    /// Number of waits so far.
    count: u64,
    waiting: Slab<Entry>,
}

#[derive(Debug)]
struct Entry {
    /// The number of the wait, because a later one can have the same key.
    number: u64,
    since: Monotonic,
    waker: Waker,
}

/// The wait of a connection for a request. Dropping it ends it.
pub(crate) struct Waiting<'a> {
    clients: &'a IdleClients,
    /// The list, and the key and number there, while the connection waits.
    entry: Option<(&'a Mutex<WaitList>, usize, u64)>,
}

/// Time for which a connection must wait before it is closed for another one. The next request of a
/// younger one may be on its way.
const CLOSED_AFTER: Duration = Duration::from_millis(100);

impl IdleClients {
    /// Closes the connection that has waited longest. Returns false if none has waited for
    /// `CLOSED_AFTER`.
    pub fn close_oldest(&self, now: Monotonic) -> bool {
        loop {
            let oldest = |list: &Mutex<WaitList>| list.lock().oldest();
            let waiting = self.threads.iter().filter_map(|list| Some((oldest(list)?, list)));
            let longest = waiting.min_by_key(|((since, ..), _)| *since);
            let old = longest.filter(|((since, ..), _)| since.plus(CLOSED_AFTER) <= now);
            let Some(((_, key, number), list)) = old else { return false };
            // Its request may have arrived since the look. Then another one is closed.
            let closed = list.lock().remove(key, number);
            if let Some(closed) = closed {
                closed.waker.wake();
                return true;
            }
        }
    }

    /// Returns the wait of a connection for a request. It begins when it is first polled.
    pub(crate) const fn wait(&self) -> Waiting<'_> {
        Waiting { clients: self, entry: None }
    }

    /// Completes if a connection that waits for a request must be closed.
    pub(crate) async fn closed(&self) {
        let mut waiting = self.wait();
        poll_fn(|context| waiting.poll(context)).await;
    }
}

impl WaitList {
    /// Returns the connection that has waited longest: since when, its key and its number.
    fn oldest(&self) -> Option<(Monotonic, usize, u64)> {
        let waiting = self.waiting.iter();
        waiting.map(|(key, entry)| (entry.since, key, entry.number)).min_by_key(|(since, ..)| *since)
    }

    /// Removes the entry, unless the connection waits no more.
    fn remove(&mut self, key: usize, number: u64) -> Option<Entry> {
        self.find(key, number)?;
        self.waiting.try_remove(key)
    }

    /// Returns the entry, unless the connection was closed.
    fn find(&mut self, key: usize, number: u64) -> Option<&mut Entry> {
        self.waiting.get_mut(key).filter(|entry| entry.number == number)
    }
}

impl Waiting<'_> {
    /// Completes if the connection must be closed.
    pub(crate) fn poll(&mut self, context: &mut Context<'_>) -> Poll<()> {
        if let Some((list, key, number)) = self.entry {
            return match list.lock().find(key, number) {
                Some(entry) => {
                    entry.waker.clone_from(context.waker());
                    Poll::Pending
                }
                None => Poll::Ready(()),
            };
        }
        if let Some(list) = self.clients.threads.get(thread::own() % THREADS) {
            let mut held = list.lock();
            held.count += 1;
            let number = held.count;
            let (since, waker) = (Monotonic::now(), context.waker().clone());
            let key = held.waiting.insert(Entry { number, since, waker });
            self.entry = Some((list, key, number));
        }
        Poll::Pending
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        if let Some((list, key, number)) = self.entry {
            drop(list.lock().remove(key, number));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lets the clock of milliseconds continue.
    fn pass() {
        let before = Monotonic::now();
        while Monotonic::now() == before {
            std::hint::spin_loop();
        }
    }

    #[test]
    fn connection_that_has_waited_longest_is_closed_first() {
        let clients = IdleClients::default();
        let mut context = Context::from_waker(Waker::noop());
        let later = || Monotonic::now().plus(CLOSED_AFTER);
        assert!(!clients.close_oldest(later()), "none waits");
        let (mut gone, mut first, mut second) = (clients.wait(), clients.wait(), clients.wait());
        assert!(gone.poll(&mut context).is_pending());
        assert!(first.poll(&mut context).is_pending());
        drop(gone);
        pass();
        // On another thread.
        std::thread::scope(|scope| {
            scope.spawn(|| assert!(second.poll(&mut Context::from_waker(Waker::noop())).is_pending()));
        });
        assert!(!clients.close_oldest(Monotonic::from_millis(0)), "none has waited");
        assert!(clients.close_oldest(later()));
        assert!(second.poll(&mut context).is_pending());
        assert!(first.poll(&mut context).is_ready());
        assert!(clients.close_oldest(later()) && !clients.close_oldest(later()));
        assert!(second.poll(&mut context).is_ready());
    }

    #[test]
    fn wait_that_takes_the_place_of_a_closed_one_is_its_own() {
        let clients = IdleClients::default();
        let mut context = Context::from_waker(Waker::noop());
        let (mut closed, mut next) = (clients.wait(), clients.wait());
        assert!(closed.poll(&mut context).is_pending());
        let later = || Monotonic::now().plus(CLOSED_AFTER);
        assert!(clients.close_oldest(later()));
        assert!(next.poll(&mut context).is_pending());
        assert!(closed.poll(&mut context).is_ready());
        drop(closed);
        assert!(clients.close_oldest(later()), "the next one waits");
    }
}
