//! Calls of the REST API.

use std::time::Duration;

use biolink::fetch_url::FetchPolicy;
use biolink::page::IdSource;
use biolink::pages_api::Reply;
use biolink::webhooks::{ATTEMPT_TIMEOUT_MS, DeliveryId, EndpointId};
use biolink::webhooks_api::{
    Delivery, DeliveryNumbers, DeliveryQuery, EndpointCall, EventQuery, Replay, WebhooksOperation,
    WebhooksRequest, delivery_unknown, event_unknown, new_test, replay_accepted, replay_of,
};
use shared::json;
use shared::problem::Problem;
use shared::request_id::RequestId;
use shared::response::Response;
use shared::time::UnixMillis;
use worker::{Delay, Result};

use super::append::eight;
use super::{State, Webhooks};
use crate::biolink::domains;
use crate::runtime::clock;

/// Deliveries that one replay makes, at most.
const MAX_REPLAY: u64 = 10_000;
/// Time between two looks for what a caller waits for, in milliseconds.
const LOOK_MS: u64 = 250;
/// The longest that the caller of a test waits for the receiver's response, in milliseconds.
///
/// Why: docs/decisions/webhooks.md, "A test waits for its receiver".
const TEST_WAIT_MS: u64 = ATTEMPT_TIMEOUT_MS + 2_000;

/// The outcome of a call: a refusal is one too.
type Outcome = std::result::Result<Response, Problem>;

impl Webhooks {
    /// Handles a call. Returns the reply as JSON.
    pub(super) async fn call(&self, request: &WebhooksRequest) -> Result<String> {
        let outcome = match &request.operation {
            WebhooksOperation::Events(query) => self.wait_for_events(query).await?,
            WebhooksOperation::Test(id, body) => self.test(request, id, body).await?,
            operation => {
                let url = operation.url().unwrap_or_default();
                // The host of the request too: the object's own settings may not name it.
                let policy = domains::fetch_policy(&self.env, &url).await.with_host(&request.host);
                self.run_call(request, operation, &policy)?
            }
        };
        // Before the reply, so that what happens after it is an event.
        self.announce().await?;
        if request.operation.sends() && outcome.is_ok() {
            self.wake(clock::now()).await?;
        }
        let reply = Reply::new(outcome, &RequestId(request.request_id));
        Ok(json::to_string(&reply)?)
    }

    fn run_call(
        &self,
        request: &WebhooksRequest,
        operation: &WebhooksOperation,
        policy: &FetchPolicy,
    ) -> Result<Outcome> {
        let now = clock::now();
        match operation {
            WebhooksOperation::Deliveries(id, query) => self.list_deliveries(id, query),
            WebhooksOperation::ReadDelivery(id, delivery) => self.read_delivery(id, delivery),
            WebhooksOperation::Retry(id, delivery) => self.retry(id, delivery, now),
            WebhooksOperation::Replay(id, body) => self.replay(request, id, body, now),
            WebhooksOperation::Stats(id) => self.stats(id),
            WebhooksOperation::ReadEvent(id) => {
                self.read(|_| Ok(()))?;
                let found = self.events.find(id)?;
                Ok(found.map(Response::json).ok_or_else(|| event_unknown(id)))
            }
            WebhooksOperation::Events(query) => self.list_events(query),
            _ => self.call_endpoints(request, policy, now),
        }
    }

    /// Handles a call about endpoints alone.
    fn call_endpoints(
        &self,
        request: &WebhooksRequest,
        policy: &FetchPolicy,
        now: UnixMillis,
    ) -> Result<Outcome> {
        let keys = self.encryption()?;
        let call = EndpointCall { request, policy, keys: &keys, now };
        self.change(|state| {
            let before = state.endpoints.subscriptions();
            let outcome = state.endpoints.handle(&call);
            // Stored in the same commit as the change, so that the account learns of it even after
            // a crash.
            if state.endpoints.subscriptions() != before {
                state.counters.unannounced = true;
                state.counters.account = Some(request.account);
            }
            if outcome.is_ok() {
                state.counters.base.clone_from(&request.base);
            }
            if let WebhooksOperation::Delete(id) = &request.operation
                && outcome.is_ok()
            {
                // Nothing is left to send to, and the rows would wait until they expire.
                self.deliveries.delete(id)?;
            }
            Ok(outcome)
        })
    }

    fn list_deliveries(&self, id: &EndpointId, query: &DeliveryQuery) -> Result<Outcome> {
        if let Err(unknown) = self.read(|state| Ok(state.endpoints.find(id).map(|_| ())))? {
            return Ok(Err(unknown));
        }
        let found = self.deliveries.list(id, query)?;
        Ok(Ok(query.render(found, self.probe(id)?, |sequences| self.events.ids(sequences))?))
    }

    /// Returns the moment before which an endpoint gets nothing but tests.
    fn probe(&self, id: &EndpointId) -> Result<Option<UnixMillis>> {
        self.read(|state| Ok(state.endpoints.find(id).ok().and_then(|found| found.health.next_probe())))
    }

    fn read_delivery(&self, id: &EndpointId, delivery: &DeliveryId) -> Result<Outcome> {
        Ok(match self.find_delivery(id, delivery)? {
            Ok(found) => {
                let ids = self.events.ids(&found.events)?;
                Ok(Response::json(found.describe(&ids, self.probe(id)?).to_string()))
            }
            Err(unknown) => Err(unknown),
        })
    }

    /// Has a delivery sent again.
    fn retry(&self, id: &EndpointId, delivery: &DeliveryId, now: UnixMillis) -> Result<Outcome> {
        let mut delivery = match self.find_delivery(id, delivery)? {
            Ok(found) => found,
            Err(unknown) => return Ok(Err(unknown)),
        };
        delivery.restart(now);
        self.deliveries.store(&delivery)?;
        Ok(Ok(delivery.accepted(&self.events.ids(&delivery.events)?, self.probe(id)?)))
    }

    /// Sends a test, and waits for its attempt.
    async fn test(&self, request: &WebhooksRequest, id: &EndpointId, body: &str) -> Result<Outcome> {
        let now = clock::now();
        let mut ids = id_source(request);
        let delivery = self.change(|state| {
            let mut numbers =
                DeliveryNumbers { last: &mut state.counters.delivery, draw: || eight(&mut ids) };
            let endpoint = match state.endpoints.find(id) {
                Ok(endpoint) => endpoint,
                Err(unknown) => return Ok(Err(unknown)),
            };
            Ok(new_test(endpoint, body, &mut numbers, now))
        })?;
        let delivery = match delivery {
            Ok(delivery) => delivery,
            Err(refused) => return Ok(Err(refused)),
        };
        self.deliveries.store(&delivery)?;
        self.wake(now).await?;
        let delivery = self.wait_for_attempt(delivery, now.plus(TEST_WAIT_MS)).await?;
        Ok(Ok(delivery.accepted(&[], self.probe(id)?)))
    }

    /// Returns a delivery as soon as it has an attempt, or as it is at this moment.
    async fn wait_for_attempt(&self, mut delivery: Delivery, until: UnixMillis) -> Result<Delivery> {
        while delivery.attempts.is_empty() && clock::now() < until {
            Delay::from(Duration::from_millis(LOOK_MS)).await;
            let Some(found) = self.deliveries.find(&delivery.endpoint, delivery.id.number())? else { break };
            delivery = found;
        }
        Ok(delivery)
    }

    /// Has events of a span of time sent again.
    fn replay(
        &self,
        request: &WebhooksRequest,
        id: &EndpointId,
        body: &str,
        now: UnixMillis,
    ) -> Result<Outcome> {
        let replay = match Replay::read(body.as_bytes(), now) {
            Ok(replay) => replay,
            Err(refused) => return Ok(Err(refused)),
        };
        let mut ids = id_source(request);
        // In one step with the counters: numbers of deliveries must not be given twice.
        let count = self.change(|state| {
            if let Err(unknown) = state.endpoints.find(id) {
                return Ok(Err(unknown));
            }
            let again = match replay.only_failed {
                true => self.failed(id, &replay, now)?,
                false => self.logged(state, id, &replay, &mut ids, now)?,
            };
            again.iter().try_for_each(|delivery| self.deliveries.store(delivery))?;
            Ok(Ok(again.len()))
        })?;
        Ok(count.map(replay_accepted))
    }

    /// Returns failed deliveries, to be sent again.
    fn failed(&self, id: &EndpointId, replay: &Replay, now: UnixMillis) -> Result<Vec<Delivery>> {
        let mut failed = self.deliveries.failed(id, replay.since, replay.until, MAX_REPLAY)?;
        // A test has no event, and its sender no longer waits for it.
        failed.retain(|delivery| !delivery.is_test());
        failed.iter_mut().for_each(|delivery| delivery.restart(now));
        Ok(failed)
    }

    /// Returns new deliveries of events in the log that the endpoint wants.
    fn logged(
        &self,
        state: &mut State,
        id: &EndpointId,
        replay: &Replay,
        ids: &mut IdSource,
        now: UnixMillis,
    ) -> Result<Vec<Delivery>> {
        let events = self.events.span(replay.since, replay.until, MAX_REPLAY)?;
        let mut numbers = DeliveryNumbers { last: &mut state.counters.delivery, draw: || eight(ids) };
        Ok(state
            .endpoints
            .find(id)
            .map_or_else(|_| Vec::new(), |endpoint| replay_of(endpoint, &events, &mut numbers, now)))
    }

    fn stats(&self, id: &EndpointId) -> Result<Outcome> {
        let (visits, publications) = self.read(|_| self.deliveries.waiting(id))?;
        let waiting = visits.saturating_add(publications);
        self.read(|state| {
            let endpoint = state.endpoints.find(id);
            Ok(endpoint.map(|endpoint| {
                Response::json(endpoint.describe_statistics(waiting, state.endpoints.lost()).to_string())
            }))
        })
    }

    /// Returns events as soon as there are any, or nothing after the time that the reader waits.
    async fn wait_for_events(&self, query: &EventQuery) -> Result<Outcome> {
        let until = clock::now().plus(query.wait.saturating_mul(1_000));
        let mut seen = None;
        loop {
            // The table is read only if something was added. Rows that are read cost money, four
            // times a second.
            let last = self.read(|state| Ok(state.counters.sequence))?;
            if seen.replace(last) != Some(last) && !self.events.list(query)?.is_empty() {
                break;
            }
            if until <= clock::now() {
                break;
            }
            Delay::from(Duration::from_millis(LOOK_MS)).await;
        }
        self.list_events(query)
    }

    fn list_events(&self, query: &EventQuery) -> Result<Outcome> {
        self.read(|_| Ok(()))?;
        let found = self.events.list(query)?;
        Ok(Ok(query.render(found, self.events.oldest()?)))
    }

    fn find_delivery(
        &self,
        id: &EndpointId,
        delivery: &DeliveryId,
    ) -> Result<std::result::Result<Delivery, Problem>> {
        if let Err(unknown) = self.read(|state| Ok(state.endpoints.find(id).map(|_| ())))? {
            return Ok(Err(unknown));
        }
        // The number alone would find a delivery by an id that was never given.
        let found = self.deliveries.find(id, delivery.number())?.filter(|found| found.id == *delivery);
        Ok(found.ok_or_else(|| delivery_unknown(delivery)))
    }

    /// Returns a line of the export for each endpoint, without its secrets.
    pub(super) fn export(&self) -> Result<String> {
        self.read(|state| {
            let lines = state.endpoints.describe_each(clock::now()).map(|line| format!("{line}\n"));
            Ok(json::to_string(&lines.collect::<String>())?)
        })
    }
}

fn id_source(request: &WebhooksRequest) -> IdSource {
    IdSource::new(request.seed.first_chunk().copied().unwrap_or_default())
}
