//! An open-loop load driver: sends calls when they are due and records the outcome of each.

mod connection;
mod record;
mod response;
mod stop_flag;
mod worker;

use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use async_channel::Sender;
use bytes::Bytes;
use http_body_util::Full;
use hyper::Request;
use tokio::sync::watch;
use tokio::task::JoinSet;

pub use connection::{RequestError, send_once};
pub use record::{CallError, CallKind, CallOutcome, CallRecord};
pub use response::CallResponse;
pub use stop_flag::StopFlag;

use crate::schedule::Schedule;
use crate::target::Target;
use connection::Connection;
use worker::{DueCall, Worker};

/// A request that is sent repeatedly.
#[derive(Clone, Debug)]
pub struct CallTemplate {
    /// The kind that its calls are counted under.
    pub kind: CallKind,
    /// The complete request.
    pub request: Request<Full<Bytes>>,
}

/// The templates in use, taken in turn. A scenario can replace them during a run.
pub type CallTemplates = watch::Receiver<Arc<[CallTemplate]>>;

/// The options of a driver.
#[derive(Clone, Debug)]
pub struct DriverOptions {
    /// The server to call.
    pub target: Target,
    /// The number of open connections. A call waits if all of them are busy, and its latency
    /// includes the wait.
    pub connections: usize,
    /// The timeout of a call, from sending the request to the last byte of the response.
    pub timeout: Duration,
}

/// The results of a run.
#[derive(Debug, Default)]
pub struct RunLog {
    /// One record per due call, in no particular order.
    pub records: Vec<CallRecord>,
    /// The limit per minute that `RateLimit-Policy` announced, if a response had one.
    pub minute_quota: Option<u32>,
}

/// The time to open a connection before a run.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// The time that calls which are already due may wait for a connection after the last call became
/// due.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(5);

/// A driver with open connections.
pub struct Driver {
    options: DriverOptions,
    connections: Vec<Connection>,
}

impl Driver {
    /// Opens all connections, so that the first calls do not include connection setup.
    ///
    /// # Errors
    /// Returns an error if a connection cannot be opened within 5 seconds.
    pub async fn connect(options: DriverOptions) -> Result<Self, RequestError> {
        let mut connections = Vec::with_capacity(options.connections);
        for _ in 0..options.connections {
            connections.push(Connection::open(&options.target, CONNECT_TIMEOUT).await?);
        }
        Ok(Self { options, connections })
    }

    /// Sends all calls of `schedule`, counted from `start`. Returns when each has completed, failed
    /// or been dropped.
    pub async fn run(
        self,
        schedule: Schedule,
        templates: CallTemplates,
        start: Instant,
        stop: StopFlag,
    ) -> RunLog {
        let (due_sender, due_calls) = async_channel::unbounded();
        let scheduler = thread::spawn(move || send_due_calls(schedule, start, &stop, &due_sender));
        let mut workers = JoinSet::new();
        for connection in self.connections {
            let worker = Worker {
                connection,
                options: self.options.clone(),
                templates: templates.clone(),
                start,
                send_deadline: schedule.duration() + DRAIN_TIMEOUT,
                log: RunLog::default(),
            };
            workers.spawn(worker.run(due_calls.clone()));
        }
        let mut log = RunLog::default();
        while let Some(result) = workers.join_next().await {
            let Ok(part) = result else { continue };
            log.records.extend(part.records);
            log.minute_quota = log.minute_quota.or(part.minute_quota);
        }
        // The thread has ended, because the workers end only after it has dropped its sender.
        drop(scheduler);
        log
    }
}

/// Sends every call when it is due, until `stop` is set or the channel is closed.
///
/// Runs on its own thread, because a sleeping thread wakes within about 50 µs and a runtime timer
/// within 1 ms.
fn send_due_calls(schedule: Schedule, start: Instant, stop: &StopFlag, due_calls: &Sender<DueCall>) {
    const STOP_CHECK_INTERVAL: Duration = Duration::from_millis(50);
    for nth in 0..schedule.calls() {
        let due = schedule.due(nth);
        loop {
            if stop.is_set() {
                return;
            }
            let remaining = due.saturating_sub(start.elapsed());
            if remaining.is_zero() {
                break;
            }
            thread::sleep(remaining.min(STOP_CHECK_INTERVAL));
        }
        if due_calls.try_send(DueCall { nth, due }).is_err() {
            return;
        }
    }
}
