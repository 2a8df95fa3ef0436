//! The examples of webhooks: calls of an account in memory that has one webhook with one delivery.

use biolink::fetch_url::FetchPolicy;
use biolink::page::PageId;
use biolink::route::{WebhooksCall, WebhooksEndpoint, WebhooksTarget};
use biolink::webhooks::{
    AttemptResult, BatchId, EncryptionKeys, EndpointId, EventHead, EventId, FinishedAttempt, NextStep,
    WebhookKind, describe_schema, render_batch, sample_events,
};
use biolink::webhooks_api::{
    Delivery, DeliveryAttempt, DeliveryNumbers, DeliveryQuery, EndedAttempt, EndpointCall, Endpoints,
    EventQuery, LoggedEvent, Replay, WebhooksOperation, WebhooksRequest, fan_out, new_test, replay_accepted,
};
use serde_json::{Value, json};
use shared::key::KeyId;
use shared::problem::Problem;
use shared::response::Response;

use super::{ACCOUNT, Exchange, NOW};
use crate::openapi::SERVER;

/// The sequence of the event that was delivered.
const SEQUENCE: u64 = 4_812;
/// Time from the first attempt to the next thing that happens, in milliseconds.
const DELAY_MS: u64 = 5_000;
/// Entropy that spreads the next attempt by nothing.
const NO_JITTER: u64 = 200;
const SEED: [u8; 32] = [0x5a; 32];
const ENTROPY: [u8; 8] = [0x5a; 8];

/// The ids in the examples of webhooks.
pub(in super::super) struct WebhookIds {
    pub(in super::super) webhook: String,
    pub(in super::super) delivery: String,
    pub(in super::super) event: String,
}

/// The webhooks of an account.
struct Hooks {
    endpoints: Endpoints,
    keys: EncryptionKeys,
    policy: FetchPolicy,
    webhook: EndpointId,
}

/// Returns the example of an endpoint: the call, in an account that has the webhook that
/// [`WebhooksEndpoint::Create`] makes.
pub(in super::super) fn webhooks(endpoint: WebhooksEndpoint) -> Exchange {
    let request = request(endpoint);
    let body = request.as_ref().map(ToString::to_string).unwrap_or_default();
    let hooks = match endpoint {
        WebhooksEndpoint::Create => Hooks::empty(),
        _ => Hooks::new(),
    };
    let response = hooks.and_then(|mut hooks| hooks.call(endpoint, body));
    let response = response.unwrap_or_else(|| Response { status: 500, ..Response::json(String::new()) });
    let mut body: Option<Value> = serde_json::from_str(&response.body).ok();
    if let (WebhooksEndpoint::Schema, Some(body)) = (endpoint, &mut body) {
        shorten(body);
    }
    Exchange { request, status: response.status, response: body }
}

/// Leaves the members of the schema that name no other schema: linters take a reference in an example
/// for one of the description.
fn shorten(body: &mut Value) {
    if let Some(schema) = body.get_mut("json_schema").and_then(Value::as_object_mut) {
        schema.retain(|name, member| name != "$schema" && !member.is_object());
    }
}

/// Returns the ids in the examples.
pub(in super::super) fn webhook_ids() -> WebhookIds {
    let mut hooks = Hooks::new();
    let delivery = hooks.as_mut().and_then(Hooks::delivery);
    WebhookIds {
        webhook: hooks.map(|hooks| hooks.webhook.to_string()).unwrap_or_default(),
        delivery: delivery.map(|delivery| delivery.id.to_string()).unwrap_or_default(),
        event: head().id.to_string(),
    }
}

/// Returns the body of a request to a receiver; `None` is a batch.
pub(in super::super) fn delivered(kind: Option<WebhookKind>) -> Value {
    let text = match kind {
        Some(kind) => head().render_sample(kind),
        None => {
            let next = EventHead { sequence: SEQUENCE + 1, page_sequence: 312, ..head() };
            let next = EventHead { id: EventId::numbered(SEQUENCE + 1, ENTROPY), ..next };
            let events =
                [head().render_sample(WebhookKind::PageView), next.render_sample(WebhookKind::Click)];
            render_batch(BatchId::numbered(7, ENTROPY), NOW, events.iter().map(String::as_str))
        }
    };
    serde_json::from_str(&text).unwrap_or_default()
}

fn head() -> EventHead {
    let id = EventId::numbered(SEQUENCE, ENTROPY);
    EventHead { id, at: NOW, is_test: false, sequence: SEQUENCE, page_sequence: 311 }
}

/// Returns the body of an endpoint's example.
fn request(endpoint: WebhooksEndpoint) -> Option<Value> {
    use WebhooksEndpoint as E;
    match endpoint {
        E::Create => Some(json!({
            "url": "https://hooks.example.com/biolink",
            "description": "CRM",
            "events": ["click", "page_published"],
            "headers": { "authorization": "Bearer 5f3a" },
        })),
        E::Patch => Some(json!({ "events": ["click", "qr_scan", "page_published"], "mode": "batch" })),
        E::RotateSecret => Some(json!({ "grace_period_seconds": 3_600 })),
        E::Test => Some(json!({ "type": "click" })),
        // A date would be too long ago one day.
        E::Replay => Some(json!({ "status": "all" })),
        E::List
        | E::Read
        | E::Delete
        | E::ReadSecret
        | E::Deliveries
        | E::ReadDelivery
        | E::Retry
        | E::Stats
        | E::Schema
        | E::Samples
        | E::Events
        | E::ReadEvent => None,
    }
}

impl Hooks {
    fn empty() -> Option<Self> {
        Some(Self {
            endpoints: Endpoints::default(),
            keys: EncryptionKeys::parse("an example of an encryption secret").ok()?,
            policy: FetchPolicy::new([], false),
            webhook: EndpointId::new([0; 12]),
        })
    }

    /// Returns the webhooks with one that was just created.
    fn new() -> Option<Self> {
        let mut hooks = Self::empty()?;
        let body = request(WebhooksEndpoint::Create)?.to_string();
        let created = hooks.handle(WebhooksOperation::Create(body)).ok()?;
        let created: Value = serde_json::from_str(&created.body).ok()?;
        hooks.webhook = EndpointId::parse(created.get("id")?.as_str()?)?;
        Some(hooks)
    }

    /// Does what the edge does with a call. A refusal is a response too.
    fn call(&mut self, endpoint: WebhooksEndpoint, body: String) -> Option<Response> {
        use WebhooksEndpoint as E;
        let event = |kind| (SEQUENCE, head().render_sample(kind));
        Some(match endpoint {
            E::Schema => Response::json(describe_schema(WebhookKind::Click)),
            E::Samples => Response::json(sample_events(Some(WebhookKind::Click))),
            E::Events => EventQuery::read(None).ok()?.render(vec![event(WebhookKind::Click)], Some(1)),
            E::ReadEvent => Response::json(event(WebhookKind::PagePublished).1),
            E::Deliveries => {
                let found = vec![self.delivery()?];
                let ids = |_: &[u64]| Ok::<_, Problem>(vec![head().id.to_string()]);
                DeliveryQuery::read(None).ok()?.render(found, None, ids).ok()?
            }
            E::ReadDelivery => {
                Response::json(self.delivery()?.describe(&[head().id.to_string()], None).to_string())
            }
            E::Retry => {
                let mut delivery = self.delivery()?;
                delivery.restart(NOW.plus(DELAY_MS));
                delivery.accepted(&[head().id.to_string()], None)
            }
            E::Test => {
                let (mut last, webhook) = (7, self.webhook);
                let mut numbers = DeliveryNumbers { last: &mut last, draw: || ENTROPY };
                let endpoint = self.endpoints.find(&webhook).ok()?;
                let mut test = new_test(endpoint, &body, &mut numbers, NOW).ok()?;
                let endpoint = self.endpoints.find_mut(&webhook)?;
                let result = Some(AttemptResult::Response { status: 204, retry_after_ms: None });
                let ended = EndedAttempt { at: NOW, result, response: Some(String::new()) };
                test.record(endpoint, ended, NO_JITTER, NOW.plus(87));
                test.accepted(&[], None)
            }
            E::Replay => {
                Replay::read(body.as_bytes(), NOW).ok()?;
                replay_accepted(3)
            }
            E::Stats => {
                let _failed = self.delivery()?;
                let endpoint = self.endpoints.find_mut(&self.webhook)?;
                let success = AttemptResult::Response { status: 204, retry_after_ms: None };
                endpoint.record_attempt(success, 87, NOW.plus(DELAY_MS));
                endpoint.statistics.delivered = 1;
                Response::json(endpoint.describe_statistics(0, 0).to_string())
            }
            _ => self.parsed(endpoint, body)?,
        })
    }

    /// Handles a call about endpoints alone.
    fn parsed(&mut self, endpoint: WebhooksEndpoint, body: String) -> Option<Response> {
        let target = match endpoint.path().contains("{webhook_id}") {
            true => WebhooksTarget::Endpoint(self.webhook),
            false => WebhooksTarget::Account,
        };
        let call = WebhooksCall { endpoint, target };
        let (operation, _) = WebhooksOperation::parse(&call, None, body.into_bytes()).ok()?;
        self.handle(operation).ok()
    }

    fn handle(&mut self, operation: WebhooksOperation) -> Result<Response, Problem> {
        let request = WebhooksRequest {
            account: KeyId::new(ACCOUNT),
            request_id: [0x5a; 16],
            seed: SEED,
            base: SERVER.to_owned(),
            host: String::new(),
            pages: vec![PageId::new([1; 12])],
            operation,
            dry_run: false,
            once: None,
        };
        // A change comes a minute after the creation.
        let now =
            if matches!(request.operation, WebhooksOperation::Patch(..)) { NOW.plus(60_000) } else { NOW };
        let call = EndpointCall { request: &request, policy: &self.policy, keys: &self.keys, now };
        self.endpoints.handle(&call)
    }

    /// Returns the delivery of a click that has failed once.
    fn delivery(&mut self) -> Option<Delivery> {
        let endpoint = self.endpoints.find_mut(&self.webhook)?;
        let (kind, page) = (WebhookKind::Click, Some(PageId::new([1; 12])));
        let event = LoggedEvent { id: head().id, page, kind, bytes: head().render_sample(kind).len() };
        let mut last = 6;
        let mut numbers = DeliveryNumbers { last: &mut last, draw: || ENTROPY };
        let mut delivery = fan_out(endpoint, &[event], None, 0, &mut numbers, NOW).into_iter().next()?;
        let result = AttemptResult::Response { status: 503, retry_after_ms: None };
        let error = result.error().map(str::to_owned);
        let response = Some("upstream is restarting".to_owned());
        delivery.add_attempt(DeliveryAttempt {
            at: NOW,
            status: result.status(),
            duration_ms: 412,
            error,
            response,
        });
        endpoint.record_attempt(result, 412, NOW);
        let finished = FinishedAttempt { number: 1, first_at: NOW, ended_at: NOW, result };
        if let NextStep::RetryAt(due) = finished.next_step(NO_JITTER) {
            delivery.due = due;
        }
        Some(delivery)
    }
}
