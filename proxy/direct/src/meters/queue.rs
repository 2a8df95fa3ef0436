//! The queue of messages to meters. Workers take what has gathered, so that many keys share one
//! exchange with the authority.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use shared::key::KeyId;
use shared::meter::{Message, Reply};
use strum::{IntoStaticStr, VariantArray};
use tokio::sync::{mpsc, oneshot};
use tokio::time::timeout;

/// Maximum time from a message to its reply. It is longer than any call waits, because a late reply
/// brings a lease and a verdict for later calls.
const REPLY_TIMEOUT: Duration = Duration::from_secs(5);

/// Time after which a cause that was logged before is logged again if another one came between. Causes may
/// alternate with each message.
const LOG_AGAIN_AFTER: Duration = Duration::from_secs(10);

/// A timeout that fires this much later shows that the process was paused. What it waited for may have come.
const PAUSED: Duration = Duration::from_millis(500);

/// An error of an exchange with the authority.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum MeterError {
    /// The proxy is starting or shutting down.
    #[error("the proxy does not run")]
    NotRunning,
    /// No reply came in time.
    #[error("no reply within {} ms", .0.as_millis())]
    TimedOut(Duration),
    /// The authority cannot be reached or does not carry out a command.
    #[error("{0}")]
    Failed(Arc<str>),
    /// The authority has no memory for changes. It still responds to reads.
    #[error("{0}")]
    Full(Arc<str>),
    /// The authority refuses who the proxy is, or what its user may do there.
    #[error("{0}; `proxy --check --connect` says what is missing")]
    Refused(Arc<str>),
    /// The stored state is not a meter's.
    #[error("the stored state of the meter cannot be read: key_id={0}")]
    Unreadable(KeyId),
    /// A change was not copied to enough replicas.
    #[error("a change reached {reached} replicas in time, expected {expected}")]
    NotReplicated {
        /// The number of replicas that have it.
        reached: u64,
        /// The configured number.
        expected: u64,
    },
    /// The reply is to another message.
    #[error("the reply does not match its message")]
    Unexpected,
}

/// The reasons for failures, by which they are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, VariantArray, IntoStaticStr)]
#[strum(const_into_str, serialize_all = "snake_case")]
pub enum FailureReason {
    /// No reply came in time.
    Timeout,
    /// The authority cannot be reached or does not carry out a command.
    Unavailable,
    /// It refuses who the proxy is, or what its user may do.
    Refused,
    /// It has no memory for changes.
    Full,
    /// A stored state is not a meter's.
    Unreadable,
    /// A change was not copied to enough replicas.
    NotReplicated,
    /// Anything else.
    Other,
}

impl MeterError {
    const fn reason(&self) -> FailureReason {
        match self {
            Self::TimedOut(_) => FailureReason::Timeout,
            Self::Failed(_) => FailureReason::Unavailable,
            Self::Refused(_) => FailureReason::Refused,
            Self::Full(_) => FailureReason::Full,
            Self::Unreadable(_) => FailureReason::Unreadable,
            Self::NotReplicated { .. } => FailureReason::NotReplicated,
            Self::NotRunning | Self::Unexpected => FailureReason::Other,
        }
    }

    pub(crate) fn failed(error: impl std::fmt::Display) -> Self {
        Self::Failed(error.to_string().into())
    }
}

/// Returns true if a wait of `limit` since `begun` has taken so long that this process did not run meanwhile.
pub(super) fn was_paused(begun: Instant, limit: Duration) -> bool {
    begun.elapsed() > limit.saturating_add(PAUSED)
}

/// A message to the meter of a key, with who waits for its reply.
pub(super) struct Job {
    pub(super) id: KeyId,
    pub(super) message: Message,
    pub(super) waiter: Waiter,
}

/// The sender of a message.
pub(super) struct Waiter {
    /// The moment at which the call began to wait, for whose message there is one.
    since: Instant,
    reply: oneshot::Sender<Result<(Message, Reply), MeterError>>,
}

impl Job {
    /// Passes the reply to the sender of the message, if it still waits.
    pub(super) fn end(self, reply: Result<Reply, MeterError>) {
        let Self { message, waiter, .. } = self;
        waiter.end(reply.map(|reply| (message, reply)));
    }

    /// Returns true if no one waits for the reply.
    pub(super) fn is_abandoned(&self) -> bool {
        self.waiter.is_gone()
    }
}

impl Waiter {
    /// Passes a reply on with the message as it was handled.
    pub(super) fn end(self, reply: Result<(Message, Reply), MeterError>) {
        let _received = self.reply.send(reply);
    }

    /// Returns the time since the call began to wait.
    pub(super) fn waited(&self) -> Duration {
        self.since.elapsed()
    }

    pub(super) fn is_gone(&self) -> bool {
        self.reply.is_closed()
    }
}

/// The moment at which an authority replied last.
#[derive(Clone, Default)]
pub(super) struct Heard(Arc<Mutex<Option<Instant>>>);

impl Heard {
    /// Records that it has replied.
    pub(super) fn now(&self) {
        *self.0.lock() = Some(Instant::now());
    }

    fn is_within(&self, time: Duration) -> bool {
        self.0.lock().is_some_and(|at| at.elapsed() <= time)
    }
}

/// The sender's side of a lane.
struct Lane {
    jobs: mpsc::UnboundedSender<Job>,
    heard: Heard,
}

/// The worker's side of a lane.
pub(super) struct LaneEnd {
    pub(super) jobs: mpsc::UnboundedReceiver<Job>,
    pub(super) heard: Heard,
}

/// The sender's side of the queue, and its counters.
pub(super) struct MeterQueue {
    lanes: Vec<Lane>,
    messages: AtomicU64,
    /// The number of failures by reason, in the order of [`FailureReason::VARIANTS`].
    failures: [AtomicU64; FailureReason::VARIANTS.len()],
    is_failing: AtomicBool,
    logged: Mutex<Logged>,
}

impl MeterQueue {
    /// Returns the queue and the workers' sides of it. All messages to one key take the same lane.
    pub(super) fn new(lanes: usize) -> (Self, Vec<LaneEnd>) {
        let lane = |_| {
            let ((jobs, end), heard) = (mpsc::unbounded_channel(), Heard::default());
            (Lane { jobs, heard: heard.clone() }, LaneEnd { jobs: end, heard })
        };
        let (lanes, ends) = (0..lanes.max(1)).map(lane).unzip();
        let queue = Self {
            lanes,
            messages: AtomicU64::new(0),
            failures: Default::default(),
            is_failing: AtomicBool::new(false),
            logged: Mutex::default(),
        };
        (queue, ends)
    }

    /// Sends a message to the meter of a key. `since` is when its call began to wait. Returns the reply, with
    /// the message as it was handled: a call may have more time to be let through.
    ///
    /// # Errors
    /// If no reply comes.
    pub(super) async fn send(
        &self,
        id: KeyId,
        message: Message,
        since: Instant,
    ) -> Result<(Message, Reply), MeterError> {
        self.messages.fetch_add(1, Ordering::Relaxed);
        let only_reads = message.may_only_read();
        let (reply, replied) = oneshot::channel();
        let job = Job { id, message, waiter: Waiter { since, reply } };
        let is_sent = self.lane(&id).is_some_and(|lane| lane.jobs.send(job).is_ok());
        let mut replied = replied;
        let reply = loop {
            let begun = Instant::now();
            match timeout(REPLY_TIMEOUT, &mut replied).await {
                Ok(Ok(reply)) if is_sent => break reply,
                Ok(_) => break Err(MeterError::NotRunning),
                // The reply may be there, unread: an outage would begin for want of a look.
                Err(_) if was_paused(begun, REPLY_TIMEOUT) => {}
                Err(_) => break Err(MeterError::TimedOut(REPLY_TIMEOUT)),
            }
        };
        self.record(&reply, only_reads);
        reply
    }

    /// Returns true if the authority is known to have replied to a message within this time, on the way that
    /// those of the key take.
    pub(super) fn is_heard_within(&self, time: Duration, id: &KeyId) -> bool {
        self.lane(id).is_some_and(|lane| lane.heard.is_within(time))
    }

    fn lane(&self, id: &KeyId) -> Option<&Lane> {
        // The last byte chooses the shard of tables already.
        let [place, ..] = *id.as_bytes();
        usize::from(place).checked_rem(self.lanes.len()).and_then(|lane| self.lanes.get(lane))
    }

    /// Returns the number of messages.
    pub(super) fn messages(&self) -> u64 {
        self.messages.load(Ordering::Relaxed)
    }

    /// Returns the numbers of messages without a reply, by reason.
    pub(super) fn failures(&self) -> impl Iterator<Item = (FailureReason, u64)> + '_ {
        let counts = self.failures.iter().map(|count| count.load(Ordering::Relaxed));
        FailureReason::VARIANTS.iter().copied().zip(counts)
    }

    /// Returns true if the last message that changes a meter got no reply, or none was expected before any.
    pub(super) fn is_failing(&self) -> bool {
        self.is_failing.load(Ordering::Relaxed)
    }

    /// Counts as failing until the next reply, because of what was found before any message.
    pub(super) fn begin_failing(&self) {
        self.is_failing.store(true, Ordering::Relaxed);
    }

    /// Counts a failure, and logs its cause if that is another one than before, and the recovery. A reply to a
    /// message that only reads does not count: a server without memory responds to it.
    fn record<T>(&self, reply: &Result<T, MeterError>, only_reads: bool) {
        match reply {
            Ok(_) if only_reads || !self.is_failing() => {}
            Ok(_) => {
                if self.is_failing.swap(false, Ordering::Relaxed) {
                    *self.logged.lock() = Logged::default();
                    let failures: u64 = self.failures().map(|(_, count)| count).sum();
                    log::warn!("meter authority recovered: failures={failures}");
                }
            }
            Err(error) => {
                let reason = error.reason();
                let counts = FailureReason::VARIANTS.iter().zip(&self.failures);
                for (_, count) in counts.filter(|(counted, _)| **counted == reason) {
                    count.fetch_add(1, Ordering::Relaxed);
                }
                self.is_failing.store(true, Ordering::Relaxed);
                if self.logged.lock().is_news(reason, Instant::now()) {
                    log::error!("meter authority failed: reason={} error=\"{error}\"", reason.into_str());
                }
            }
        }
    }
}

/// The causes of failures that were logged since the last recovery.
#[derive(Default)]
struct Logged {
    reasons: Vec<FailureReason>,
    last: Option<(FailureReason, Instant)>,
}

impl Logged {
    /// Returns true if a failure must be logged: its cause is new, or is back after another one for
    /// a while.
    fn is_news(&mut self, reason: FailureReason, now: Instant) -> bool {
        let is_back = self
            .last
            .is_some_and(|(last, at)| last != reason && now.saturating_duration_since(at) >= LOG_AGAIN_AFTER);
        let is_new = !self.reasons.contains(&reason);
        if is_new {
            self.reasons.push(reason);
        }
        if is_new || is_back {
            self.last = Some((reason, now));
        }
        is_new || is_back
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cause_is_logged_when_it_changes_and_not_with_each_failure() {
        let (mut logged, start) = (Logged::default(), Instant::now());
        let mut is_news = |reason, s| logged.is_news(reason, start + Duration::from_secs(s));
        assert!(is_news(FailureReason::Timeout, 0) && !is_news(FailureReason::Timeout, 99));
        assert!(is_news(FailureReason::Refused, 99), "another one is logged at once");
        assert!(!is_news(FailureReason::Timeout, 100) && !is_news(FailureReason::Refused, 101));
        assert!(is_news(FailureReason::Timeout, 109), "it is back");
    }

    /// A thread that blocks stops this runtime as SIGSTOP stops a process: the timeout fires before the reply is read,
    /// and a proxy that took it for silence spent its local budget.
    #[tokio::test]
    async fn pause_of_the_process_is_no_silence_of_the_authority() {
        let (queue, mut ends) = MeterQueue::new(1);
        let mut end = ends.pop().unwrap();
        tokio::spawn(async move {
            let job = end.jobs.recv().await.unwrap();
            // Fault timing: longer than the timeout by more than a busy processor explains.
            std::thread::sleep(REPLY_TIMEOUT + 2 * PAUSED);
            tokio::time::sleep(Duration::from_millis(100)).await;
            job.end(Err(MeterError::Unexpected));
        });
        let sent = queue.send(KeyId::new([1; 12]), Message::Stored { version: 1 }, Instant::now());
        assert_eq!(sent.await, Err(MeterError::Unexpected), "the reply, and no timeout");
    }
}
