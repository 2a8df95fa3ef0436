//! One request to a meter for which a call waits: its copies, and responses that come late.

use std::{
    future::poll_fn,
    pin::{Pin, pin},
    task::{Context, Poll},
};

use futures_util::future::{Either, select};
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
        let total_ms = self.timeouts.total_ms;
        let timed_out = || Ok(Outcome::Failed(RpcError::TimedOut { ms: total_ms }));
        promise::timeout(total_ms, self.decide()).await.unwrap_or_else(timed_out)
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

    async fn decide(&mut self) -> Result<Outcome, Problem> {
        let mut silence = pin!(promise::sleep(self.timeouts.hedge_ms));
        let mut failure = RpcError::UnexpectedReply;
        loop {
            let arrived = if self.is_retried {
                Some(self.next().await)
            } else {
                match select(pin!(self.next()), silence.as_mut()).await {
                    Either::Left((arrived, _)) => Some(arrived),
                    Either::Right(((), _)) => None,
                }
            };
            let Some(arrived) = arrived else {
                self.retry()?;
                continue;
            };
            match arrived {
                Some((request, Ok(reply))) => {
                    if let Some(outcome) = self.apply(&request, &reply)? {
                        return Ok(outcome);
                    }
                }
                Some((_, Err(error))) => {
                    if !self.is_retried && !error.is_overloaded() {
                        self.retry()?;
                    }
                    failure = error;
                }
                None => return Ok(Outcome::Failed(failure)),
            }
        }
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
