//! The endpoints of an account.

use std::{collections::BTreeMap, mem};

use crate::codes;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use shared::{idempotency::KEEP_MS, problem::Problem, response::Response, secret::sha256, time::UnixMillis};

use super::{
    message::WebhooksRequest,
    operation::WebhooksOperation,
    problems::{secret_unreadable, webhook_changed, webhook_limit_reached, webhook_unknown},
};
use crate::{
    fetch_url::FetchPolicy,
    page::PageId,
    pages_api::{Once, idempotency_key_reused},
    webhooks::{
        EncryptionKeys, Endpoint, EndpointId, EndpointInput, MAX_ENDPOINTS, Nonce, RotationInput,
        Subscriptions, WebhookKind, WebhookSecret,
    },
};

/// `Idempotency-Key`s that are remembered, at most. The oldest give way.
const MAX_CREATED: usize = 100;

/// The endpoints of an account, the oldest first.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Endpoints {
    list: Vec<Endpoint>,
    created: Vec<CreatedOnce>,
    /// Events that stores have dropped on their way here.
    lost: u64,
}

/// An endpoint that was created with an `Idempotency-Key`. A retry gets the response again, which is
/// not stored because it has the secret. So it is made anew, and only while it would be the same: whoever may
/// create a webhook need not be allowed the secret of a later rotation, or headers that were set since.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct CreatedOnce {
    once: Once,
    at: UnixMillis,
    endpoint: EndpointId,
}

/// A call about endpoints alone.
#[derive(Clone, Copy, Debug)]
pub struct EndpointCall<'a> {
    /// The call.
    pub request: &'a WebhooksRequest,
    /// The URLs that an endpoint may have.
    pub policy: &'a FetchPolicy,
    /// Encrypts secrets at rest.
    pub keys: &'a EncryptionKeys,
    /// The moment of the call.
    pub now: UnixMillis,
}

impl Endpoints {
    /// Handles a call.
    ///
    /// # Errors
    /// Those of the operation.
    pub fn handle(&mut self, call: &EndpointCall<'_>) -> Result<Response, Problem> {
        match &call.request.operation {
            WebhooksOperation::List => {
                let data: Vec<Value> = self.describe_each(call.now).collect();
                Ok(Response::json(json!({ "object": "list", "data": data }).to_string()))
            }
            WebhooksOperation::Create(body) => self.create(call, body),
            WebhooksOperation::Read(id) => Ok(shown(200, &self.find(id)?.describe(call.now))),
            WebhooksOperation::Patch(id, body) => self.patch(call, id, body),
            WebhooksOperation::Delete(id) => {
                self.find(id)?;
                self.list.retain(|endpoint| endpoint.id != *id);
                Ok(Response::no_content())
            }
            WebhooksOperation::ReadSecret(id) => {
                let endpoint = self.find(id)?;
                let secret = current_secret(call, endpoint)?;
                Ok(shown(200, &endpoint.describe_secret(&secret, call.now)))
            }
            WebhooksOperation::RotateSecret(id, body) => self.rotate(call, id, body),
            WebhooksOperation::Test(..)
            | WebhooksOperation::Deliveries(..)
            | WebhooksOperation::ReadDelivery(..)
            | WebhooksOperation::Retry(..)
            | WebhooksOperation::Replay(..)
            | WebhooksOperation::Stats(_)
            | WebhooksOperation::Events(_)
            | WebhooksOperation::ReadEvent(_) => {
                Err(Problem::new(codes::INTERNAL, "the call is not about endpoints alone"))
            }
        }
    }

    /// Returns an endpoint.
    ///
    /// # Errors
    /// `webhook-unknown`.
    pub fn find(&self, id: &EndpointId) -> Result<&Endpoint, Problem> {
        self.list.iter().find(|endpoint| endpoint.id == *id).ok_or_else(|| webhook_unknown(id))
    }

    /// Returns an endpoint, to change it; `None` if there is none.
    pub fn find_mut(&mut self, id: &EndpointId) -> Option<&mut Endpoint> {
        self.list.iter_mut().find(|endpoint| endpoint.id == *id)
    }

    /// Returns those that get requests.
    pub fn receivers(&self) -> impl Iterator<Item = &Endpoint> {
        self.list.iter().filter(|endpoint| endpoint.is_receiver())
    }

    /// Returns those that get events, to change them.
    pub fn active_mut(&mut self) -> impl Iterator<Item = &mut Endpoint> {
        self.list.iter_mut().filter(|endpoint| endpoint.is_active())
    }

    /// Returns true if there is none.
    pub const fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// Returns true if any wants events of this kind and page. An alert has no page.
    pub fn want(&self, kind: WebhookKind, page: Option<&PageId>) -> bool {
        self.list.iter().any(|endpoint| endpoint.wants(kind, page))
    }

    /// Returns what they want.
    pub fn subscriptions(&self) -> Subscriptions {
        self.list.iter().filter_map(Endpoint::subscription).collect()
    }

    /// Counts events that a store has dropped on their way here.
    pub const fn note_lost(&mut self, events: u64) {
        self.lost = self.lost.saturating_add(events);
    }

    /// Returns events that stores have dropped on their way here.
    pub const fn lost(&self) -> u64 {
        self.lost
    }

    /// Returns each as the API shows it, without secrets.
    pub fn describe_each(&self, now: UnixMillis) -> impl Iterator<Item = Value> {
        self.list.iter().map(move |endpoint| endpoint.describe(now))
    }

    fn create(&mut self, call: &EndpointCall<'_>, body: &str) -> Result<Response, Problem> {
        // First: the limit below must not refuse a retry of what was created.
        if let Some(response) = self.replay(call)? {
            return Ok(response);
        }
        let mut input = EndpointInput::create(body.as_bytes(), call.policy, &call.request.pages)?;
        if self.list.len() >= MAX_ENDPOINTS {
            return Err(webhook_limit_reached());
        }
        let drawn = Drawn::new(&call.request.seed);
        let id = EndpointId::new(drawn.bytes("id"));
        let secret = input.secret.take().unwrap_or_else(|| WebhookSecret::generate(drawn.bytes("secret")));
        let nonce: Nonce = drawn.bytes("nonce");
        let sealed = call.keys.seal(&secret, &owner(call), &nonce);
        let headers = mem::take(&mut input.headers);
        let mut endpoint = Endpoint::new(id, input, sealed, call.now);
        endpoint.seal_headers(headers.clone(), call.keys, &owner(call), &drawn.bytes("headers"));
        if call.request.dry_run {
            return Ok(shown(200, &endpoint.describe_created(&headers, None, call.now)));
        }
        let response = created(&endpoint, &headers, &secret, call.now);
        self.list.push(endpoint);
        if let Some(once) = &call.request.once {
            self.created.push(CreatedOnce { once: once.clone(), at: call.now, endpoint: id });
            let surplus = self.created.len().saturating_sub(MAX_CREATED);
            self.created.drain(..surplus);
        }
        Ok(response)
    }

    /// Returns the response to a call that was made before under the same `Idempotency-Key`.
    fn replay(&mut self, call: &EndpointCall<'_>) -> Result<Option<Response>, Problem> {
        self.created.retain(|created| call.now.since(created.at) < KEEP_MS);
        let Some(once) = &call.request.once else { return Ok(None) };
        let Some(known) = self.created.iter().find(|created| created.once.name == once.name) else {
            return Ok(None);
        };
        // Another request under the same key is a mistake of the client, and no retry.
        if known.once.fingerprint != once.fingerprint {
            return Err(idempotency_key_reused());
        }
        let endpoint = self.find(&known.endpoint)?;
        if !endpoint.is_as_created() {
            return Err(webhook_changed(&endpoint.id));
        }
        let response =
            created(endpoint, &headers(call, endpoint)?, &current_secret(call, endpoint)?, call.now);
        Ok(Some(response.with_headers([("idempotency-replayed", "true")])))
    }

    fn patch(&mut self, call: &EndpointCall<'_>, id: &EndpointId, body: &str) -> Result<Response, Problem> {
        let endpoint = self.find_mut(id).ok_or_else(|| webhook_unknown(id))?;
        let before = headers(call, endpoint)?;
        // On a copy, because a dry run must answer with the change and leave the endpoint as it is.
        let mut changed = endpoint.clone();
        let mut input =
            EndpointInput::patch(&changed, &before, body.as_bytes(), call.policy, &call.request.pages)?;
        let after = mem::take(&mut input.headers);
        // The values of the others stay unknown to whoever may change a webhook.
        let mut set = BTreeMap::new();
        for (name, value) in after.iter().filter(|(name, value)| before.get(*name) != Some(*value)) {
            set.insert(name.clone(), value.clone());
        }
        changed.update(input, call.now);
        let nonce = Drawn::new(&call.request.seed).bytes("headers");
        changed.seal_headers(after.clone(), call.keys, &owner(call), &nonce);
        let response = shown(
            200,
            &match after == before {
                true => changed.describe(call.now),
                false => changed.describe_with_headers(&set, call.now),
            },
        );
        if !call.request.dry_run {
            *endpoint = changed;
        }
        Ok(response)
    }

    fn rotate(&mut self, call: &EndpointCall<'_>, id: &EndpointId, body: &str) -> Result<Response, Problem> {
        let endpoint = self.find_mut(id).ok_or_else(|| webhook_unknown(id))?;
        let input = RotationInput::read(body.as_bytes())?;
        let drawn = Drawn::new(&call.request.seed);
        let secret = input.secret.unwrap_or_else(|| WebhookSecret::generate(drawn.bytes("secret")));
        let nonce: Nonce = drawn.bytes("nonce");
        let sealed = call.keys.seal(&secret, &owner(call), &nonce);
        endpoint.rotate(sealed, input.grace_s, call.now)?;
        Ok(shown(200, &endpoint.describe_secret(&secret, call.now)))
    }
}

/// Random bytes of a call, by name.
struct Drawn<'a>(&'a [u8; 32]);

impl<'a> Drawn<'a> {
    const fn new(seed: &'a [u8; 32]) -> Self {
        Self(seed)
    }

    fn bytes<const N: usize>(&self, name: &str) -> [u8; N] {
        // By name, so that the id, which is public, says nothing of the secret of the same seed.
        let digest = sha256(&[b"utg.webhooks.v1", self.0, name.as_bytes()]);
        digest.first_chunk().copied().unwrap_or([0; N])
    }
}

/// Returns the owner of an account's secrets.
fn owner(call: &EndpointCall<'_>) -> String {
    call.request.account.to_string()
}

fn current_secret(call: &EndpointCall<'_>, endpoint: &Endpoint) -> Result<WebhookSecret, Problem> {
    let sealed = endpoint.live_secrets(call.now).next().ok_or_else(secret_unreadable)?;
    call.keys.unseal(sealed, &owner(call)).map_err(|_| secret_unreadable())
}

fn headers(call: &EndpointCall<'_>, endpoint: &Endpoint) -> Result<BTreeMap<String, String>, Problem> {
    endpoint.unseal_headers(call.keys, &owner(call)).map_err(|_| secret_unreadable())
}

fn created(
    endpoint: &Endpoint,
    headers: &BTreeMap<String, String>,
    secret: &WebhookSecret,
    now: UnixMillis,
) -> Response {
    let path = format!("/webhooks/{}", endpoint.id);
    shown(201, &endpoint.describe_created(headers, Some(secret), now)).with_headers([("location", path)])
}

fn shown(status: u16, body: &Value) -> Response {
    Response { status, ..Response::json(body.to_string()) }
}
