//! One request to a meter for which a call waits: its copies, and responses that come late. The record that KV holds,
//! for a key that neither its meter nor the isolate has met yet.
//!
//! Why: docs/decisions/limits.md, "A request says within which time its call may be let through".

use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::task::{Context, Poll};

use futures_util::future::{Either, select};
use shared::key::VerifiedKey;
use shared::lease_cache::{Admission, CallWait, LeaseCache, Timeouts, WaitEvent, WaitFailure, WaitStep};
use shared::meter::{Message, MeterRequest, MeterResponse, Reply};
use shared::problem::Problem;
use shared::time::UnixMillis;
use worker::ObjectNamespace;

use super::rpc;
use crate::context::RequestContext;
use crate::gateway::{key_store, lease_caches};
use crate::runtime::durable_rpc::RpcError;
use crate::runtime::{clock, promise, task};

/// Time in which a late response is still waited for, in milliseconds.
const LATE_MS: u64 = 10_000;

/// The result of an exchange.
pub(super) enum ExchangeOutcome {
    Decided(Admission),
    /// Neither the meter nor the isolate has the key's record. KV must be read, and the meter asked
    /// again.
    LacksRecord,
    /// No response came in time, or none that may admit the call.
    Failed {
        reason: WaitFailure,
        error: RpcError,
    },
}

/// A request to the key's meter, with its copies.
pub(super) struct Exchange {
    meter: ObjectNamespace,
    name: String,
    key: VerifiedKey,
    request: MeterRequest,
    sent: UnixMillis,
    wait: CallWait,
    /// The latest error of a copy.
    failure: Option<RpcError>,
    in_flight: Vec<Copy>,
}

/// A copy of the request with the meter's response to it.
type Arrival = (MeterRequest, Result<MeterResponse, RpcError>);

/// A copy of the request on its way.
type Copy = Pin<Box<dyn Future<Output = Arrival>>>;

impl Exchange {
    pub(super) fn new(
        context: &RequestContext<'_>,
        key: &VerifiedKey,
        request: MeterRequest,
        timeouts: Timeouts,
    ) -> Self {
        Self {
            meter: context.bindings.meter.clone(),
            name: key.id.to_string(),
            key: *key,
            request,
            sent: clock::now(),
            wait: CallWait::new(timeouts),
            failure: None,
            in_flight: Vec::with_capacity(1),
        }
    }

    pub(super) const fn request(&self) -> &MeterRequest {
        &self.request
    }

    /// Sends the request and waits for the decision. It is sent again when its [`CallWait`] says so.
    /// That is safe because a meter counts a repeated request once.
    ///
    /// # Errors
    /// `internal` if the key has no lease cache and none can be created.
    pub(super) async fn run(&mut self) -> Result<ExchangeOutcome, Problem> {
        self.send(self.request.clone());
        loop {
            // If the isolate has stalled, nothing is left: the timer fires immediately, and the wait
            // sees how late it is.
            let rest_ms = self.wait.due_ms().saturating_sub(self.elapsed_ms());
            let event = match self.next_within(rest_ms).await {
                Some(Some((request, Ok(response)))) => {
                    if let Some(outcome) = self.apply(&request, &response)? {
                        return Ok(outcome);
                    }
                    // Its lease and its verdict were applied. Only this call is still undecided.
                    WaitEvent::LateResponse
                }
                Some(Some((_, Err(error)))) => {
                    // A copy would be one more message for an object that cannot take those that it
                    // has.
                    let is_final = error.is_overloaded();
                    self.failure = Some(error);
                    WaitEvent::Error { is_final }
                }
                Some(None) => WaitEvent::NothingInFlight,
                None => WaitEvent::Timer,
            };
            match self.wait.next(event, self.elapsed_ms()) {
                WaitStep::Continue => {}
                WaitStep::SendAgain { admit_within_ms } => self.retry(admit_within_ms)?,
                WaitStep::GiveUp(reason) => return Ok(self.failed(reason)),
            }
        }
    }

    /// Handles what arrives after the decision, in the background: a lease or a verdict serves
    /// later calls, and after an outage the next call asks again.
    pub(super) fn finish(mut self, context: &RequestContext<'_>) {
        if self.in_flight.is_empty() {
            return;
        }
        // The runtime cancels what is in flight once the response has left, unless it is waited
        // for.
        task::in_background(context.execution, async move {
            let late = async {
                while let Some((request, response)) = self.next().await {
                    // A cache that cannot be created was logged.
                    let _applied = response.map(|response| self.apply(&request, &response));
                }
            };
            // Bounded: a meter that never responds would keep the request alive at the runtime.
            promise::timeout(LATE_MS, late).await;
        });
    }

    fn elapsed_ms(&self) -> u64 {
        clock::now().since(self.sent)
    }

    fn failed(&mut self, reason: WaitFailure) -> ExchangeOutcome {
        let error = match reason {
            WaitFailure::Silent => {
                self.failure.take().unwrap_or_else(|| RpcError::TimedOut { ms: self.wait.due_ms() })
            }
            WaitFailure::Late => RpcError::Late { ms: self.elapsed_ms() },
            WaitFailure::Stalled => RpcError::Stalled { ms: self.elapsed_ms() },
        };
        ExchangeOutcome::Failed { reason, error }
    }

    fn retry(&mut self, admit_within_ms: u64) -> Result<(), Problem> {
        let again = lease_caches::with(&self.key, |cache, _| cache.retry(&self.request, admit_within_ms))?;
        self.send(again);
        Ok(())
    }

    fn send(&mut self, request: MeterRequest) {
        let (meter, name) = (self.meter.clone(), self.name.clone());
        self.in_flight.push(Box::pin(async move {
            let response = match rpc::send(&meter, &name, &Message::Ask(request.clone())).await {
                Ok(Reply::Ask(response)) => Ok(response),
                Ok(_) => Err(RpcError::UnexpectedReply),
                Err(error) => Err(error),
            };
            (request, response)
        }));
    }

    /// Returns the output of [`Exchange::next`], or `None` once a timer fires. What is late is for
    /// the [`CallWait`] to judge.
    async fn next_within(&mut self, ms: u64) -> Option<Option<Arrival>> {
        // The responses are polled before the timer. After a stall both are due together, and a
        // response that still admits the call must not lose to it.
        match select(pin!(self.next()), pin!(promise::sleep(ms))).await {
            Either::Left((arrival, _)) => Some(arrival),
            Either::Right(((), _)) => None,
        }
    }

    /// Returns the next response with its copy of the request, or `None` if no copy is in flight.
    /// Cancel-safe.
    async fn next(&mut self) -> Option<Arrival> {
        poll_fn(|task| self.poll_next(task)).await
    }

    fn poll_next(&mut self, task: &mut Context<'_>) -> Poll<Option<Arrival>> {
        for place in 0..self.in_flight.len() {
            if let Some(Poll::Ready(arrived)) =
                self.in_flight.get_mut(place).map(|copy| copy.as_mut().poll(task))
            {
                // Their order means nothing, because each copy returns with its own request.
                drop(self.in_flight.swap_remove(place));
                return Poll::Ready(Some(arrived));
            }
        }
        if self.in_flight.is_empty() { Poll::Ready(None) } else { Poll::Pending }
    }

    /// Applies a response to the key's cache. Returns the outcome, or `None` if it decides nothing.
    fn apply(
        &self,
        request: &MeterRequest,
        response: &MeterResponse,
    ) -> Result<Option<ExchangeOutcome>, Problem> {
        let admission = lease_caches::with(&self.key, |cache, now| {
            // For every copy this is the moment of the first one, so that a lease ends too early
            // here rather than too late.
            cache.handle_response(request, self.sent, response, now)
        })?;
        let lacks_record =
            LeaseCache::lacks_record(request, response).then_some(ExchangeOutcome::LacksRecord);
        Ok(admission.map(ExchangeOutcome::Decided).or(lacks_record))
    }
}

/// Reads the record from KV into the key's cache.
///
/// # Errors
/// `key-store-unavailable`. This is not a reason to refuse the key: the meter may know it. Pass the
/// outcome to [`check_stored`].
pub(super) async fn learn_stored(context: &RequestContext<'_>, key: &VerifiedKey) -> Result<(), Problem> {
    let found = key_store::find(&context.bindings.keys, &key.id, context.request.id).await?;
    if let Some(record) = found {
        lease_caches::with(key, |cache, _| cache.learn(record))?;
    }
    Ok(())
}

/// Checks that a meter which refuses a key as unknown was sent the stored record, if there is one.
/// Otherwise the key's cache is removed, because its refusal may be wrong.
///
/// # Errors
/// The outcome of [`learn_stored`], if it is an error and the key `is_unknown`.
pub(super) fn check_stored(
    key: &VerifiedKey,
    read: Result<(), Problem>,
    is_unknown: bool,
) -> Result<(), Problem> {
    match (read, is_unknown) {
        (Err(problem), true) => {
            // The refusal is in it, and would hold for later calls although KV was only down.
            lease_caches::remove(&key.id);
            Err(problem)
        }
        _ => Ok(()),
    }
}
