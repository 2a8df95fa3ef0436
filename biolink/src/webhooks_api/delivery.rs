//! Deliveries: messages to an endpoint, each with its attempts.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use shared::time::UnixMillis;
use strum::{EnumString, IntoStaticStr, VariantArray};

use crate::webhooks::{
    AttemptResult, BatchId, DeliveryId, Endpoint, EndpointChange, EndpointId, FinishedAttempt, NextStep,
};

/// Attempts of a delivery that are kept: retries by hand included.
const MAX_ATTEMPTS: usize = 20;

/// A message to an endpoint: one event, or a batch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Delivery {
    /// Its id, with its number.
    pub id: DeliveryId,
    /// The endpoint.
    pub endpoint: EndpointId,
    /// The `webhook-id`: the event's id, or `bat_…`. It is the same in each attempt.
    pub message: String,
    /// The kind of its event, `batch`, or `test`.
    pub kind: String,
    /// Whether it is still to be sent.
    pub state: DeliveryState,
    /// The moment of the next attempt.
    pub due: UnixMillis,
    /// Attempts since it was created or asked for again.
    pub tries: u32,
    /// The moment of the first of them.
    #[serde(default)]
    pub first_at: UnixMillis,
    /// The moment at which it was created.
    pub created_at: UnixMillis,
    /// The sequences of its events.
    pub events: Vec<u64>,
    /// Bytes of its events, about.
    #[serde(default)]
    pub bytes: usize,
    /// The body of a test, which has no event.
    pub test: Option<String>,
    /// The attempts, the oldest first.
    #[serde(default)]
    pub attempts: Vec<DeliveryAttempt>,
}

/// Whether a delivery is still to be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[derive(EnumString, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "snake_case")]
pub enum DeliveryState {
    /// It is a batch that takes more events until it is due.
    Collecting = 0,
    /// It is to be sent, immediately or after a failed attempt.
    Pending = 1,
    /// The endpoint has responded with 2xx.
    Delivered = 2,
    /// The last attempt has failed.
    Failed = 3,
    /// It was dropped because too many were pending.
    Dropped = 4,
}

shared::named!(DeliveryState);

/// An attempt of a delivery.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeliveryAttempt {
    /// The moment at which it began.
    pub at: UnixMillis,
    /// The status of the response; `None` without one.
    pub status: Option<u16>,
    /// Time until the response, in milliseconds.
    pub duration_ms: u64,
    /// The reason why there is no response.
    pub error: Option<String>,
    /// The first bytes of the response.
    pub response: Option<String>,
}

/// An attempt that ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EndedAttempt {
    /// The moment at which it began.
    pub at: UnixMillis,
    /// Its result; `None` if there was nothing to send any more.
    pub result: Option<AttemptResult>,
    /// The first bytes of the response.
    pub response: Option<String>,
}

impl Delivery {
    /// Records how an attempt ended: what follows for the delivery, and for its endpoint. `drawn` spreads
    /// the next attempt.
    pub fn record(
        &mut self,
        endpoint: &mut Endpoint,
        ended: EndedAttempt,
        drawn: u64,
        now: UnixMillis,
    ) -> EndpointChange {
        let EndedAttempt { at, result, response } = ended;
        let Some(result) = result else {
            self.state = DeliveryState::Dropped;
            return EndpointChange::None;
        };
        let duration_ms = now.since(at);
        let error = result.error().map(str::to_owned);
        self.add_attempt(DeliveryAttempt { at, status: result.status(), duration_ms, error, response });
        // The owner's tests are sent once, and say nothing about the endpoint unless they succeed.
        let is_failed_test = self.is_test() && !result.is_success();
        let (step, change) = match is_failed_test {
            true => (NextStep::Exhausted, EndpointChange::None),
            false => {
                let attempt =
                    FinishedAttempt { number: self.tries, first_at: self.first_at, ended_at: now, result };
                (attempt.next_step(drawn), endpoint.record_attempt(result, duration_ms, now))
            }
        };
        let (events, statistics) = (self.events.len() as u64, &mut endpoint.statistics);
        match step {
            NextStep::Delivered => {
                self.state = DeliveryState::Delivered;
                statistics.delivered = statistics.delivered.saturating_add(events);
            }
            NextStep::RetryAt(due) => self.due = due,
            NextStep::Exhausted | NextStep::Gone => {
                self.state = DeliveryState::Failed;
                statistics.failed = statistics.failed.saturating_add(events);
            }
        }
        change
    }

    /// Adds an attempt. The oldest give way.
    pub fn add_attempt(&mut self, attempt: DeliveryAttempt) {
        // Also after a retry by hand, whose schedule begins anew.
        if self.tries == 0 {
            self.first_at = attempt.at;
        }
        self.attempts.push(attempt);
        // Retries by hand have no limit, and the row of the delivery has one.
        let surplus = self.attempts.len().saturating_sub(MAX_ATTEMPTS);
        self.attempts.drain(..surplus);
        self.tries = self.tries.saturating_add(1);
    }

    /// Has it sent again from the beginning of the schedule.
    pub const fn restart(&mut self, now: UnixMillis) {
        (self.state, self.due, self.tries) = (DeliveryState::Pending, now, 0);
    }

    /// Returns the name of the batch that its body is; `None` for a single event.
    pub fn batch(&self) -> Option<BatchId> {
        BatchId::parse(&self.message)
    }

    /// Returns true if it is a test, which is sent once and not counted.
    pub const fn is_test(&self) -> bool {
        self.test.is_some()
    }

    /// Returns the body of a test. That of any other is in the event log.
    fn payload(&self) -> Option<Value> {
        self.test.as_deref().and_then(|body| serde_json::from_str(body).ok())
    }

    /// Returns the delivery as the API shows it. `event_ids` are those of its events, and `probe` is the
    /// moment before which its endpoint gets nothing but tests.
    pub fn describe(&self, event_ids: &[String], probe: Option<UnixMillis>) -> Value {
        // A test is sent while the circuit is open too.
        let probe = probe.filter(|_| !self.is_test());
        let next = match self.state {
            DeliveryState::Collecting | DeliveryState::Pending => {
                Some(self.due.max(probe.unwrap_or_default()).to_rfc3339())
            }
            DeliveryState::Delivered | DeliveryState::Failed | DeliveryState::Dropped => None,
        };
        let attempts: Vec<Value> = self.attempts.iter().map(DeliveryAttempt::describe).collect();
        json!({
            "object": "webhook_delivery",
            "id": self.id,
            "webhook_id": self.endpoint,
            "message_id": self.message,
            "type": self.kind,
            "event_ids": event_ids,
            "status": self.state.as_str(),
            "created_at": self.created_at.to_rfc3339(),
            "next_attempt_at": next,
            "attempts": attempts,
            "payload": self.payload(),
        })
    }
}

impl DeliveryState {
    /// Every state once, in the order of the codes.
    pub const ALL: [Self; 5] = *Self::VARIANTS.as_array().unwrap();

    /// Returns the code, which is stored. Those that wait to be sent are below 2.
    pub const fn code(self) -> u64 {
        self as u64
    }
}

impl DeliveryAttempt {
    fn describe(&self) -> Value {
        json!({
            "at": self.at.to_rfc3339(),
            "status": self.status,
            "duration_ms": self.duration_ms,
            "error": self.error,
            "response": self.response,
        })
    }
}
