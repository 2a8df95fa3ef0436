//! Sends calls when they are due and notes what became of each.

mod connection;
mod record;

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use async_channel::{Receiver, Sender};
use bytes::Bytes;
use http_body_util::Full;
use hyper::Request;
use tokio::sync::watch;
use tokio::task::JoinSet;

pub use connection::{Reply, once};
pub use record::{Failure, Outcome, Record, Stream};

use crate::plan::Pace;
use crate::target::Target;
use connection::Connection;

/// A call to be made again and again.
#[derive(Clone, Debug)]
pub struct Template {
    /// Which line of the report it belongs to.
    pub stream: Stream,
    /// The request, complete.
    pub request: Request<Full<Bytes>>,
}

/// The calls being made at the moment, in turn. A scenario changes them while they run.
pub type Templates = watch::Receiver<Arc<[Template]>>;

/// Over what calls are sent, and for how long each may take.
#[derive(Clone, Debug)]
pub struct Means {
    /// Who is called.
    pub target: Target,
    /// Connections kept open. A call that finds all of them busy waits, and its wait counts.
    pub connections: usize,
    /// From sending a call to the last byte of its answer.
    pub timeout: Duration,
}

/// All that was noted.
#[derive(Debug, Default)]
pub struct Log {
    /// One for every call that was due, in no order.
    pub records: Vec<Record>,
    /// The calls a minute that the answers said are allowed, if any did.
    pub minute_quota: Option<u32>,
}

/// Stops a run early, from any thread.
#[derive(Clone, Debug, Default)]
pub struct Stop(Arc<AtomicBool>);

impl Stop {
    /// No further call becomes due.
    pub fn now(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Whether [`Stop::now`] was called.
    #[must_use]
    pub fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// How long calls that are already due may still wait for a connection once the last has become due.
const DRAIN: Duration = Duration::from_secs(5);

/// Connections, opened and waiting for the first call.
pub struct Ready {
    means: Means,
    connections: Vec<Connection>,
}

/// Opens every connection, so that the first calls are measured like the later ones.
///
/// # Errors
/// When one cannot be opened within 5 seconds.
pub async fn connect(means: Means) -> io::Result<Ready> {
    let mut connections = Vec::with_capacity(means.connections);
    for _ in 0..means.connections {
        let opened = Connection::open(&means.target, Duration::from_secs(5)).await;
        connections.push(
            opened.map_err(|cause| io::Error::new(cause.kind(), format!("{}: {cause}", means.target)))?,
        );
    }
    Ok(Ready { means, connections })
}

impl Ready {
    /// Makes every call of `pace`, counted from `start`; returns when each is answered, has failed or was given up.
    pub async fn drive(self, pace: Pace, templates: Templates, start: Instant, stop: Stop) -> Log {
        let (due, tickets) = async_channel::unbounded();
        let pacer = thread::spawn(move || issue_tickets(pace, start, &stop, &due));
        let mut workers = JoinSet::new();
        for connection in self.connections {
            let worker = Worker {
                connection,
                means: self.means.clone(),
                templates: templates.clone(),
                start,
                give_up: pace.length() + DRAIN,
                log: Log::default(),
            };
            workers.spawn(worker.work(tickets.clone()));
        }
        let mut log = Log::default();
        while let Some(worked) = workers.join_next().await {
            let Ok(part) = worked else { continue };
            log.records.extend(part.records);
            log.minute_quota = log.minute_quota.or(part.minute_quota);
        }
        // It has ended: the workers end when it has dropped its end of the channel.
        drop(pacer);
        log
    }
}

/// A call that is due: its number and when, counted from the beginning.
#[derive(Clone, Copy)]
struct Ticket {
    nth: u64,
    due: Duration,
}

/// Runs on a thread of its own: the runtime's timers are exact to a millisecond, a sleeping thread to about a
/// twentieth of that.
fn issue_tickets(pace: Pace, start: Instant, stop: &Stop, tickets: &Sender<Ticket>) {
    const STOP_CHECK: Duration = Duration::from_millis(50);
    for nth in 0..pace.calls() {
        let due = pace.due(nth);
        loop {
            if stop.is_set() {
                return;
            }
            let left = due.saturating_sub(start.elapsed());
            if left.is_zero() {
                break;
            }
            thread::sleep(left.min(STOP_CHECK));
        }
        if tickets.try_send(Ticket { nth, due }).is_err() {
            return;
        }
    }
}

/// One connection and what was noted on it.
struct Worker {
    connection: Connection,
    means: Means,
    templates: Templates,
    start: Instant,
    give_up: Duration,
    log: Log,
}

impl Worker {
    async fn work(mut self, tickets: Receiver<Ticket>) -> Log {
        while let Ok(ticket) = tickets.recv().await {
            let Some(template) = self.template(ticket.nth) else { break };
            let sent = self.start.elapsed();
            let outcome = if sent > self.give_up {
                Outcome::Failed(Failure::NotSent)
            } else {
                self.call(template.request).await
            };
            let done = self.start.elapsed();
            self.log.records.push(Record { stream: template.stream, due: ticket.due, sent, done, outcome });
        }
        self.log
    }

    fn template(&self, nth: u64) -> Option<Template> {
        let templates = self.templates.borrow();
        let turn = usize::try_from(nth).unwrap_or(0) % templates.len().max(1);
        templates.get(turn).cloned()
    }

    async fn call(&mut self, request: Request<Full<Bytes>>) -> Outcome {
        let call = self.connection.call(&self.means.target, request);
        match tokio::time::timeout(self.means.timeout, call).await {
            Ok(Ok(reply)) => {
                self.log.minute_quota = self.log.minute_quota.or_else(|| reply.minute_quota());
                reply.outcome()
            }
            Ok(Err(failure)) => Outcome::Failed(failure),
            Err(_elapsed) => {
                // Its answer may still come and would be taken for the next one's.
                self.connection.close();
                Outcome::Failed(Failure::Timeout)
            }
        }
    }
}
