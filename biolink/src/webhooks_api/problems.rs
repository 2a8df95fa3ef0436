//! The refusals of the webhooks API.

use crate::codes;
use shared::problem::Problem;

use crate::webhooks::{DeliveryId, EndpointId, EventId, MAX_ENDPOINTS};

/// Returns the refusal of a call while the account's webhooks do not respond.
pub fn webhooks_unavailable() -> Problem {
    let detail = "the store of webhooks does not respond; read it again before you repeat a change";
    Problem::new(codes::WEBHOOKS_UNAVAILABLE, detail).retry_after(1)
}

/// Returns the refusal of a delivery that the endpoint does not have.
pub fn delivery_unknown(id: &DeliveryId) -> Problem {
    let detail = format!("this webhook has no delivery {id}; deliveries are kept for 30 days");
    Problem::new(codes::DELIVERY_UNKNOWN, detail)
}

/// Returns the refusal of an event that the account does not have.
pub fn event_unknown(id: &EventId) -> Problem {
    let detail = format!("this account has no event {id}; events are kept for 30 days");
    Problem::new(codes::EVENT_UNKNOWN, detail)
}

/// Returns the refusal of a test of an endpoint that gets nothing.
pub(super) fn webhook_disabled() -> Problem {
    let detail = "the webhook is disabled; enable it first with PATCH and {\"enabled\": true}";
    Problem::new(codes::FIELDS_INVALID, detail)
}

/// Returns the refusal of a test of an endpoint without an address.
pub(super) fn webhook_without_url() -> Problem {
    let detail = "the webhook has no url, so nothing is sent; read its events with GET /events";
    Problem::new(codes::FIELDS_INVALID, detail)
}

pub(super) fn secret_unreadable() -> Problem {
    let detail = "the secret cannot be decrypted; rotate it, or ask the operator whether WEBHOOK_ENCRYPTION_SECRET was changed";
    Problem::new(codes::INTERNAL, detail)
}

pub(super) fn webhook_unknown(id: &EndpointId) -> Problem {
    Problem::new(codes::WEBHOOK_UNKNOWN, format!("this account has no webhook {id}"))
}

pub(super) fn webhook_changed(id: &EndpointId) -> Problem {
    let detail = format!(
        "the webhook {id}, which the first request created, was changed or its secret rotated since, so the response is not shown again; read it at /webhooks/{id}"
    );
    Problem::new(codes::IDEMPOTENCY_CONFLICT, detail)
}

pub(super) fn webhook_limit_reached() -> Problem {
    let detail = format!("the account has {MAX_ENDPOINTS} webhooks, which is the limit; delete one first");
    Problem::new(codes::WEBHOOK_LIMIT_REACHED, detail).with_member("limit", MAX_ENDPOINTS as u64)
}
