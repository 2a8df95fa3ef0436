//! All timers of a connection as one: the moment by which something has to happen, and who is to make it happen. What
//! happens without a wait costs no look at the clock, and a wait that is over in time only one.

use std::{
    io,
    pin::Pin,
    sync::atomic::{AtomicU8, AtomicU64, Ordering},
    task::{Context, Poll, ready},
    time::Duration,
};

use tokio::time::{Instant, Sleep};

use crate::clock::millis;

/// What is being waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Awaited {
    /// The client is to send more of its request. Every byte starts the time anew.
    Request = 1,
    /// The tool is to begin its answer.
    Answer = 2,
    /// The tool is to go on with its answer. Every byte that passes starts the time anew.
    RestOfAnswer = 3,
    /// One server of the tool is to begin its answer; another one could be asked instead.
    Try = 4,
    /// The client is to take more of what is there for it. Every byte that it takes starts the time anew.
    Taking = 5,
}

/// When what is awaited has to have happened.
pub(super) struct Deadline {
    /// In milliseconds since the connection was made; [`NOT_BEGUN`] until somebody has to wait.
    moment: AtomicU64,
    /// How long is waited, in milliseconds.
    time: AtomicU64,
    born: Instant,
    awaited: AtomicU8,
    overdue: AtomicU8,
    sleep: Option<Pin<Box<Sleep>>>,
}

/// Not an [`Awaited`].
const NOTHING: u8 = 0;
const NOT_BEGUN: u64 = u64::MAX;

impl Awaited {
    const fn from_number(number: u8) -> Option<Self> {
        match number {
            1 => Some(Self::Request),
            2 => Some(Self::Answer),
            3 => Some(Self::RestOfAnswer),
            4 => Some(Self::Try),
            5 => Some(Self::Taking),
            _ => None,
        }
    }
}

impl Deadline {
    /// Nothing is awaited on a connection that was made now.
    pub(super) fn new() -> Self {
        Self {
            moment: AtomicU64::new(NOT_BEGUN),
            time: AtomicU64::new(0),
            born: Instant::now(),
            awaited: AtomicU8::new(NOTHING),
            overdue: AtomicU8::new(NOTHING),
            sleep: None,
        }
    }

    /// From now on this is waited for, so long from when it has to be; each call replaces the one before.
    pub(super) fn wait_for(&self, awaited: Awaited, time: Duration) {
        self.forgive();
        self.awaited.store(awaited as u8, Ordering::Relaxed);
        self.time.store(millis(time), Ordering::Relaxed);
        self.moment.store(NOT_BEGUN, Ordering::Relaxed);
    }

    /// From now on nothing is waited for.
    pub(super) fn wait_no_more(&self) {
        self.awaited.store(NOTHING, Ordering::Relaxed);
    }

    /// Starts the time anew if this is what is waited for.
    pub(super) fn progress(&self, awaited: Awaited) {
        if self.awaited.load(Ordering::Relaxed) == awaited as u8 {
            self.forgive();
            self.moment.store(NOT_BEGUN, Ordering::Relaxed);
        }
    }

    /// What was waited for too long.
    pub(super) fn overdue(&self) -> Option<Awaited> {
        Awaited::from_number(self.overdue.load(Ordering::Relaxed))
    }

    /// Forgets what was waited for too long.
    pub(super) fn forgive(&self) {
        self.overdue.store(NOTHING, Ordering::Relaxed);
    }

    /// By when it has to happen, in milliseconds since the connection was made. The time begins when this is asked first.
    fn moment(&self) -> u64 {
        let moment = self.moment.load(Ordering::Relaxed);
        if moment != NOT_BEGUN {
            return moment;
        }
        let moment = millis(self.born.elapsed()).saturating_add(self.time.load(Ordering::Relaxed));
        self.moment.store(moment, Ordering::Relaxed);
        moment
    }

    /// Ready once what is awaited is overdue, and then not again.
    pub(super) fn poll(&mut self, context: &mut Context<'_>) -> Poll<io::Error> {
        loop {
            let awaited = self.awaited.load(Ordering::Relaxed);
            if awaited == NOTHING {
                return Poll::Pending;
            }
            let moment = self.born + Duration::from_millis(self.moment());
            let sleep = self.sleep.get_or_insert_with(|| Box::pin(tokio::time::sleep_until(moment)));
            // A timer that goes off too early is set again; only one that is too late has to be moved beforehand.
            if sleep.deadline() > moment {
                sleep.as_mut().reset(moment);
            }
            ready!(sleep.as_mut().poll(context));
            if sleep.deadline() < moment {
                sleep.as_mut().reset(moment);
                continue;
            }
            self.wait_no_more();
            self.overdue.store(awaited, Ordering::Relaxed);
            self.sleep = None;
            return Poll::Ready(io::ErrorKind::TimedOut.into());
        }
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;

    use tokio::time::timeout;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn what_is_waited_for_too_long_is_named_and_nothing_else() {
        let mut deadline = Deadline::new();
        deadline.wait_for(Awaited::Answer, Duration::from_secs(35));
        let begun = Instant::now();
        assert_eq!(poll_fn(|context| deadline.poll(context)).await.kind(), io::ErrorKind::TimedOut);
        assert_eq!(deadline.overdue(), Some(Awaited::Answer));
        assert_eq!(begun.elapsed().as_secs(), 35);

        let mut deadline = Deadline::new();
        for awaited in [Awaited::Answer, Awaited::Request] {
            deadline.wait_for(awaited, Duration::from_secs(35));
            let waited = timeout(Duration::from_secs(30), poll_fn(|context| deadline.poll(context)));
            assert!(waited.await.is_err());
        }
        assert_eq!(deadline.overdue(), None);
        deadline.wait_for(Awaited::Request, Duration::from_secs(1));
        poll_fn(|context| deadline.poll(context)).await;
        assert_eq!(deadline.overdue(), Some(Awaited::Request));
    }
}
