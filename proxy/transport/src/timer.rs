//! Timers of connections and calls. An operation that never waits does not read the clock.

use std::cell::Cell;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::time::{Instant, Sleep, sleep, sleep_until};

/// The minimum speed of a transfer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Pace {
    /// Maximum time without progress.
    pub(crate) pause: Duration,
    /// Minimum rate in bytes a second, or 0 if any byte restarts the time.
    pub(crate) rate: u64,
}

/// A token bucket of time: waiting spends it, and bytes earn it at the minimum rate. It starts to
/// run when a task first waits.
#[derive(Debug)]
pub(crate) struct Countdown {
    /// The end of the time, or `None` until a task waits.
    ends_at: Option<Instant>,
    /// Nanoseconds left when the countdown starts to run.
    left: u64,
    /// Maximum number of nanoseconds.
    max: u64,
    /// Bytes a second, or 0 if any byte restores the whole time.
    rate: u64,
}

/// A timer that one connection uses for all its countdowns, one at a time.
#[derive(Debug, Default)]
pub(crate) struct Timer(Option<Pin<Box<Sleep>>>);

const SECOND: u64 = 1_000_000_000;
/// Maximum time until the next timer of a thread that serves connections.
const NEAR: Duration = Duration::from_secs(1);

/// Keeps a timer near on this thread. A timer that is due before all others wakes the reactor by a system call,
/// which a thread without a near one made for most new connections and streams.
pub(crate) fn keep_near() {
    thread_local! {
        static IS_KEPT: Cell<bool> = const { Cell::new(false) };
    }
    if !IS_KEPT.replace(true) {
        tokio::spawn(async {
            loop {
                sleep(NEAR).await;
            }
        });
    }
}

impl Countdown {
    /// Returns a countdown of `pace.pause`, of which `spent` nanoseconds are already spent.
    pub(crate) fn new(pace: Pace, spent: u64) -> Self {
        let max = nanos(pace.pause);
        Self { ends_at: None, left: max.saturating_sub(spent), max, rate: pace.rate }
    }

    /// Returns a countdown that any byte restarts.
    pub(crate) fn of(time: Duration) -> Self {
        Self::new(Pace { pause: time, rate: 0 }, 0)
    }

    /// Adds the time that so many bytes earn.
    pub(crate) fn earn(&mut self, bytes: usize) {
        if bytes == 0 {
            // Otherwise each poll of a blocked transfer moved its end: a client that read nothing
            // was never cut.
            return;
        }
        let earned = time_of(bytes, self.rate);
        if earned >= self.max {
            // The clock is not read.
            return self.restart();
        }
        self.left = self.left().saturating_add(earned).min(self.max);
        self.ends_at = None;
    }

    /// Restores the whole time.
    pub(crate) const fn restart(&mut self) {
        self.left = self.max;
        self.ends_at = None;
    }

    /// Returns how many nanoseconds are spent.
    pub(crate) fn spent(&self) -> u64 {
        self.max.saturating_sub(self.left())
    }

    /// Returns the minimum rate, or 0 if there is none.
    pub(crate) const fn rate(&self) -> u64 {
        self.rate
    }

    /// Returns true if the countdown started with less than the whole time: bytes came, but more
    /// slowly than the minimum rate.
    pub(crate) const fn is_too_slow(&self) -> bool {
        self.left < self.max
    }

    /// Returns the nanoseconds that are left now.
    fn left(&self) -> u64 {
        match self.ends_at {
            None => self.left,
            Some(end) => nanos(end.saturating_duration_since(Instant::now())),
        }
    }

    /// Returns the end of the time. The first call starts the countdown.
    fn start(&mut self) -> Instant {
        *self.ends_at.get_or_insert_with(|| Instant::now() + Duration::from_nanos(self.left))
    }
}

impl Timer {
    /// Completes when the countdown is over. The first call starts the countdown.
    pub(crate) fn poll(&mut self, countdown: &mut Countdown, context: &mut Context<'_>) -> Poll<()> {
        let end = countdown.start();
        let sleep = self.0.get_or_insert_with(|| Box::pin(sleep_until(end)));
        // A timer that fires too early is reset when it fires. Only one that would fire too late is
        // moved beforehand.
        if sleep.deadline() > end {
            sleep.as_mut().reset(end);
        }
        ready!(sleep.as_mut().poll(context));
        if sleep.deadline() < end {
            sleep.as_mut().reset(end);
            ready!(sleep.as_mut().poll(context));
        }
        self.0 = None;
        Poll::Ready(())
    }
}

/// Returns the nanoseconds that so many bytes take at a minimum rate in bytes a second. Without one, any
/// byte is worth all time.
pub(crate) fn time_of(bytes: usize, rate: u64) -> u64 {
    (bytes as u64).saturating_mul(SECOND).checked_div(rate).unwrap_or(u64::MAX)
}

/// Returns whole nanoseconds. They overflow after 584 years.
pub(crate) fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}
