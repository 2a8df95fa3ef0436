//! The REST API of webhooks, and the state of an account's webhooks: endpoints, events and
//! deliveries.
//!
//! One object for each account keeps them. Events come from the stores of pages and from the account,
//! each with a number by which a repeated one is known. They become rows of the event log and one
//! delivery for each endpoint that wants them, in one commit.

mod delivery;
mod endpoints;
mod fan_out;
mod listing;
mod message;
mod operation;
mod problems;
mod progress;
mod query;
mod request;

pub use delivery::{Delivery, DeliveryAttempt, DeliveryState, EndedAttempt};
pub use endpoints::{EndpointCall, Endpoints};
pub use fan_out::{DeliveryNumbers, LoggedEvent, fan_out, new_test, replay_of};
pub use listing::replay_accepted;
pub use message::{WebhooksMessage, WebhooksRequest};
pub use operation::WebhooksOperation;
pub use problems::{delivery_unknown, event_unknown, webhooks_unavailable};
pub use progress::PageProgress;
pub use query::{DEFAULT_LIMIT, MAX_LIMIT, MAX_WAIT_S};
pub use query::{DeliveryQuery, EventQuery, Replay, read_sample_kind};
pub use request::HEADER_ATTEMPT;
pub use request::request_headers;

#[cfg(test)]
mod tests;
