//! Numbers of threads, for data that is sharded by thread to avoid lock contention.

use std::sync::atomic::{AtomicUsize, Ordering};

/// The number of shards. Threads beyond it share them.
pub const THREADS: usize = 16;

/// Returns the number of this thread, counted from 0.
pub fn own() -> usize {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    thread_local! {
        static OWN: usize = NEXT.fetch_add(1, Ordering::Relaxed);
    }
    OWN.with(|own| *own)
}
