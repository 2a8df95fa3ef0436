//! The queue of messages to meters. Workers take what has gathered, so that many keys share one
//! exchange with the authority.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use shared::key::KeyId;
use shared::meter::{Message, Reply};
use tokio::sync::{mpsc, oneshot};
use tokio::time::timeout;

/// Maximum time from a message to its reply. It is longer than any call waits, because a late reply
/// brings a lease and a verdict for later calls.
const REPLY_TIMEOUT: Duration = Duration::from_secs(5);

/// An error of an exchange with the authority.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum MeterError {
    /// The proxy is starting or shutting down.
    #[error("the proxy does not run")]
    NotRunning,
    /// No reply came in time.
    #[error("no reply within {} ms", REPLY_TIMEOUT.as_millis())]
    TimedOut,
    /// The authority cannot be reached or does not carry out a command.
    #[error("{0}")]
    Failed(Arc<str>),
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

impl MeterError {
    pub(crate) fn failed(error: impl std::fmt::Display) -> Self {
        Self::Failed(error.to_string().into())
    }
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
    failures: AtomicU64,
    is_failing: AtomicBool,
    /// Whether a failure was logged since the last reply.
    is_logged: AtomicBool,
    /// Whether a refusal was.
    is_refusal_logged: AtomicBool,
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
            failures: AtomicU64::new(0),
            is_failing: AtomicBool::new(false),
            is_logged: AtomicBool::new(false),
            is_refusal_logged: AtomicBool::new(false),
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
        let (reply, replied) = oneshot::channel();
        let job = Job { id, message, waiter: Waiter { since, reply } };
        let is_sent = self.lane(&id).is_some_and(|lane| lane.jobs.send(job).is_ok());
        let reply = match timeout(REPLY_TIMEOUT, replied).await {
            Ok(Ok(reply)) if is_sent => reply,
            Ok(_) => Err(MeterError::NotRunning),
            Err(_) => Err(MeterError::TimedOut),
        };
        self.record(&reply);
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

    /// Returns the numbers of messages and of those without a reply.
    pub(super) fn counts(&self) -> (u64, u64) {
        (self.messages.load(Ordering::Relaxed), self.failures.load(Ordering::Relaxed))
    }

    /// Returns true if the last message got no reply, or none was expected before any.
    pub(super) fn is_failing(&self) -> bool {
        self.is_failing.load(Ordering::Relaxed)
    }

    /// Counts as failing until the next reply, because of what was found before any message.
    pub(super) fn begin_failing(&self) {
        self.is_failing.store(true, Ordering::Relaxed);
    }

    /// Counts a failure, and logs the first one, the first refusal and the recovery.
    fn record<T>(&self, reply: &Result<T, MeterError>) {
        let was_failing = self.is_failing.load(Ordering::Relaxed);
        match reply {
            Ok(_) if was_failing => {
                self.is_logged.store(false, Ordering::Relaxed);
                self.is_refusal_logged.store(false, Ordering::Relaxed);
                if self.is_failing.swap(false, Ordering::Relaxed) {
                    log::warn!(
                        "meter authority recovered: failures={}",
                        self.failures.load(Ordering::Relaxed)
                    );
                }
            }
            Ok(_) => {}
            Err(error) => {
                self.failures.fetch_add(1, Ordering::Relaxed);
                self.is_failing.store(true, Ordering::Relaxed);
                let is_first = !self.is_logged.swap(true, Ordering::Relaxed);
                // Lasts until an operator acts, also if it came amid an outage that passes by itself.
                let is_refusal = matches!(error, MeterError::Refused(_))
                    && !self.is_refusal_logged.swap(true, Ordering::Relaxed);
                if is_first || is_refusal {
                    log::error!("meter authority failed: error=\"{error}\"");
                }
            }
        }
    }
}
