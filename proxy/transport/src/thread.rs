//! Which thread this is, for what each thread has to itself so that threads do not meet at one lock.

use std::sync::atomic::{AtomicUsize, Ordering};

/// What each thread has to itself is shared by threads beyond so many.
pub const THREADS: usize = 16;

/// A small number that no other thread has.
#[must_use]
pub fn own() -> usize {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    thread_local! {
        static OWN: usize = NEXT.fetch_add(1, Ordering::Relaxed);
    }
    OWN.with(|own| *own)
}
