//! All timers of a connection as one: the moment by which something has to happen, and who is to make it happen. What
//! happens without a wait costs no look at the clock.
//!
//! Whoever transfers a body has a token bucket of time. Waiting for him spends it, bytes earn it at the minimum rate, and
//! so does time in which he is not waited for. It holds as much as he may pause.

use std::{
    io,
    pin::Pin,
    sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering},
    task::{Context, Poll, ready},
    time::Duration,
};

use tokio::time::{Instant, Sleep};

/// What is being waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Awaited {
    /// The client is to send more of its request. Every byte earns time.
    Request = 1,
    /// The tool is to begin its answer.
    Response = 2,
    /// The tool is to go on with its answer. Every byte of it that passes starts the time anew.
    RestOfResponse = 3,
    /// One server of the tool is to begin its answer; another one could be asked instead.
    Attempt = 4,
    /// The client is to take more of what is there for it. Every byte that it takes earns time.
    Taking = 5,
}

/// How fast something has to go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Pace {
    /// How long it may pause: what the token bucket holds.
    pub(super) pause: Duration,
    /// Bytes a second that keep the bucket from emptying. 0: any byte fills it.
    pub(super) rate: u64,
}

/// When what is awaited has to have happened.
pub(super) struct Deadline {
    /// In nanoseconds since the connection was made; [`NOT_BEGUN`] until somebody has to wait.
    moment: AtomicU64,
    /// The time that is left when the wait begins, in nanoseconds.
    left: AtomicU64,
    /// The time that there is at most.
    most: AtomicU64,
    /// Bytes a second; see [`Pace`].
    rate: AtomicU64,
    born: Instant,
    awaited: AtomicU8,
    overdue: AtomicU8,
    too_slow: AtomicBool,
    request: Bucket,
    taking: Bucket,
    sleep: Option<Pin<Box<Sleep>>>,
}

/// What a token bucket held when it was looked at last, while something else is awaited.
#[derive(Default)]
struct Bucket {
    /// Spent nanoseconds; 0: it was full.
    spent: AtomicU64,
    /// When it was looked at.
    at: AtomicU64,
}

/// Not an [`Awaited`].
const NOTHING: u8 = 0;
const NOT_BEGUN: u64 = u64::MAX;
const SECOND: u64 = 1_000_000_000;

impl Awaited {
    const fn from_number(number: u8) -> Option<Self> {
        match number {
            1 => Some(Self::Request),
            2 => Some(Self::Response),
            3 => Some(Self::RestOfResponse),
            4 => Some(Self::Attempt),
            5 => Some(Self::Taking),
            _ => None,
        }
    }
}

impl Bucket {
    fn fill(&self) {
        self.spent.store(0, Ordering::Relaxed);
    }
}

impl Deadline {
    /// Nothing is awaited on a connection that was made now.
    pub(super) fn new() -> Self {
        Self {
            moment: AtomicU64::new(NOT_BEGUN),
            left: AtomicU64::new(0),
            most: AtomicU64::new(0),
            rate: AtomicU64::new(0),
            born: Instant::now(),
            awaited: AtomicU8::new(NOTHING),
            overdue: AtomicU8::new(NOTHING),
            too_slow: AtomicBool::new(false),
            request: Bucket::default(),
            taking: Bucket::default(),
            sleep: None,
        }
    }

    /// From now on this is waited for, so long from when it has to be; each call replaces the one before.
    pub(super) fn wait_for(&self, awaited: Awaited, time: Duration) {
        self.put_away();
        self.arm(awaited, nanos(time), Pace { pause: time, rate: 0 });
    }

    /// From now on this is waited for, at this pace; what was spent of it before counts. Each call replaces the one before.
    pub(super) fn wait_at_pace(&self, awaited: Awaited, pace: Pace) {
        self.put_away();
        let most = nanos(pace.pause);
        let spent = self.bucket(awaited).map_or(0, |bucket| self.still_spent(bucket));
        self.arm(awaited, most.saturating_sub(spent), pace);
    }

    fn arm(&self, awaited: Awaited, left: u64, pace: Pace) {
        self.forgive();
        self.awaited.store(awaited as u8, Ordering::Relaxed);
        self.left.store(left, Ordering::Relaxed);
        self.most.store(nanos(pace.pause), Ordering::Relaxed);
        self.rate.store(pace.rate, Ordering::Relaxed);
        self.moment.store(NOT_BEGUN, Ordering::Relaxed);
    }

    /// From now on nothing is waited for.
    pub(super) fn wait_no_more(&self) {
        self.awaited.store(NOTHING, Ordering::Relaxed);
    }

    /// Fills the token buckets: another request begins.
    pub(super) fn begin_request(&self) {
        self.request.fill();
        self.taking.fill();
    }

    /// Notes that so many bytes have passed, if they are what is waited for.
    pub(super) fn progress(&self, awaited: Awaited, bytes: usize) {
        if self.awaited.load(Ordering::Relaxed) != awaited as u8 {
            return;
        }
        self.forgive();
        let (rate, most) = (self.rate.load(Ordering::Relaxed), self.most.load(Ordering::Relaxed));
        let earned = (bytes as u64).saturating_mul(SECOND).checked_div(rate).unwrap_or(most);
        // Who gets the whole time anyway is not asked how much of it is left.
        let left = if earned >= most { most } else { self.left().saturating_add(earned).min(most) };
        self.left.store(left, Ordering::Relaxed);
        self.moment.store(NOT_BEGUN, Ordering::Relaxed);
    }

    /// What was waited for too long.
    pub(super) fn overdue(&self) -> Option<Awaited> {
        Awaited::from_number(self.overdue.load(Ordering::Relaxed))
    }

    /// Whether what is overdue came, but came too slowly.
    pub(super) fn is_too_slow(&self) -> bool {
        self.too_slow.load(Ordering::Relaxed)
    }

    /// Forgets what was waited for too long.
    pub(super) fn forgive(&self) {
        self.overdue.store(NOTHING, Ordering::Relaxed);
    }

    const fn bucket(&self, awaited: Awaited) -> Option<&Bucket> {
        match awaited {
            Awaited::Request => Some(&self.request),
            Awaited::Taking => Some(&self.taking),
            Awaited::Response | Awaited::RestOfResponse | Awaited::Attempt => None,
        }
    }

    /// Keeps what is left of the time at a pace, for when the same is waited for again.
    fn put_away(&self) {
        let awaited = Awaited::from_number(self.awaited.load(Ordering::Relaxed));
        let paced = self.rate.load(Ordering::Relaxed) > 0;
        let Some(bucket) = awaited.filter(|_| paced).and_then(|awaited| self.bucket(awaited)) else { return };
        let most = self.most.load(Ordering::Relaxed);
        if self.moment.load(Ordering::Relaxed) == NOT_BEGUN && self.left.load(Ordering::Relaxed) == most {
            return bucket.fill();
        }
        bucket.spent.store(most.saturating_sub(self.left()), Ordering::Relaxed);
        bucket.at.store(self.now(), Ordering::Relaxed);
    }

    /// What is still spent of a bucket that was put away: the time since then has filled it again.
    fn still_spent(&self, bucket: &Bucket) -> u64 {
        match bucket.spent.load(Ordering::Relaxed) {
            0 => 0,
            spent => spent.saturating_sub(self.now().saturating_sub(bucket.at.load(Ordering::Relaxed))),
        }
    }

    /// The time that is left now.
    fn left(&self) -> u64 {
        match self.moment.load(Ordering::Relaxed) {
            NOT_BEGUN => self.left.load(Ordering::Relaxed),
            moment => moment.saturating_sub(self.now()),
        }
    }

    fn now(&self) -> u64 {
        nanos(self.born.elapsed())
    }

    /// By when it has to happen, in nanoseconds since the connection was made. The time begins when this is asked first.
    fn moment(&self) -> u64 {
        let moment = self.moment.load(Ordering::Relaxed);
        if moment != NOT_BEGUN {
            return moment;
        }
        let moment = self.now().saturating_add(self.left.load(Ordering::Relaxed));
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
            let moment = self.born + Duration::from_nanos(self.moment());
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
            let too_slow = self.left.load(Ordering::Relaxed) < self.most.load(Ordering::Relaxed);
            self.too_slow.store(too_slow, Ordering::Relaxed);
            self.wait_no_more();
            self.overdue.store(awaited, Ordering::Relaxed);
            self.sleep = None;
            return Poll::Ready(io::ErrorKind::TimedOut.into());
        }
    }
}

/// Whole nanoseconds, of which there are fewer than fit for 584 years.
fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;

    use tokio::time::{advance, timeout};

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn what_is_waited_for_too_long_is_named_and_nothing_else() {
        let mut deadline = Deadline::new();
        deadline.wait_for(Awaited::Response, Duration::from_secs(35));
        let begun = Instant::now();
        assert_eq!(poll_fn(|context| deadline.poll(context)).await.kind(), io::ErrorKind::TimedOut);
        assert_eq!(deadline.overdue(), Some(Awaited::Response));
        assert_eq!(begun.elapsed().as_secs(), 35);

        let mut deadline = Deadline::new();
        for awaited in [Awaited::Response, Awaited::Request] {
            deadline.wait_for(awaited, Duration::from_secs(35));
            let waited = timeout(Duration::from_secs(30), poll_fn(|context| deadline.poll(context)));
            assert!(waited.await.is_err());
        }
        assert_eq!(deadline.overdue(), None);
        deadline.wait_for(Awaited::Request, Duration::from_secs(1));
        poll_fn(|context| deadline.poll(context)).await;
        assert_eq!(deadline.overdue(), Some(Awaited::Request));
    }

    const PACE: Pace = Pace { pause: Duration::from_secs(60), rate: 1_000 };

    /// Waits at most so long; whether what is awaited was overdue by then.
    async fn is_overdue_within(deadline: &mut Deadline, seconds: u64) -> bool {
        timeout(Duration::from_secs(seconds), poll_fn(|context| deadline.poll(context))).await.is_ok()
    }

    /// A byte every 45 seconds is under way for ever with an idle timeout alone.
    #[tokio::test(start_paused = true)]
    async fn bytes_below_the_rate_are_too_slow_within_one_pause() {
        let mut deadline = Deadline::new();
        deadline.wait_at_pace(Awaited::Request, PACE);
        assert!(!is_overdue_within(&mut deadline, 45).await);
        deadline.progress(Awaited::Request, 1);
        assert!(is_overdue_within(&mut deadline, 16).await);
        assert_eq!((deadline.overdue(), deadline.is_too_slow()), (Some(Awaited::Request), true));
    }

    #[tokio::test(start_paused = true)]
    async fn silence_is_no_slowness() {
        let mut deadline = Deadline::new();
        deadline.wait_at_pace(Awaited::Taking, PACE);
        assert!(!is_overdue_within(&mut deadline, 59).await);
        assert!(is_overdue_within(&mut deadline, 2).await);
        assert_eq!((deadline.overdue(), deadline.is_too_slow()), (Some(Awaited::Taking), false));
    }

    #[tokio::test(start_paused = true)]
    async fn bytes_at_the_rate_go_on_without_end_in_pieces_of_any_size() {
        for (piece, pause) in [(1, Duration::from_millis(1)), (50_000, Duration::from_secs(50))] {
            let mut deadline = Deadline::new();
            deadline.wait_at_pace(Awaited::Request, PACE);
            for _ in 0..1_000 {
                let waited = timeout(pause, poll_fn(|context| deadline.poll(context)));
                assert!(waited.await.is_err(), "{piece}");
                deadline.progress(Awaited::Request, piece);
            }
        }
    }

    /// What the tool does not read, or does not produce, is not the client's time: it counts for the client.
    #[tokio::test(start_paused = true)]
    async fn time_in_which_something_else_is_awaited_is_given_back() {
        let mut deadline = Deadline::new();
        deadline.wait_at_pace(Awaited::Request, PACE);
        assert!(!is_overdue_within(&mut deadline, 50).await);
        deadline.wait_for(Awaited::Response, Duration::from_secs(35));
        assert!(!is_overdue_within(&mut deadline, 20).await);
        deadline.wait_at_pace(Awaited::Request, PACE);
        // 10 s were left, and 20 s came back.
        assert!(!is_overdue_within(&mut deadline, 29).await);
        assert!(is_overdue_within(&mut deadline, 2).await);
        assert!(deadline.is_too_slow());
    }

    #[tokio::test(start_paused = true)]
    async fn another_request_begins_with_all_its_time() {
        let mut deadline = Deadline::new();
        deadline.wait_at_pace(Awaited::Request, PACE);
        assert!(!is_overdue_within(&mut deadline, 50).await);
        deadline.wait_for(Awaited::Response, Duration::from_secs(35));
        deadline.begin_request();
        deadline.wait_at_pace(Awaited::Request, PACE);
        assert!(!is_overdue_within(&mut deadline, 59).await);
    }

    #[tokio::test(start_paused = true)]
    async fn without_a_rate_every_byte_starts_the_time_anew() {
        let mut deadline = Deadline::new();
        deadline.wait_at_pace(Awaited::Request, Pace { rate: 0, ..PACE });
        for _ in 0..10 {
            assert!(!is_overdue_within(&mut deadline, 59).await);
            deadline.progress(Awaited::Request, 1);
        }
        advance(Duration::from_secs(1)).await;
        assert!(is_overdue_within(&mut deadline, 61).await);
        assert!(!deadline.is_too_slow());
    }
}
