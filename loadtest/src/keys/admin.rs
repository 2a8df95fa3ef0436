//! The key API of the gateway: issues keys for a run and revokes them at its end.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use hyper::Method;
use serde_json::{Map, Value, json};
use tokio::task::JoinSet;

use super::{KeysError, PickedKey};
use crate::clock;
use crate::http::{HttpClient, HttpError};
use crate::scenario::KeysSpec;

/// The requests that are sent to the key API concurrently.
const IN_FLIGHT: usize = 8;

/// Access to the key API.
pub(crate) struct KeyAdmin {
    client: HttpClient,
    secret: Arc<str>,
    /// The time after which keys expire by themselves, if they are never revoked.
    lifetime: Duration,
    issued: Mutex<Vec<String>>,
}

impl KeyAdmin {
    pub(crate) fn new(client: HttpClient, secret: String, lifetime: Duration) -> Self {
        Self { client, secret: secret.into(), lifetime, issued: Mutex::default() }
    }

    /// Issues the keys of a pool.
    pub(super) async fn issue(&self, spec: &KeysSpec) -> Result<Vec<String>, KeysError> {
        let body = self.issue_body(spec);
        let (mut keys, mut requests) = (Ok(Vec::new()), JoinSet::new());
        for _ in 0..spec.count {
            if requests.len() >= IN_FLIGHT {
                self.collect(&mut requests, &mut keys).await;
            }
            if keys.is_err() {
                break;
            }
            let (client, body) = (self.client.clone(), body.clone());
            requests
                .spawn(async move { client.send(Method::POST, "/v1/keys/issue", Some(&body), &[]).await });
        }
        // After a refusal too: a request in flight may still issue a key, which nobody would revoke.
        while !requests.is_empty() {
            self.collect(&mut requests, &mut keys).await;
        }
        keys
    }

    /// Adds the key of the request that ends next, or keeps the first fault.
    async fn collect(
        &self,
        requests: &mut JoinSet<Result<Value, HttpError>>,
        keys: &mut Result<Vec<String>, KeysError>,
    ) {
        match (self.issued_by(requests).await, keys) {
            (Ok(key), Ok(keys)) => keys.extend(key),
            (Err(error), keys @ Ok(_)) => *keys = Err(error),
            (_, Err(_)) => {}
        }
    }

    fn issue_body(&self, spec: &KeysSpec) -> Value {
        let name = format!("loadtest {}", spec.name);
        let lifetime = u64::try_from(self.lifetime.as_millis()).unwrap_or(u64::MAX);
        // A run that is killed revokes nothing. Its keys end by themselves.
        let expires_at = clock::rfc3339(clock::unix_millis().saturating_add(lifetime));
        let required = [
            ("email", json!("loadtest@example.com")),
            ("name", json!(name)),
            ("tier", json!(spec.tier)),
            ("expires_at", json!(expires_at)),
            ("admin_secret", json!(*self.secret)),
        ];
        let limits = spec.minute.map(|minute| ("limits", json!({ "minute": minute })));
        let plan = spec.biolink_plan.as_ref().map(|plan| ("biolink_plan", json!(plan)));
        let members = required.into_iter().chain(limits).chain(plan);
        members.map(|(name, value)| (name.to_owned(), value)).collect::<Map<_, _>>().into()
    }

    async fn issued_by(
        &self,
        requests: &mut JoinSet<Result<Value, HttpError>>,
    ) -> Result<Option<String>, KeysError> {
        // A task is only lost if it panicked; the caller then finds that a key is missing.
        let Some(Ok(response)) = requests.join_next().await else { return Ok(None) };
        let response = response?;
        let text = |name| response.get(name).and_then(Value::as_str).map(str::to_owned);
        let (Some(key), Some(id)) = (text("key"), text("id")) else {
            return Err(KeysError::NoKey("issuing a key"));
        };
        self.issued.lock().unwrap_or_else(PoisonError::into_inner).push(id);
        Ok(Some(key))
    }

    /// Revokes all issued keys. Returns the number of those that could not be revoked.
    pub(crate) async fn revoke_all(&self) -> usize {
        // Taken, so that a second call does not revoke them again.
        let issued = std::mem::take(&mut *self.issued.lock().unwrap_or_else(PoisonError::into_inner));
        let (mut requests, mut failed) = (JoinSet::new(), 0);
        for id in issued {
            if requests.len() >= IN_FLIGHT {
                failed += failures(&mut requests).await;
            }
            let (client, bearer) = (self.client.clone(), format!("Bearer {}", self.secret));
            requests.spawn(async move {
                let path = format!("/v1/keys/{id}/revoke");
                client.send(Method::POST, &path, None, &[("authorization", &bearer)]).await
            });
        }
        while !requests.is_empty() {
            failed += failures(&mut requests).await;
        }
        failed
    }

    /// Revokes the key that a client holds.
    pub(crate) async fn revoke_own(client: &HttpClient, key: &PickedKey) -> Result<(), HttpError> {
        let key = key.value.to_str().unwrap_or_default();
        client.send(Method::DELETE, "/v1/keys/me", None, &[("x-api-key", key)]).await.map(drop)
    }

    /// Rotates the key that a client holds, and returns the new one.
    pub(crate) async fn rotate_own(client: &HttpClient, key: &PickedKey) -> Result<String, KeysError> {
        let key = key.value.to_str().unwrap_or_default();
        let response = client.send(Method::POST, "/v1/keys/me/rotate", None, &[("x-api-key", key)]).await?;
        let new = response.get("key").and_then(Value::as_str);
        new.map(str::to_owned).ok_or(KeysError::NoKey("rotating a key"))
    }
}

/// Waits for a request. Returns 1 if it failed. A key that is revoked already is no failure.
async fn failures(requests: &mut JoinSet<Result<Value, HttpError>>) -> usize {
    match requests.join_next().await {
        Some(Ok(Ok(_))) | None => 0,
        // An event of the run may have revoked the key already.
        Some(Ok(Err(HttpError::Refused { status: 404 | 409, .. }))) => 0,
        Some(_) => 1,
    }
}
