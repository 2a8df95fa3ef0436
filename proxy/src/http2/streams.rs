//! What is known of the requests of one connection together.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU32, Ordering},
    },
    time::Duration,
};

use tokio::{sync::Notify, time::sleep};

/// The requests of one connection.
#[derive(Debug, Default)]
pub(super) struct Streams {
    begun: AtomicU32,
    under_way: AtomicU32,
    /// Those that the client took back before they were answered.
    taken_back: AtomicU32,
    unused: Notify,
}

/// One request, until this is dropped.
#[derive(Debug)]
pub(super) struct Begun {
    streams: Arc<Streams>,
    taken_back: AtomicBool,
}

/// So many requests may be taken back; of more than that, as many as were not. People leave pages, and proxies give up,
/// but neither does so most of the time.
const TAKEN_BACK: u32 = 100;

impl Streams {
    pub(super) fn begin(self: &Arc<Self>) -> Begun {
        self.begun.fetch_add(1, Ordering::Relaxed);
        self.under_way.fetch_add(1, Ordering::Relaxed);
        Begun { streams: Arc::clone(self), taken_back: AtomicBool::new(false) }
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
}

impl Begun {
    /// The client took it back.
    pub(super) fn taken_back(&self) {
        if !self.taken_back.swap(true, Ordering::Relaxed) {
            self.streams.taken_back.fetch_add(1, Ordering::Relaxed);
        }
    }
}

impl Drop for Begun {
    fn drop(&mut self) {
        if self.streams.under_way.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.streams.unused.notify_one();
        }
    }
}
