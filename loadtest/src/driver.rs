//! An open-loop load driver: sends calls when they are due and records the outcome of each.

mod collector;
mod connection;
mod http2_probe;
mod options;
mod stop_flag;
mod worker;

use std::io;
use std::sync::Arc;
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use async_channel::Sender;
use tokio::task::JoinSet;
use tokio::time::timeout;

pub(crate) use collector::{Collected, Collector, CollectorOptions, FindLostCheck, LiveCounts};
pub(crate) use options::DriverOptions;
pub(crate) use stop_flag::StopFlag;

use crate::http::RequestError;
use crate::plan::CallPlan;
use crate::record::CallRecord;
use crate::schedule::Schedule;
use connection::Connection;
use worker::{DueCall, Worker};

/// The time to open a connection before a run.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// A driver with open connections.
pub(crate) struct Driver {
    options: DriverOptions,
    connections: Vec<Connection>,
}

impl Driver {
    /// Opens all connections, so that the first calls do not include connection setup.
    ///
    /// # Errors
    /// Returns an error if a connection cannot be opened within 5 seconds, or if the server does not
    /// speak HTTP/2 where that is wanted.
    pub(crate) async fn connect(options: DriverOptions) -> Result<Self, RequestError> {
        // A server of HTTP/1 responds to the preface with 400, which the client would report as a
        // broken connection. The probe can say what is wrong.
        if options.http2 && !options.target.tls {
            let checked = timeout(CONNECT_TIMEOUT, http2_probe::check(&options.target)).await;
            let checked = checked.unwrap_or_else(|_elapsed| Err(io::ErrorKind::TimedOut.into()));
            let failed = |source| RequestError::Connect { target: options.target.to_string(), source };
            checked.map_err(failed)?;
        }
        let mut connections = Vec::new();
        for _ in 0..options.connections {
            let connection = Connection::open(&options, CONNECT_TIMEOUT).await?;
            // Streams share the connection that was just opened, so that a run has as many
            // connections as it says.
            connections.extend((1..options.streams).filter_map(|_| connection.another_stream()));
            connections.push(connection);
        }
        Ok(Self { options, connections })
    }

    /// Sends all calls of `schedule`, counted from `start`, and their records to `records`. Returns
    /// when each has completed, failed or been dropped.
    pub(crate) async fn run(
        self,
        schedule: Schedule,
        plan: Arc<CallPlan>,
        start: Instant,
        stop: StopFlag,
        records: mpsc::Sender<Vec<CallRecord>>,
    ) {
        // A bounded channel would hold the scheduler back when the target is slow, which is the
        // closed loop that hides its latency.
        let (due_sender, due_calls) = async_channel::unbounded();
        let (end, workers_stop) = (schedule.duration(), stop.clone());
        let scheduler = thread::spawn(move || send_due_calls(&schedule, start, &stop, &due_sender));
        let mut workers = JoinSet::new();
        for connection in self.connections {
            let (plan, stop) = (Arc::clone(&plan), workers_stop.clone());
            let worker = Worker::new(connection, self.options.timeout, plan, start, end, stop);
            workers.spawn(worker.run(due_calls.clone(), records.clone()));
        }
        while workers.join_next().await.is_some() {}
        // The thread has ended, because the workers end only after it has dropped its sender.
        drop(scheduler);
    }
}

/// Sends every call when it is due, until `stop` is set or the channel is closed.
///
/// Runs on its own thread, because a sleeping thread wakes within about 50 µs and a runtime timer
/// within 1 ms.
fn send_due_calls(schedule: &Schedule, start: Instant, stop: &StopFlag, due_calls: &Sender<DueCall>) {
    const STOP_CHECK_INTERVAL: Duration = Duration::from_millis(50);
    for (nth, due) in schedule.due_calls() {
        loop {
            if stop.is_set() {
                return;
            }
            let remaining = due.saturating_sub(start.elapsed());
            if remaining.is_zero() {
                break;
            }
            // In parts, so that a run at one call a minute can be stopped.
            thread::sleep(remaining.min(STOP_CHECK_INTERVAL));
        }
        if due_calls.try_send(DueCall { nth, due, flow: None, next: due_calls.clone() }).is_err() {
            return;
        }
    }
}
