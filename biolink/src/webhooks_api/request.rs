//! The headers of a request to an endpoint.

use std::collections::BTreeMap;

use shared::time::UnixMillis;

use super::delivery::Delivery;
use crate::visitor::WEBHOOKS_AGENT;
use crate::webhooks::{HEADER_ID, HEADER_SIGNATURE, HEADER_TIMESTAMP, WebhookSecret, sign};

/// The header with the number of the attempt, from 1. It is not signed.
pub const HEADER_ATTEMPT: &str = "webhook-attempt";

/// Returns the headers of an attempt, with those that the owner adds: each attempt has a fresh timestamp
/// and signature.
pub fn request_headers(
    added: BTreeMap<String, String>,
    delivery: &Delivery,
    body: &[u8],
    secrets: &[WebhookSecret],
    now: UnixMillis,
) -> Vec<(String, String)> {
    let attempt = delivery.tries.saturating_add(1).to_string();
    let signature = sign(&delivery.message, now.seconds(), body, secrets);
    let own = [
        ("content-type", "application/json".to_owned()),
        ("user-agent", WEBHOOKS_AGENT.to_owned()),
        (HEADER_ID, delivery.message.clone()),
        (HEADER_TIMESTAMP, now.seconds().to_string()),
        (HEADER_SIGNATURE, signature),
        (HEADER_ATTEMPT, attempt),
    ];
    own.into_iter().map(|(name, value)| (name.to_owned(), value)).chain(added).collect()
}
