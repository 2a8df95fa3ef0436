//! Endpoints as the API shows them.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};
use shared::time::UnixMillis;

use super::Endpoint;
use crate::webhooks::{WebhookKind, WebhookSecret};

/// Returns what an owner may write of an endpoint, but for its headers: what a `PATCH` is merged into.
pub(super) fn writable(endpoint: &Endpoint) -> Map<String, Value> {
    let mut members = Map::new();
    let mut add = |name: &str, value: Value| members.insert(name.to_owned(), value);
    add("url", endpoint.url.as_deref().into());
    add("description", endpoint.description.as_str().into());
    add("events", endpoint.kinds.iter().map(|kind| kind.as_str()).collect());
    let pages = endpoint.pages.as_ref();
    add("page_ids", pages.map_or(Value::Null, |pages| pages.iter().map(ToString::to_string).collect()));
    add("enabled", endpoint.is_active().into());
    add("mode", endpoint.mode.as_str().into());
    add("metadata", texts(&endpoint.metadata));
    members
}

pub(super) fn texts(texts: &BTreeMap<String, String>) -> Value {
    texts.iter().map(|(name, text)| (name.clone(), Value::from(text.as_str()))).collect::<Map<_, _>>().into()
}

fn moment(at: Option<UnixMillis>) -> Value {
    at.map_or(Value::Null, |at| at.to_rfc3339().into())
}

impl Endpoint {
    /// Returns the endpoint without its secrets.
    pub fn describe(&self, now: UnixMillis) -> Value {
        let mut members = Map::new();
        let mut add = |name: &str, value: Value| members.insert(name.to_owned(), value);
        let disabled = self.health.disabled;
        add("id", self.id.to_string().into());
        add("object", "webhook".into());
        add("status", if self.is_active() { "enabled" } else { "disabled" }.into());
        add("disabled_reason", disabled.map(|disabled| disabled.reason.as_str()).into());
        add("disabled_at", moment(disabled.map(|disabled| disabled.at)));
        add("health", self.describe_health(now));
        add("warnings", self.warnings(now).into());
        add("secret_expirations", self.secret_expirations(now));
        add("created_at", moment(Some(self.created_at)));
        add("updated_at", moment(Some(self.updated_at)));
        add("header_names", self.header_names().into());
        members.extend(writable(self));
        Value::Object(members)
    }

    /// Returns the endpoint with the values of its headers, as the response to a change that sets them
    /// has it.
    pub fn describe_with_headers(&self, headers: &BTreeMap<String, String>, now: UnixMillis) -> Value {
        let mut value = self.describe(now);
        if let Some(members) = value.as_object_mut() {
            members.insert("headers".to_owned(), texts(headers));
        }
        value
    }

    /// Returns the endpoint with the values of its headers and its current secret, as the response to its
    /// creation has it. A creation that is only tried has none.
    pub fn describe_created(
        &self,
        headers: &BTreeMap<String, String>,
        secret: Option<&WebhookSecret>,
        now: UnixMillis,
    ) -> Value {
        let mut value = self.describe_with_headers(headers, now);
        if let Some(members) = value.as_object_mut() {
            members.insert("secret".to_owned(), secret.map(WebhookSecret::reveal).into());
        }
        value
    }

    /// Returns the current secret, as `GET /webhooks/{id}/secret` and a rotation have it.
    pub fn describe_secret(&self, secret: &WebhookSecret, now: UnixMillis) -> Value {
        json!({ "object": "webhook_secret", "webhook_id": self.id.to_string(), "secret": secret.reveal(),
            "secret_expirations": self.secret_expirations(now) })
    }

    /// Returns the statistics. `pending` deliveries wait, and `lost` events of the account never became
    /// any, because stores had to drop them.
    pub fn describe_statistics(&self, pending: u64, lost: u64) -> Value {
        let statistics = &self.statistics;
        let counts = &statistics.dropped;
        let number = |kind: WebhookKind| (kind.as_str().to_owned(), Value::from(counts.of(kind)));
        let mut dropped: Map<_, _> = WebhookKind::ALL.into_iter().map(number).collect();
        dropped.insert("total".to_owned(), counts.total().into());
        json!({
            "object": "webhook_statistics",
            "webhook_id": self.id.to_string(),
            "delivered": statistics.delivered,
            "failed": statistics.failed,
            "pending": pending,
            "dropped": dropped,
            "lost": lost,
            "attempts": { "successful": statistics.successful_attempts, "failed": statistics.failed_attempts },
            "latency_ms": { "p50": statistics.percentile_ms(50), "p95": statistics.percentile_ms(95) },
            "last_success_at": moment(self.health.last_success_at),
            "consecutive_failures_since": moment(self.health.failing_since),
        })
    }

    fn describe_health(&self, now: UnixMillis) -> Value {
        let health = &self.health;
        json!({
            "consecutive_failures": health.consecutive_failures,
            "failing_since": moment(health.failing_since),
            "last_failure_at": moment(health.last_failure_at),
            "last_success_at": moment(health.last_success_at),
            "circuit": if health.is_open() { "open" } else { "closed" },
            "next_probe_at": moment(health.next_probe()),
            "failure_budget_used_percent": health.budget_percent(now),
        })
    }

    /// Returns the warnings that its owner must see: 50, 70, 90 or 100 percent of the failure budget.
    fn warnings(&self, now: UnixMillis) -> Vec<Value> {
        let Some(percent) = self.health.warning(now).filter(|_| self.is_active()) else { return Vec::new() };
        let until = moment(self.health.disabled_from());
        let detail = format!(
            "all attempts have failed since {}; {percent} % of the failure budget is used up, and the endpoint will be disabled",
            self.health.failing_since.map(UnixMillis::to_rfc3339).unwrap_or_default(),
        );
        vec![
            json!({ "code": "failure-budget", "percent": percent, "disabled_from": until, "detail": detail }),
        ]
    }

    /// Returns the moments from which replaced secrets do not sign any more.
    fn secret_expirations(&self, now: UnixMillis) -> Value {
        let live = self.secrets.iter().filter_map(|secret| secret.expires_at).filter(|until| now < *until);
        live.map(UnixMillis::to_rfc3339).collect()
    }
}
