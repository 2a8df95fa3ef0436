//! A worker: one connection that sends due calls in sequence.

use std::time::{Duration, Instant};

use async_channel::Receiver;
use bytes::Bytes;
use http_body_util::Full;
use hyper::Request;

use super::connection::Connection;
use super::{CallError, CallOutcome, CallRecord, CallTemplate, CallTemplates, DriverOptions, RunLog};

/// A call that has become due.
#[derive(Clone, Copy)]
pub(super) struct DueCall {
    /// The number of the call, from 0.
    pub(super) nth: u64,
    /// The due time, counted from the start of the run.
    pub(super) due: Duration,
}

/// One connection and the records of its calls.
pub(super) struct Worker {
    pub(super) connection: Connection,
    pub(super) options: DriverOptions,
    pub(super) templates: CallTemplates,
    pub(super) start: Instant,
    /// The time, counted from `start`, after which due calls are no longer sent.
    pub(super) send_deadline: Duration,
    pub(super) log: RunLog,
}

impl Worker {
    /// Sends calls until the channel is closed. Returns the worker's part of the log.
    pub(super) async fn run(mut self, due_calls: Receiver<DueCall>) -> RunLog {
        while let Ok(DueCall { nth, due }) = due_calls.recv().await {
            let Some(template) = self.template(nth) else { break };
            let sent = self.start.elapsed();
            let outcome = if sent > self.send_deadline {
                CallOutcome::Failed(CallError::NotSent)
            } else {
                self.call(template.request).await
            };
            let done = self.start.elapsed();
            self.log.records.push(CallRecord { kind: template.kind, due, sent, done, outcome });
        }
        self.log
    }

    fn template(&self, nth: u64) -> Option<CallTemplate> {
        let templates = self.templates.borrow();
        let turn = usize::try_from(nth).unwrap_or(0) % templates.len().max(1);
        templates.get(turn).cloned()
    }

    async fn call(&mut self, request: Request<Full<Bytes>>) -> CallOutcome {
        let call = self.connection.call(&self.options.target, request);
        match tokio::time::timeout(self.options.timeout, call).await {
            Ok(Ok(response)) => {
                self.log.minute_quota = self.log.minute_quota.or_else(|| response.minute_quota());
                response.outcome()
            }
            Ok(Err(error)) => CallOutcome::Failed(error),
            Err(_elapsed) => {
                // A late response must not be mistaken for that of the next call.
                self.connection.close();
                CallOutcome::Failed(CallError::TimedOut)
            }
        }
    }
}
