//! One request to a meter for which a call waits: its copies, and responses that come late.

use std::{
    future::poll_fn,
    pin::Pin,
    task::{Context, Poll},
};

use shared::{
    key::VerifiedKey,
    lease_cache::{Admission, LeaseCache, Timeouts},
    meter::{Message, MeterRequest, Reply},
    problem::Problem,
    time::UnixMillis,
};
use worker::ObjectNamespace;

use super::rpc;
use crate::{clock, context::RequestContext, durable_rpc::RpcError, lease_caches, promise};

/// Time in which a late response is still waited for, in milliseconds.
const LATE_MS: u64 = 10_000;

/// The result of an exchange.
pub(super) enum Outcome {
    Decided(Admission),
    /// Neither the meter nor the isolate has the key's record. KV must be read, and the meter asked
    /// again.
    LacksRecord,
    /// No response came in time, or none that may admit the call.
    Failed(RpcError),
}

/// A request that was sent to the key's meter, once or twice.
pub(super) struct Exchange {
    meter: ObjectNamespace,
    name: String,
    key: VerifiedKey,
    request: MeterRequest,
    timeouts: Timeouts,
    sent: UnixMillis,
    is_retried: bool,
    /// The latest error of a copy.
    failure: RpcError,
    in_flight: Vec<Copy>,
}

/// A copy of the request on its way, which resolves to the reply.
type Copy = Pin<Box<dyn Future<Output = (MeterRequest, Result<Reply, RpcError>)>>>;

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
            timeouts,
            sent: clock::now(),
            is_retried: false,
            failure: RpcError::UnexpectedReply,
            in_flight: Vec::with_capacity(1),
        }
    }

    pub(super) const fn request(&self) -> &MeterRequest {
        &self.request
    }

    /// Sends the request and waits for the decision. After an error, unless the object is
    /// overloaded, and after a silence, it is sent a second time. That is safe because a meter
    /// counts a repeated request once.
    ///
    /// # Errors
    /// `internal` if the key has no lease cache and none can be created.
    pub(super) async fn run(&mut self) -> Result<Outcome, Problem> {
        self.send(self.request.clone());
        let Timeouts { hedge_ms, total_ms } = self.timeouts;
        // One timer at a time: nearly every response comes before the first one ends.
        if let Some(decided) = promise::timeout(hedge_ms, self.decide()).await {
            return decided;
        }
        if !self.is_retried {
            self.retry()?;
        }
        let timed_out = || Ok(Outcome::Failed(RpcError::TimedOut { ms: total_ms }));
        let rest_ms = total_ms.saturating_sub(hedge_ms);
        promise::timeout(rest_ms, self.decide()).await.unwrap_or_else(timed_out)
    }

    /// Handles what arrives after the decision, in the background: a lease or a verdict serves
    /// later calls, and after an outage the next call asks again.
    pub(super) fn finish(mut self, context: &RequestContext<'_>) {
        if self.in_flight.is_empty() {
            return;
        }
        context.execution.wait_until(async move {
            let late = async {
                while let Some((request, reply)) = self.next().await {
                    // A cache that cannot be created was logged.
                    let _applied = reply.map(|reply| self.apply(&request, &reply));
                }
            };
            promise::timeout(LATE_MS, late).await;
        });
    }

    /// Returns the decision of the first reply that has one. Cancel-safe.
    async fn decide(&mut self) -> Result<Outcome, Problem> {
        while let Some((request, reply)) = self.next().await {
            match reply {
                Ok(reply) => {
                    if let Some(outcome) = self.apply(&request, &reply)? {
                        return Ok(outcome);
                    }
                }
                Err(error) => {
                    if !self.is_retried && !error.is_overloaded() {
                        self.retry()?;
                    }
                    self.failure = error;
                }
            }
        }
        Ok(Outcome::Failed(std::mem::replace(&mut self.failure, RpcError::UnexpectedReply)))
    }

    fn retry(&mut self) -> Result<(), Problem> {
        self.is_retried = true;
        let again = lease_caches::with(&self.key, |cache, _| cache.retry(&self.request, self.timeouts))?;
        self.send(again);
        Ok(())
    }

    fn send(&mut self, request: MeterRequest) {
        let (meter, name) = (self.meter.clone(), self.name.clone());
        self.in_flight.push(Box::pin(async move {
            let reply = rpc::send(&meter, &name, &Message::Ask(request.clone())).await;
            (request, reply)
        }));
    }

    /// Returns the next reply with its copy of the request, or `None` if no copy is in flight.
    /// Cancel-safe.
    async fn next(&mut self) -> Option<(MeterRequest, Result<Reply, RpcError>)> {
        poll_fn(|task| self.poll_next(task)).await
    }

    fn poll_next(&mut self, task: &mut Context<'_>) -> Poll<Option<(MeterRequest, Result<Reply, RpcError>)>> {
        for place in 0..self.in_flight.len() {
            if let Some(Poll::Ready(arrived)) =
                self.in_flight.get_mut(place).map(|copy| copy.as_mut().poll(task))
            {
                drop(self.in_flight.swap_remove(place));
                return Poll::Ready(Some(arrived));
            }
        }
        if self.in_flight.is_empty() { Poll::Ready(None) } else { Poll::Pending }
    }

    /// Applies a reply to the key's cache. Returns the outcome, or `None` if it decides nothing.
    fn apply(&self, request: &MeterRequest, reply: &Reply) -> Result<Option<Outcome>, Problem> {
        let Reply::Ask(response) = reply else { return Ok(None) };
        let admission = lease_caches::with(&self.key, |cache, now| {
            cache.handle_response(request, self.sent, response, now)
        })?;
        let lacks_record = LeaseCache::lacks_record(request, response).then_some(Outcome::LacksRecord);
        Ok(admission.map(Outcome::Decided).or(lacks_record))
    }
}
