//! The alarm: sends what is due, and retries.

use std::collections::BTreeMap;
use std::pin::pin;
use std::time::Duration;

use biolink::fetch_url::FetchUrl;
use biolink::page::IdSource;
use biolink::pages_api::AccountMessage;
use biolink::webhooks::{
    ATTEMPT_TIMEOUT_MS, AlertEvent, AttemptResult, Endpoint, EndpointChange, MAX_EXCERPT, UnsealError,
    WebhookSecret, render_batch, retry_after_ms,
};
use biolink::webhooks_api::{Delivery, DeliveryState, EndedAttempt, request_headers};
use futures_util::StreamExt;
use futures_util::future::select;
use futures_util::stream::FuturesUnordered;
use shared::json;
use shared::time::UnixMillis;
use worker::{Delay, Result};

use super::{RETRY_MS, Webhooks};
use crate::bindings;
use crate::biolink::domains;
use crate::biolink::guarded_fetch::{self, BodyLimit, GuardedFetchError, GuardedRequest};
use crate::runtime::{clock, durable_rpc, entropy, log};

/// Concurrent requests, to all endpoints together. The platform holds back the seventh of an object.
const MAX_REQUESTS: usize = 6;
/// Time after which a run looks for what has become due while requests are in flight, in
/// milliseconds.
const TICK_MS: u64 = 250;
/// Time after which a run ends, in milliseconds. An alarm may take a quarter of an hour.
const MAX_RUN_MS: u64 = 600_000;
/// Time for which events and deliveries are kept, in milliseconds: 30 days.
const KEEP_MS: u64 = 30 * 86_400_000;
const DAY_MS: u64 = 86_400_000;
/// Timeout of the message to the account, in milliseconds.
const ACCOUNT_TIMEOUT_MS: u64 = 3_000;

fn may_attempt(endpoint: &Endpoint, now: UnixMillis, in_flight: usize) -> bool {
    endpoint.health.may_attempt(now, u32::try_from(in_flight).unwrap_or(u32::MAX))
}

impl Webhooks {
    /// Sends until nothing is due. Returns the moment at which something will be.
    pub(super) async fn run(&self) -> Result<Option<UnixMillis>> {
        // A run that was cut off leaves its deliveries marked, and nothing would ever send them.
        self.in_flight.take();
        self.expire()?;
        self.announce().await?;
        let (until, mut attempts) = (clock::now().plus(MAX_RUN_MS), FuturesUnordered::new());
        loop {
            // Past this, only what is in flight is awaited: the platform would kill the alarm in
            // the middle.
            if clock::now() < until {
                attempts
                    .extend(self.take(clock::now())?.into_iter().map(|(to, what)| self.attempt(to, what)));
            }
            if attempts.is_empty() {
                return self.next_due();
            }
            select(attempts.next(), pin!(Delay::from(Duration::from_millis(TICK_MS)))).await;
        }
    }

    /// Returns deliveries that may be sent now, each with its endpoint.
    fn take(&self, now: UnixMillis) -> Result<Vec<(Endpoint, Delivery)>> {
        let endpoints = self.read(|state| Ok(state.endpoints.clone()))?;
        // Without a share, one endpoint that hangs would hold all six requests, and the others
        // would wait.
        let share = (MAX_REQUESTS / endpoints.receivers().count().max(1)).max(1);
        let mut taken = Vec::new();
        for endpoint in endpoints.receivers() {
            let mut in_flight = self.in_flight.borrow_mut();
            // Those in flight are still in the table.
            let limit = share.saturating_add(in_flight.of(&endpoint.id));
            let only_tests = !may_attempt(endpoint, now, in_flight.of(&endpoint.id));
            for mut delivery in self.deliveries.due(&endpoint.id, only_tests, now, limit)? {
                let count = in_flight.of(&endpoint.id);
                let may_begin = delivery.is_test() || may_attempt(endpoint, now, count);
                if in_flight.total() >= MAX_REQUESTS
                    || count >= share
                    || !may_begin
                    || !in_flight.begin(&delivery)
                {
                    continue;
                }
                // From here on it takes no more events: they would change a body that was signed.
                if delivery.state == DeliveryState::Collecting {
                    delivery.state = DeliveryState::Pending;
                    self.deliveries.store(&delivery)?;
                }
                taken.push((endpoint.clone(), delivery));
            }
        }
        Ok(taken)
    }

    /// Makes an attempt, and takes in how it ended.
    async fn attempt(&self, endpoint: Endpoint, delivery: Delivery) {
        let at = clock::now();
        let (result, response) = match self.body(&delivery) {
            Ok(None) => (None, None),
            Ok(Some(body)) => {
                let (result, response) = self.post(&endpoint, &delivery, &body, at).await;
                (Some(result), response)
            }
            Err(error) => {
                log::error(
                    log::Event("delivery not read"),
                    None,
                    &[("delivery", &delivery.id), ("error", &error)],
                );
                // Counted as a failed attempt, so that it has an end.
                (Some(AttemptResult::ConnectionFailed), None)
            }
        };
        // Before `record`, whose failure must not leave it marked.
        self.in_flight.borrow_mut().end(&delivery);
        if let Err(error) = self.record(&delivery, EndedAttempt { at, result, response }) {
            self.state.forget();
            log::error(
                log::Event("delivery not recorded"),
                None,
                &[("delivery", &delivery.id), ("error", &error)],
            );
        }
    }

    /// Returns the body of a delivery; `None` if its events are gone.
    fn body(&self, delivery: &Delivery) -> Result<Option<String>> {
        if let Some(test) = &delivery.test {
            return Ok(Some(test.clone()));
        }
        let bodies = self.events.bodies(&delivery.events)?;
        Ok(match delivery.batch() {
            _ if bodies.is_empty() => None,
            Some(id) => Some(render_batch(id, delivery.created_at, bodies.iter().map(String::as_str))),
            None => bodies.into_iter().next(),
        })
    }

    async fn post(
        &self,
        endpoint: &Endpoint,
        delivery: &Delivery,
        body: &str,
        at: UnixMillis,
    ) -> (AttemptResult, Option<String>) {
        // The policy may be stricter than on the day on which the URL was stored.
        let refused = (AttemptResult::AddressRefused, None);
        let Some(url) = &endpoint.url else { return refused };
        let Ok(url) = FetchUrl::parse(url, &domains::fetch_policy(&self.env, url).await) else {
            return refused;
        };
        let (secrets, added) = match self.secrets(endpoint, at) {
            Ok(secrets) => secrets,
            Err(error) => {
                log::error(
                    log::Event("webhook secret unreadable"),
                    None,
                    &[("webhook", &endpoint.id), ("error", &error)],
                );
                return (AttemptResult::ConnectionFailed, None);
            }
        };
        let headers = request_headers(added, delivery, body.as_bytes(), &secrets, at);
        let headers: Vec<_> = headers.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        let request = GuardedRequest {
            method: "POST",
            url: &url,
            headers: &headers,
            body: Some(body.as_bytes()),
            timeout_ms: ATTEMPT_TIMEOUT_MS,
            limit: BodyLimit::Excerpt(MAX_EXCERPT),
        };
        match guarded_fetch::send(&request).await {
            Ok(response) => {
                let wait = response.header("retry-after");
                let retry_after_ms = wait.and_then(|wait| retry_after_ms(&wait, clock::now()));
                let excerpt = String::from_utf8_lossy(&response.body).into_owned();
                (AttemptResult::Response { status: response.status, retry_after_ms }, Some(excerpt))
            }
            Err(GuardedFetchError::TimedOut { .. }) => (AttemptResult::TimedOut, None),
            Err(GuardedFetchError::Connection { .. } | GuardedFetchError::BodyTooLarge { .. }) => {
                (AttemptResult::ConnectionFailed, None)
            }
        }
    }

    /// Returns the secrets that sign now, and the headers that the owner adds.
    fn secrets(
        &self,
        endpoint: &Endpoint,
        now: UnixMillis,
    ) -> Result<(Vec<WebhookSecret>, BTreeMap<String, String>)> {
        let keys = self.encryption()?;
        let owner = self.read(|state| Ok(state.counters.account))?;
        let owner = owner.map(|account| account.to_string()).unwrap_or_default();
        let unseal = || -> std::result::Result<_, UnsealError> {
            let secrets = endpoint.live_secrets(now).map(|sealed| keys.unseal(sealed, &owner));
            Ok((secrets.collect::<std::result::Result<_, _>>()?, endpoint.unseal_headers(&keys, &owner)?))
        };
        unseal().map_err(|error| error.to_string().into())
    }

    /// Stores how an attempt ended.
    fn record(&self, delivery: &Delivery, ended: EndedAttempt) -> Result<()> {
        let (now, drawn) = (clock::now(), u64::from_be_bytes(entropy::random()?));
        let mut ids = IdSource::new(entropy::random()?);
        let disabled = self.change(|state| {
            // Read again: the owner may have asked for a retry during the request.
            let found = self.deliveries.find(&delivery.endpoint, delivery.id.number())?;
            let endpoint = state.endpoints.find_mut(&delivery.endpoint);
            // Either may have been deleted meanwhile.
            let (Some(mut delivery), Some(endpoint)) = (found, endpoint) else { return Ok(false) };
            let change = delivery.record(endpoint, ended, drawn, now);
            self.deliveries.store(&delivery)?;
            if change == EndpointChange::Recovered {
                // What has waited would otherwise keep the long waits of the outage.
                self.deliveries.bring_forward(&endpoint.id, now)?;
            }
            if matches!(change, EndpointChange::Failing | EndpointChange::Disabled(_)) {
                let alert = AlertEvent::of_endpoint(endpoint, now);
                self.raise_alert(state, &alert, &mut ids)?;
            }
            Ok(matches!(change, EndpointChange::Disabled(_)))
        })?;
        if disabled {
            self.change(|state| {
                state.counters.unannounced = true;
                Ok(())
            })?;
        }
        Ok(())
    }

    /// Returns the moment at which something is to be done.
    fn next_due(&self) -> Result<Option<UnixMillis>> {
        let (endpoints, expires_at, unannounced) = self.read(|state| {
            let counters = &state.counters;
            Ok((state.endpoints.clone(), counters.expires_at, counters.unannounced))
        })?;
        // Events outlive the endpoints that wanted them, and must be dropped in time even so.
        let has_rows = !endpoints.is_empty() || self.events.oldest()?.is_some();
        let mut next = has_rows.then_some(expires_at);
        let mut add = |at: UnixMillis| next = Some(next.map_or(at, |next| next.min(at)));
        for endpoint in endpoints.receivers() {
            if let Some(due) = self.deliveries.next_due(&endpoint.id)? {
                // While the circuit is open nothing is sent before the probe. An alarm at `due`
                // would spin.
                add(endpoint.health.next_probe().map_or(due, |probe| due.max(probe)));
            }
        }
        if unannounced {
            add(clock::now().plus(RETRY_MS));
        }
        Ok(next)
    }

    /// Drops what is too old, once a day.
    fn expire(&self) -> Result<()> {
        let now = clock::now();
        if now < self.read(|state| Ok(state.counters.expires_at))? {
            return Ok(());
        }
        self.events.expire(now.minus(KEEP_MS))?;
        self.deliveries.expire(now.minus(KEEP_MS))?;
        self.alerts.expire(now.minus(KEEP_MS))?;
        self.change(|state| {
            state.counters.expires_at = now.plus(DAY_MS);
            Ok(())
        })
    }

    /// Sends the account which events are wanted, if it does not know yet. A failure is tried again.
    pub(super) async fn announce(&self) -> Result<()> {
        let (wanted, account) = self.read(|state| {
            let wanted = state.counters.unannounced.then(|| state.endpoints.subscriptions());
            Ok((wanted, state.counters.account))
        })?;
        let (Some(subscriptions), Some(account)) = (wanted, account) else { return Ok(()) };
        let message =
            json::to_string(&AccountMessage::Subscribe { account, subscriptions: subscriptions.clone() })?;
        let (accounts, name) = (bindings::accounts(&self.env)?, account.to_string());
        let reply = durable_rpc::call(&accounts, &name, &message);
        match durable_rpc::timeout(ACCOUNT_TIMEOUT_MS, reply).await {
            Ok(_) => self.change(|state| {
                // Another change may have come meanwhile.
                state.counters.unannounced = state.endpoints.subscriptions() != subscriptions;
                Ok(())
            }),
            Err(error) => {
                log::error(log::Event("account does not know of webhooks"), None, &[("error", &error)]);
                Ok(())
            }
        }
    }
}
