//! Notifies the calls at a server when it has stopped responding, so that they do not wait for it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll, Waker};

use parking_lot::Mutex;
use slab::Slab;

use crate::thread::{self, THREADS};

/// The failures of a server, and the calls that wait for it. Each thread has its own list, so that
/// calls do not contend for one lock.
#[derive(Debug, Default)]
pub(crate) struct FailureWatch {
    /// Number of failures so far.
    count: AtomicU64,
    waiting: [Mutex<Slab<Waker>>; THREADS],
}

/// A call that waits for a server. Dropping it removes it from the list.
#[derive(Debug)]
pub(crate) struct FailureListener {
    watch: Arc<FailureWatch>,
    /// Number of failures when the call was sent.
    count: u64,
    /// The list and the key there, once the call has waited.
    entry: Option<(usize, usize)>,
}

impl FailureWatch {
    /// Records that the server has stopped responding, and wakes the calls that wait for it.
    pub(crate) fn record_failure(&self) {
        self.count.fetch_add(1, Ordering::SeqCst);
        for list in &self.waiting {
            list.lock().iter().for_each(|(_, waker)| waker.wake_by_ref());
        }
    }

    /// Returns the number of failures so far.
    pub(crate) fn count(&self) -> u64 {
        self.count.load(Ordering::SeqCst)
    }

    /// Returns a listener for failures from now on.
    pub(crate) fn listen(self: &Arc<Self>) -> FailureListener {
        FailureListener { watch: Arc::clone(self), count: self.count(), entry: None }
    }
}

impl FailureListener {
    /// Completes when the server has failed.
    pub(crate) fn poll(&mut self, context: &mut Context<'_>) -> Poll<()> {
        self.register(context.waker());
        // Checked after that: a failure wakes only the calls that it finds in a list.
        if self.watch.count() == self.count { Poll::Pending } else { Poll::Ready(()) }
    }

    fn register(&mut self, waker: &Waker) {
        let thread = self.entry.map_or_else(|| thread::own() % THREADS, |(thread, _)| thread);
        let Some(list) = self.watch.waiting.get(thread) else { return };
        let mut list = list.lock();
        match self.entry.and_then(|(_, key)| list.get_mut(key)) {
            // The task may have moved since, and only its last waker is certain to wake it.
            Some(known) => known.clone_from(waker),
            None => self.entry = Some((thread, list.insert(waker.clone()))),
        }
    }
}

impl Drop for FailureListener {
    fn drop(&mut self) {
        if let Some((thread, key)) = self.entry
            && let Some(list) = self.watch.waiting.get(thread)
        {
            list.lock().try_remove(key);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;
    use std::time::Duration;

    use tokio::time::timeout;

    use super::*;

    #[tokio::test]
    async fn failure_wakes_every_waiting_call_once() {
        let watch = Arc::new(FailureWatch::default());
        let calls: Vec<_> = (0..3)
            .map(|_| {
                let mut listener = watch.listen();
                tokio::spawn(async move { poll_fn(|context| listener.poll(context)).await })
            })
            .collect();
        let waiting = || watch.waiting.iter().map(|list| list.lock().len()).sum::<usize>();
        while waiting() < 3 {
            tokio::task::yield_now().await;
        }
        watch.record_failure();
        for call in calls {
            call.await.unwrap();
        }
        assert_eq!(waiting(), 0);
    }

    #[tokio::test(start_paused = true)]
    async fn listener_knows_failures_since_its_start_only() {
        let watch = Arc::new(FailureWatch::default());
        watch.record_failure();
        let mut later = watch.listen();
        let wait = |listener: &mut FailureListener| {
            let mut listener = std::mem::replace(listener, watch.listen());
            async move { timeout(Duration::from_secs(60), poll_fn(|context| listener.poll(context))).await }
        };
        assert!(wait(&mut later).await.is_err());
        // A failure before the first poll counts.
        watch.record_failure();
        assert!(wait(&mut later).await.is_ok());
    }
}
