//! The deadline of a client that sends a body or receives a response.
//!
//! Each direction has a token bucket of time. It is refilled while something else is awaited,
//! because what a tool does not read or does not produce is not the client's time.

use std::io;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::time::Instant;

use crate::timer::{Countdown, Pace, Timer, nanos, time_of};

/// The direction of a transfer between a client and the proxy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Direction {
    /// The client sends its request.
    Upload,
    /// The client receives a response.
    Download,
}

/// The timeout of a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ClientTimeout {
    /// No byte was transferred for too long.
    Idle(Direction),
    /// Bytes were transferred more slowly than the minimum rate.
    TooSlow(Direction),
}

/// The time by which a client must make progress.
#[derive(Debug)]
pub(super) struct ClientDeadline {
    /// The direction that is awaited, or `None` if the deadline is not armed.
    awaited: Option<Direction>,
    countdown: Countdown,
    expired: Option<ClientTimeout>,
    upload: Bucket,
    download: Bucket,
    timer: Timer,
}

/// The state of a token bucket of time while something else is awaited.
#[derive(Debug, Default)]
struct Bucket {
    /// Nanoseconds that were spent at `since`, or 0 if the bucket was full.
    spent: u64,
    since: Option<Instant>,
    /// The minimum rate, in bytes a second.
    rate: u64,
}

impl ClientDeadline {
    /// Returns a deadline that is not armed.
    pub(super) fn new() -> Self {
        Self {
            awaited: None,
            countdown: Countdown::of(Duration::ZERO),
            expired: None,
            upload: Bucket::default(),
            download: Bucket::default(),
            timer: Timer::default(),
        }
    }

    /// Arms the deadline of an upload, which any byte restarts. Replaces the one before.
    pub(super) fn arm(&mut self, time: Duration) {
        self.disarm();
        (self.awaited, self.countdown) = (Some(Direction::Upload), Countdown::of(time));
    }

    /// Arms the deadline of a transfer at a minimum speed. Time that was spent in this direction
    /// before counts. Replaces the deadline before.
    pub(super) fn arm_paced(&mut self, direction: Direction, pace: Pace) {
        self.disarm();
        let spent = self.bucket(direction).spent_now();
        (self.awaited, self.countdown) = (Some(direction), Countdown::new(pace, spent));
    }

    /// Disarms the deadline, and clears a timeout.
    pub(super) fn disarm(&mut self) {
        self.expired = None;
        let rate = self.countdown.rate();
        // A plain timeout (`arm`) has no rate and no bucket: stored, its time would count against
        // the next transfer.
        if let Some(direction) = self.awaited.take()
            && rate > 0
        {
            let spent = self.countdown.spent();
            self.bucket(direction).store(spent, rate);
        }
    }

    /// Refills the token buckets for the next request.
    pub(super) fn begin_request(&mut self) {
        (self.upload, self.download) = (Bucket::default(), Bucket::default());
    }

    /// Records bytes that were transferred. They extend the deadline of their direction.
    pub(super) fn record_progress(&mut self, direction: Direction, bytes: usize) {
        if self.awaited == Some(direction) {
            self.countdown.earn(bytes);
        } else {
            // Most bytes of a client that pauses are sent while the upstream is awaited. Without them,
            // one that received more than the minimum rate was cut.
            self.bucket(direction).earn(bytes);
        }
    }

    /// Returns the timeout, if the deadline has expired.
    pub(super) const fn timeout(&self) -> Option<ClientTimeout> {
        self.expired
    }

    /// Returns the connection's timer. Must not be polled for another countdown while the deadline
    /// is armed.
    pub(super) const fn timer(&mut self) -> &mut Timer {
        &mut self.timer
    }

    /// Completes once when the deadline expires. It is not armed then.
    pub(super) fn poll(&mut self, context: &mut Context<'_>) -> Poll<io::Error> {
        let Some(direction) = self.awaited else { return Poll::Pending };
        ready!(self.timer.poll(&mut self.countdown, context));
        self.awaited = None;
        let timeout = if self.countdown.is_too_slow() { ClientTimeout::TooSlow } else { ClientTimeout::Idle };
        self.expired = Some(timeout(direction));
        Poll::Ready(io::ErrorKind::TimedOut.into())
    }

    const fn bucket(&mut self, direction: Direction) -> &mut Bucket {
        match direction {
            Direction::Upload => &mut self.upload,
            Direction::Download => &mut self.download,
        }
    }
}

impl Bucket {
    fn store(&mut self, spent: u64, rate: u64) {
        // The clock is not read for a full bucket.
        *self = Self { spent, since: (spent > 0).then(Instant::now), rate };
    }

    /// Adds the time that so many bytes earn.
    fn earn(&mut self, bytes: usize) {
        if self.spent > 0 {
            self.spent = self.spent.saturating_sub(time_of(bytes, self.rate));
        }
    }

    /// Returns the nanoseconds that are still spent, after the time since then has refilled the
    /// bucket.
    fn spent_now(&self) -> u64 {
        self.since.map_or(0, |since| self.spent.saturating_sub(nanos(since.elapsed())))
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;

    use tokio::time::{advance, timeout};

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn deadline_expires_once_with_its_direction() {
        let mut deadline = ClientDeadline::new();
        deadline.arm(Duration::from_secs(35));
        let armed_at = Instant::now();
        assert_eq!(poll_fn(|context| deadline.poll(context)).await.kind(), io::ErrorKind::TimedOut);
        assert_eq!(deadline.timeout(), Some(ClientTimeout::Idle(Direction::Upload)));
        assert_eq!(armed_at.elapsed().as_secs(), 35);
        assert!(!expires_within(&mut deadline, 100).await);
    }

    #[tokio::test(start_paused = true)]
    async fn deadline_armed_again_starts_anew() {
        let mut deadline = ClientDeadline::new();
        for _ in 0..2 {
            deadline.arm(Duration::from_secs(35));
            assert!(!expires_within(&mut deadline, 30).await);
        }
        deadline.disarm();
        assert!(!expires_within(&mut deadline, 100).await);
        deadline.arm(Duration::from_secs(1));
        assert!(expires_within(&mut deadline, 2).await);
    }

    const PACE: Pace = Pace { pause: Duration::from_secs(60), rate: 1_000 };
    const TOO_SLOW: Option<ClientTimeout> = Some(ClientTimeout::TooSlow(Direction::Upload));

    /// Returns true if the deadline expires within so many seconds.
    async fn expires_within(deadline: &mut ClientDeadline, seconds: u64) -> bool {
        timeout(Duration::from_secs(seconds), poll_fn(|context| deadline.poll(context))).await.is_ok()
    }

    /// With an idle timeout alone, a byte every 45 seconds would keep the transfer in flight for
    /// ever.
    #[tokio::test(start_paused = true)]
    async fn bytes_below_the_rate_are_too_slow_within_one_pause() {
        let mut deadline = ClientDeadline::new();
        deadline.arm_paced(Direction::Upload, PACE);
        assert!(!expires_within(&mut deadline, 45).await);
        deadline.record_progress(Direction::Upload, 1);
        assert!(expires_within(&mut deadline, 16).await);
        assert_eq!(deadline.timeout(), TOO_SLOW);
    }

    #[tokio::test(start_paused = true)]
    async fn transfer_without_a_byte_is_idle_and_not_too_slow() {
        let mut deadline = ClientDeadline::new();
        deadline.arm_paced(Direction::Download, PACE);
        assert!(!expires_within(&mut deadline, 59).await);
        assert!(expires_within(&mut deadline, 2).await);
        assert_eq!(deadline.timeout(), Some(ClientTimeout::Idle(Direction::Download)));
    }

    #[tokio::test(start_paused = true)]
    async fn bytes_of_the_other_direction_earn_no_time() {
        let mut deadline = ClientDeadline::new();
        deadline.arm_paced(Direction::Upload, PACE);
        assert!(!expires_within(&mut deadline, 59).await);
        deadline.record_progress(Direction::Download, 1 << 20);
        assert!(expires_within(&mut deadline, 2).await);
    }

    #[tokio::test(start_paused = true)]
    async fn bytes_at_the_rate_never_expire_in_pieces_of_any_size() {
        for (piece, pause) in [(1, Duration::from_millis(1)), (50_000, Duration::from_secs(50))] {
            let mut deadline = ClientDeadline::new();
            deadline.arm_paced(Direction::Upload, PACE);
            for _ in 0..1_000 {
                let expired = timeout(pause, poll_fn(|context| deadline.poll(context)));
                assert!(expired.await.is_err(), "{piece}");
                deadline.record_progress(Direction::Upload, piece);
            }
        }
    }

    #[tokio::test(start_paused = true)]
    async fn time_while_not_armed_is_earned_back() {
        let mut deadline = ClientDeadline::new();
        deadline.arm_paced(Direction::Upload, PACE);
        assert!(!expires_within(&mut deadline, 50).await);
        deadline.disarm();
        advance(Duration::from_secs(20)).await;
        deadline.arm_paced(Direction::Upload, PACE);
        // 10 s were left, and 20 s were earned.
        assert!(!expires_within(&mut deadline, 29).await);
        assert!(expires_within(&mut deadline, 2).await);
        assert_eq!(deadline.timeout(), TOO_SLOW);
    }

    #[tokio::test(start_paused = true)]
    async fn bytes_between_two_waits_earn_time() {
        let mut deadline = ClientDeadline::new();
        for _ in 0..10 {
            deadline.arm_paced(Direction::Download, PACE);
            assert!(!expires_within(&mut deadline, 29).await);
            deadline.disarm();
            deadline.record_progress(Direction::Download, 30_000);
        }
        deadline.record_progress(Direction::Upload, 1 << 20);
        deadline.arm_paced(Direction::Download, PACE);
        assert!(!expires_within(&mut deadline, 59).await);
        assert!(expires_within(&mut deadline, 2).await);
    }

    #[tokio::test(start_paused = true)]
    async fn next_request_starts_with_full_buckets() {
        let mut deadline = ClientDeadline::new();
        deadline.arm_paced(Direction::Upload, PACE);
        assert!(!expires_within(&mut deadline, 50).await);
        deadline.disarm();
        deadline.begin_request();
        deadline.arm_paced(Direction::Upload, PACE);
        assert!(!expires_within(&mut deadline, 59).await);
    }

    #[tokio::test(start_paused = true)]
    async fn any_byte_restarts_the_time_without_a_rate() {
        let mut deadline = ClientDeadline::new();
        deadline.arm_paced(Direction::Upload, Pace { rate: 0, ..PACE });
        for _ in 0..10 {
            assert!(!expires_within(&mut deadline, 59).await);
            deadline.record_progress(Direction::Upload, 1);
        }
        advance(Duration::from_secs(1)).await;
        assert!(expires_within(&mut deadline, 61).await);
        assert_eq!(deadline.timeout(), Some(ClientTimeout::Idle(Direction::Upload)));
    }
}
