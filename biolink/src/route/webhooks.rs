//! The routes of webhooks and their events.

use shared::method::{Method, Methods};

use crate::webhooks::{DeliveryId, EndpointId, EventId, WebhookKind};

/// A call of the webhooks API.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WebhooksCall {
    /// What is called.
    pub endpoint: WebhooksEndpoint,
    /// What it is called for.
    pub target: WebhooksTarget,
}

/// What a path of the webhooks API names.
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

/// A path of the webhooks API: what it names, and the endpoints there.
#[derive(Clone, Copy)]
pub struct WebhooksPlace {
    target: WebhooksTarget,
    endpoints: &'static [WebhooksEndpoint],
}

impl WebhooksPlace {
    /// Parses the segments of a path; `None` for one that is not of the webhooks API.
    pub(super) fn parse(segments: [Option<&str>; 5]) -> Option<Self> {
        match segments {
            [Some("webhooks"), None, ..] => {
                Some(Self::new(WebhooksTarget::Account, &[WebhooksEndpoint::List, WebhooksEndpoint::Create]))
            }
            [Some("webhooks"), Some(id), rest @ ..] => Self::parse_endpoint(EndpointId::parse(id)?, rest),
            [Some("events"), None, ..] => {
                Some(Self::new(WebhooksTarget::Account, &[WebhooksEndpoint::Events]))
            }
            [Some("events"), Some("schemas"), Some(kind), None, _] => {
                let target = WebhooksTarget::Kind(kind.parse::<WebhookKind>().ok()?);
                Some(Self::new(target, &[WebhooksEndpoint::Schema]))
            }
            [Some("events"), Some(id), None, ..] => {
                Some(Self::new(WebhooksTarget::Event(EventId::parse(id)?), &[WebhooksEndpoint::ReadEvent]))
            }
            _ => None,
        }
    }

    fn parse_endpoint(id: EndpointId, rest: [Option<&str>; 3]) -> Option<Self> {
        use WebhooksEndpoint as E;
        let target = WebhooksTarget::Endpoint(id);
        match rest {
            [None, ..] => Some(Self::new(target, &[E::Read, E::Patch, E::Delete])),
            [Some("secret"), None, _] => Some(Self::new(target, &[E::ReadSecret])),
            [Some("secret"), Some("rotate"), None] => Some(Self::new(target, &[E::RotateSecret])),
            [Some("test"), None, _] => Some(Self::new(target, &[E::Test])),
            [Some("replay"), None, _] => Some(Self::new(target, &[E::Replay])),
            [Some("stats"), None, _] => Some(Self::new(target, &[E::Stats])),
            [Some("deliveries"), None, _] => Some(Self::new(target, &[E::Deliveries])),
            [Some("deliveries"), Some(delivery), last] => {
                let target = WebhooksTarget::Delivery(id, DeliveryId::parse(delivery)?);
                match last {
                    None => Some(Self::new(target, &[E::ReadDelivery])),
                    Some("retry") => Some(Self::new(target, &[E::Retry])),
                    Some(_) => None,
                }
            }
            _ => None,
        }
    }

    const fn new(target: WebhooksTarget, endpoints: &'static [WebhooksEndpoint]) -> Self {
        Self { target, endpoints }
    }

    pub(super) fn methods(self) -> Methods {
        Methods::of(self.endpoints.iter().map(|endpoint| endpoint.method()))
    }

    /// Returns the call of a method on the path.
    pub(super) fn call(self, method: Method) -> Option<WebhooksCall> {
        let endpoint = self.endpoints.iter().copied().find(|endpoint| endpoint.method() == method)?;
        Some(WebhooksCall { endpoint, target: self.target })
    }
}
