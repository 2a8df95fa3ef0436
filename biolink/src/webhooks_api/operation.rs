//! What a call of the webhooks API wants.

use crate::codes;
use serde::{Deserialize, Serialize};
use shared::{
    problem::Problem,
    query::{self, parameters},
};

use super::query::{DeliveryQuery, EventQuery};
use crate::{
    fetch_url::url_member,
    pages_api::check_no_query,
    route::{WebhooksCall, WebhooksEndpoint, WebhooksTarget},
    webhooks::{DeliveryId, EndpointId, EventId},
};

/// An operation that a call asks for. Bodies are JSON objects as text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WebhooksOperation {
    /// `GET /webhooks`
    List,
    /// `POST /webhooks`
    Create(String),
    /// `GET /webhooks/{id}`
    Read(EndpointId),
    /// `PATCH /webhooks/{id}`
    Patch(EndpointId, String),
    /// `DELETE /webhooks/{id}`
    Delete(EndpointId),
    /// `GET /webhooks/{id}/secret`
    ReadSecret(EndpointId),
    /// `POST /webhooks/{id}/secret/rotate`
    RotateSecret(EndpointId, String),
    /// `POST /webhooks/{id}/test`
    Test(EndpointId, String),
    /// `GET /webhooks/{id}/deliveries`
    Deliveries(EndpointId, DeliveryQuery),
    /// `GET /webhooks/{id}/deliveries/{delivery}`
    ReadDelivery(EndpointId, DeliveryId),
    /// `POST /webhooks/{id}/deliveries/{delivery}/retry`
    Retry(EndpointId, DeliveryId),
    /// `POST /webhooks/{id}/replay`
    Replay(EndpointId, String),
    /// `GET /webhooks/{id}/stats`
    Stats(EndpointId),
    /// `GET /events`
    Events(EventQuery),
    /// `GET /events/{id}`
    ReadEvent(EventId),
}

impl WebhooksOperation {
    /// Returns the address that an endpoint is to have, if the call writes one.
    pub fn url(&self) -> Option<String> {
        match self {
            Self::Create(body) | Self::Patch(_, body) => url_member(body),
            _ => None,
        }
    }

    /// Parses a call: what it wants, and whether it is only tried (`?dry_run=true`). `body` is empty
    /// for an endpoint without one. Schemas and samples are no operation: they need no account.
    ///
    /// # Errors
    /// Returns `body-malformed` if the body is not UTF-8, and `fields-invalid` for a query that the
    /// endpoint does not take.
    pub fn parse(call: &WebhooksCall, query: Option<&str>, body: Vec<u8>) -> Result<(Self, bool), Problem> {
        use WebhooksEndpoint as E;
        let body = String::from_utf8(body)
            .map_err(|_| Problem::new(codes::BODY_MALFORMED, "the body is not UTF-8"))?;
        let dry_run = match call.endpoint {
            E::Deliveries | E::Events => false,
            endpoint if endpoint.takes_dry_run() => read_dry_run(query)?,
            _ => check_no_query(query).map(|()| false)?,
        };
        let operation = match (call.endpoint, call.target) {
            (E::List, _) => Self::List,
            (E::Create, _) => Self::Create(body),
            (E::Events, _) => Self::Events(EventQuery::read(query)?),
            (_, WebhooksTarget::Event(id)) => Self::ReadEvent(id),
            (E::Retry, WebhooksTarget::Delivery(id, delivery)) => Self::Retry(id, delivery),
            (_, WebhooksTarget::Delivery(id, delivery)) => Self::ReadDelivery(id, delivery),
            (E::Patch, WebhooksTarget::Endpoint(id)) => Self::Patch(id, body),
            (E::Delete, WebhooksTarget::Endpoint(id)) => Self::Delete(id),
            (E::ReadSecret, WebhooksTarget::Endpoint(id)) => Self::ReadSecret(id),
            (E::RotateSecret, WebhooksTarget::Endpoint(id)) => Self::RotateSecret(id, body),
            (E::Test, WebhooksTarget::Endpoint(id)) => Self::Test(id, body),
            (E::Deliveries, WebhooksTarget::Endpoint(id)) => {
                Self::Deliveries(id, DeliveryQuery::read(query)?)
            }
            (E::Replay, WebhooksTarget::Endpoint(id)) => Self::Replay(id, body),
            (E::Stats, WebhooksTarget::Endpoint(id)) => Self::Stats(id),
            (_, WebhooksTarget::Endpoint(id)) => Self::Read(id),
            (_, WebhooksTarget::Account | WebhooksTarget::Kind(_)) => {
                return Err(Problem::new(codes::INTERNAL, "the call names no webhook"));
            }
        };
        Ok((operation, dry_run))
    }

    /// Returns true if it makes deliveries, which are to be sent now. A test sends its own.
    pub const fn sends(&self) -> bool {
        matches!(self, Self::Retry(..) | Self::Replay(..) | Self::Patch(..))
    }
}

fn read_dry_run(query: Option<&str>) -> Result<bool, Problem> {
    let mut dry_run = false;
    for (name, value) in parameters(query)? {
        dry_run = match (name, &*value) {
            ("dry_run", "true") => true,
            ("dry_run", "false") => false,
            ("dry_run", _) => return Err(query::invalid("dry_run must be true or false")),
            _ => return Err(query::unknown_parameter(name, "dry_run")),
        };
    }
    Ok(dry_run)
}
