//! A call in the queue of its pool: first come, first served.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use tokio::time::{Instant, timeout_at};

use super::{Pool, PoolPermit};

/// A call that waits for a permit. Dropping it leaves the queue.
#[derive(Debug)]
pub struct QueuedCall {
    pool: Arc<Pool>,
    deadline: Instant,
}

/// The result of asking a pool with a queue for a permit.
#[derive(Debug)]
pub enum QueueOutcome {
    /// The permit.
    Acquired(PoolPermit),
    /// The call has to wait.
    Queued(QueuedCall),
    /// The queue is full.
    Full,
}

impl Pool {
    /// Acquires a permit, or a place in the queue if all are taken or calls are waiting already.
    pub fn acquire_or_queue(self: &Arc<Self>) -> QueueOutcome {
        let queue = &self.state.queue;
        // Behind those that wait: a new call that takes a free permit would push in.
        if queue.len() == 0
            && let Some(permit) = self.try_acquire()
        {
            return QueueOutcome::Acquired(permit);
        }
        let call = QueuedCall {
            pool: Arc::clone(self),
            deadline: Instant::now() + self.config.settings.queue_timeout,
        };
        // Dropping the call takes it back.
        match queue.waiting.fetch_add(1, Ordering::SeqCst) < self.config.settings.queue {
            true => QueueOutcome::Queued(call),
            false => QueueOutcome::Full,
        }
    }
}

impl QueuedCall {
    /// Waits for a permit. Returns `None` after `queue_timeout`.
    pub async fn wait(self) -> Option<PoolPermit> {
        timeout_at(self.deadline, self.acquire()).await.ok()
    }

    async fn acquire(&self) -> PoolPermit {
        let mut released = std::pin::pin!(self.pool.state.queue.released.notified());
        loop {
            // Registers before it looks, so that no release is missed.
            released.as_mut().enable();
            if let Some(permit) = self.pool.try_acquire() {
                return permit;
            }
            released.as_mut().await;
            released.set(self.pool.state.queue.released.notified());
        }
    }
}

impl Drop for QueuedCall {
    fn drop(&mut self) {
        self.pool.state.queue.waiting.fetch_sub(1, Ordering::SeqCst);
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::pool::tests::{config, healthy};

    fn pool(calls_in_flight: usize, queue: usize) -> Arc<Pool> {
        let mut config = config(1);
        config.settings.calls_in_flight = calls_in_flight;
        config.settings.queue = queue;
        config.settings.queue_timeout = Duration::from_secs(5);
        Arc::new(healthy(config))
    }

    fn queued(pool: &Arc<Pool>) -> QueuedCall {
        match pool.acquire_or_queue() {
            QueueOutcome::Queued(call) => call,
            other => panic!("{other:?}"),
        }
    }

    fn acquired(pool: &Arc<Pool>) -> PoolPermit {
        match pool.acquire_or_queue() {
            QueueOutcome::Acquired(permit) => permit,
            other => panic!("{other:?}"),
        }
    }

    #[tokio::test(start_paused = true)]
    async fn released_permit_goes_to_the_call_that_waited_longest() {
        let pool = pool(1, 2);
        let permit = acquired(&pool);
        let mut first = std::pin::pin!(queued(&pool).wait());
        let mut second = std::pin::pin!(queued(&pool).wait());
        assert!(matches!(pool.acquire_or_queue(), QueueOutcome::Full));
        assert_eq!(pool.queued(), 2);
        assert!(
            futures_util::poll!(&mut first).is_pending() && futures_util::poll!(&mut second).is_pending()
        );
        drop(permit);
        assert!(futures_util::poll!(&mut second).is_pending(), "it is the turn of the first one");
        let permit = first.await;
        assert!(permit.is_some());
        drop(permit);
        assert!(second.await.is_some());
        assert_eq!((pool.queued(), pool.in_flight()), (0, 0));
    }

    #[tokio::test(start_paused = true)]
    async fn call_that_left_the_queue_passes_its_turn_on() {
        let pool = pool(1, 2);
        let permit = acquired(&pool);
        let mut first = Box::pin(queued(&pool).wait());
        let mut second = std::pin::pin!(queued(&pool).wait());
        assert!(
            futures_util::poll!(&mut first).is_pending() && futures_util::poll!(&mut second).is_pending()
        );
        drop(permit);
        drop(first);
        assert!(second.await.is_some());
    }

    #[tokio::test(start_paused = true)]
    async fn queued_call_is_refused_after_queue_timeout() {
        let pool = pool(1, 1);
        let _permit = acquired(&pool);
        assert!(queued(&pool).wait().await.is_none());
        assert_eq!((pool.queued(), pool.in_flight()), (0, 1));
    }

    #[test]
    fn no_call_waits_while_permits_are_free() {
        // Many threads take and release two permits. A lost wakeup would make a call time out.
        let pool = pool(2, 64);
        let call = |pool: &Arc<Pool>| match pool.acquire_or_queue() {
            QueueOutcome::Acquired(permit) => Some(permit),
            QueueOutcome::Queued(call) => {
                let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
                runtime.block_on(call.wait())
            }
            QueueOutcome::Full => None,
        };
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| (0..500).for_each(|_| assert!(call(&pool).is_some())));
            }
        });
        assert_eq!((pool.queued(), pool.in_flight()), (0, 0));
    }
}
