//! A worker: one connection or stream that sends due calls in sequence.

use std::sync::Arc;
use std::sync::mpsc;
use std::time::{Duration, Instant};

use async_channel::{Receiver, RecvError, Sender};

use super::connection::Connection;
use super::stop_flag::StopFlag;
use crate::plan::{CallPlan, FlowState, PlannedCall, Verdict};
use crate::record::{CallError, CallOutcome, CallRecord};

/// A call that has become due.
pub(super) struct DueCall {
    /// The number of the call, from 0.
    pub(super) nth: u64,
    /// The due time, counted from the start of the run.
    pub(super) due: Duration,
    /// The user whose next step it is, unless it is the first one.
    pub(super) flow: Option<FlowState>,
    /// The channel for the next step. It keeps the channel open until the user is done.
    pub(super) next: Sender<Self>,
}

/// The records that are sent to the collector together.
const BATCH: usize = 64;
/// The time that calls which are already due may wait for a connection after the last call became
/// due.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(5);
/// The time in which a user who thinks sees that the run was stopped.
const STOP_CHECK_INTERVAL: Duration = Duration::from_millis(50);
/// The time after which records are sent even if they are few, for the display of progress.
const BATCH_AGE: Duration = Duration::from_millis(250);

/// One connection and the records of its calls.
pub(super) struct Worker {
    connection: Connection,
    timeout: Duration,
    plan: Arc<CallPlan>,
    start: Instant,
    /// The time, counted from `start`, at which the last call is due.
    end: Duration,
    stop: StopFlag,
    /// The time, counted from `start`, from which on the connection is free.
    free_since: Duration,
    batch: Vec<CallRecord>,
    batch_since: Duration,
}

impl Worker {
    pub(super) fn new(
        connection: Connection,
        timeout: Duration,
        plan: Arc<CallPlan>,
        start: Instant,
        end: Duration,
        stop: StopFlag,
    ) -> Self {
        Self {
            connection,
            timeout,
            plan,
            start,
            end,
            stop,
            free_since: Duration::ZERO,
            batch: Vec::with_capacity(BATCH),
            batch_since: Duration::ZERO,
        }
    }

    /// Sends calls until the channel is closed.
    pub(super) async fn run(mut self, due_calls: Receiver<DueCall>, records: mpsc::Sender<Vec<CallRecord>>) {
        while let Ok(next) = self.next(&due_calls).await {
            let now = self.start.elapsed();
            let is_idle = next.is_none();
            if let Some(call) = next {
                // The plan ends with the data of a request, which is the end of the run.
                let Some(record) = self.record(call, now).await else { break };
                self.batch.push(record);
            }
            // Each record by itself would wake the collector for each call. A batch that never
            // fills would keep the display of progress, and the check that ends a lost run, from
            // seeing its calls.
            if is_idle || self.batch.len() >= BATCH || now > self.batch_since + BATCH_AGE {
                self.batch_since = now;
                if records.send(std::mem::replace(&mut self.batch, Vec::with_capacity(BATCH))).is_err() {
                    return;
                }
            }
        }
        // If the collector has failed, the run ends with its error.
        let _sent = records.send(self.batch);
    }

    /// Waits for the next call. Returns `None` if there are records to send and no call comes.
    async fn next(&self, due_calls: &Receiver<DueCall>) -> Result<Option<DueCall>, RecvError> {
        if self.batch.is_empty() {
            // Nothing waits to be sent, so a timer would wake the worker for nothing.
            return due_calls.recv().await.map(Some);
        }
        let next = tokio::time::timeout(BATCH_AGE, due_calls.recv()).await;
        next.map_or(Ok(None), |call| call.map(Some))
    }

    /// Makes a call, and returns its record.
    async fn record(&mut self, due_call: DueCall, sent: Duration) -> Option<CallRecord> {
        let DueCall { nth, due, flow, next } = due_call;
        let call = match flow {
            Some(flow) => self.plan.step(flow)?,
            None => self.plan.call(nth)?,
        };
        let (request, key) = (call.index, call.key);
        // Calls that were due keep their place in the report: left out, an overloaded target would
        // look better.
        let (outcome, step) = if sent > self.send_deadline(due) {
            (CallOutcome::Failed(CallError::NotSent), None)
        } else {
            self.call(call).await
        };
        // A connection that was free when the call was due did not keep it waiting.
        let waited = self.free_since.saturating_sub(due);
        let done = self.start.elapsed();
        // After `waited`, which needs the time at which the last call left the connection.
        self.free_since = done;
        if let Some((flow, think)) = step.filter(|_| !self.stop.is_set()) {
            // The user thinks without a connection.
            let due = done + think;
            let at = self.start + due;
            let stop = self.stop.clone();
            tokio::spawn(async move {
                while Instant::now() < at {
                    // A user who thinks for minutes must not keep a run that was stopped.
                    tokio::time::sleep_until((Instant::now() + STOP_CHECK_INTERVAL).min(at).into()).await;
                    if stop.is_set() {
                        return;
                    }
                }
                let call = DueCall { nth, due, flow: Some(flow), next: next.clone() };
                // Without workers the run is over.
                let _sent = next.send(call).await;
            });
        }
        Some(CallRecord { request, key, due, sent, waited, done, outcome })
    }

    /// Returns the time, counted from `start`, after which due calls are no longer sent.
    /// A later step of a flow may be due after the last call.
    fn send_deadline(&self, due: Duration) -> Duration {
        let stopped = self.stop.since().map(|at| at.saturating_duration_since(self.start));
        // A step of a flow becomes due after the end of the schedule if its user thinks that long.
        stopped.map_or_else(|| self.end.max(due), |stopped| stopped.min(self.end)) + DRAIN_TIMEOUT
    }

    /// Makes a call. Returns its outcome, and the user's next step.
    async fn call(&mut self, call: PlannedCall) -> (CallOutcome, Option<(FlowState, Duration)>) {
        let (request, wanted, context) = call.into_parts();
        match tokio::time::timeout(self.timeout, self.connection.call(request, wanted)).await {
            // A refusal is judged by its status alone.
            Ok(Ok(response)) if response.status.as_u16() >= 400 => (response.outcome(None), None),
            Ok(Ok(response)) => match self.plan.judge(context, &response.observed()) {
                Verdict::Failed(check) => (response.outcome(Some(check)), None),
                Verdict::Passed(step) => (response.outcome(None), step),
            },
            Ok(Err(error)) => (CallOutcome::Failed(error), None),
            Err(_elapsed) => {
                // A late response must not be mistaken for that of the next call.
                self.connection.abandon();
                (CallOutcome::Failed(CallError::TimedOut), None)
            }
        }
    }
}
