//! The routes of webhooks and their events.

use shared::endpoints;
use shared::route::Segments;

use super::endpoint_path::EndpointCall;
use crate::webhooks::{DeliveryId, EndpointId, EventId, WebhookKind};

/// A call of the webhooks API.
pub type WebhooksCall = EndpointCall<WebhooksEndpoint, WebhooksTarget>;

/// The object that a path of the webhooks API names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WebhooksTarget {
    /// The account of the key.
    Account,
    /// An endpoint.
    Endpoint(EndpointId),
    /// A delivery to an endpoint.
    Delivery(EndpointId, DeliveryId),
    /// A kind of event.
    Kind(WebhookKind),
    /// An event.
    Event(EventId),
}

endpoints! {
    /// One method on one path template of the webhooks API.
    WebhooksEndpoint
    List: Get "/webhooks",
    Create: Post "/webhooks",
    Read: Get "/webhooks/{webhook_id}",
    Patch: Patch "/webhooks/{webhook_id}",
    Delete: Delete "/webhooks/{webhook_id}",
    ReadSecret: Get "/webhooks/{webhook_id}/secret",
    RotateSecret: Post "/webhooks/{webhook_id}/secret/rotate",
    Test: Post "/webhooks/{webhook_id}/test",
    Deliveries: Get "/webhooks/{webhook_id}/deliveries",
    ReadDelivery: Get "/webhooks/{webhook_id}/deliveries/{delivery_id}",
    Retry: Post "/webhooks/{webhook_id}/deliveries/{delivery_id}/retry",
    Replay: Post "/webhooks/{webhook_id}/replay",
    Stats: Get "/webhooks/{webhook_id}/stats",
    Schema: Get "/events/schemas/{type}",
    Samples: Get "/events/samples",
    Events: Get "/events",
    ReadEvent: Get "/events/{event_id}",
}

impl WebhooksEndpoint {
    /// Returns true if a retry with the same `Idempotency-Key` gets the first response.
    pub const fn takes_idempotency_key(self) -> bool {
        matches!(self, Self::Create)
    }

    /// Returns true if a call can have a body.
    pub const fn has_body(self) -> bool {
        matches!(self, Self::Create | Self::Patch | Self::RotateSecret | Self::Test | Self::Replay)
    }

    /// Returns true if a call may be tried with `dry_run`.
    pub const fn takes_dry_run(self) -> bool {
        matches!(self, Self::Create | Self::Patch)
    }
}

impl WebhooksTarget {
    /// Parses the segments of a path; `None` for an id that is malformed.
    pub(super) fn parse(segments: Segments<'_>) -> Option<Self> {
        Some(match segments {
            [Some("webhooks"), Some(id), Some("deliveries"), Some(delivery), ..] => {
                Self::Delivery(EndpointId::parse(id)?, DeliveryId::parse(delivery)?)
            }
            [Some("webhooks"), Some(id), ..] => Self::Endpoint(EndpointId::parse(id)?),
            [Some("events"), Some("schemas"), Some(kind), ..] => Self::Kind(kind.parse().ok()?),
            [Some("events"), Some("samples"), None, ..] => Self::Account,
            [Some("events"), Some(id), ..] => Self::Event(EventId::parse(id)?),
            _ => Self::Account,
        })
    }
}
