//! Webhooks of bio-link pages, by [Standard Webhooks](https://www.standardwebhooks.com): what is
//! sent, to which endpoints, when, and how it is signed.
//!
//! The account's object stores endpoints, events and deliveries, and sends requests. Everything that
//! it decides is in here.

mod alert;
mod attempt;
mod backlog;
mod card;
mod encryption;
mod endpoint;
mod envelope;
mod health;
mod ids;
mod kind;
mod mode;
mod publication;
mod sample;
mod schedule;
mod schema;
mod signature;
mod subscriptions;
mod visit;

pub use alert::AlertEvent;
pub use attempt::{ATTEMPT_TIMEOUT_MS, AttemptResult, MAX_EXCERPT, retry_after_ms};
pub use backlog::{Excess, KindCounts, MAX_PENDING};
pub use card::{Card, LinkCard, ProductCard};
pub use encryption::{EncryptionKeys, Nonce, SealedSecret, UnsealError};
pub use endpoint::{DEFAULT_GRACE_S, MAX_DESCRIPTION, MAX_GRACE_S, MAX_HEADER_VALUE, MAX_PAGES, READ_ONLY};
pub use endpoint::{
    Endpoint, EndpointChange, EndpointInput, LiveSecret, MAX_ENDPOINTS, MAX_HEADERS, MAX_LIVE_SECRETS,
    RotationInput, SealedHeaders, Statistics, read_test,
};
pub use envelope::{API_VERSION, EventHead, MAX_ENVELOPE, alert_list, describe_alert, render_batch};
pub use health::{Disabled, DisabledReason, Health, MAX_IN_FLIGHT, Recovery};
pub use ids::{BatchId, DeliveryId, EndpointId, EventId, MAX_NUMBER};
pub use kind::{KindSet, WebhookKind};
pub use mode::{MAX_BATCH_BYTES, MAX_BATCH_EVENTS, MAX_BATCH_WAIT_MS, Mode, RateMeter};
pub use publication::{MAX_CHANGES, ProductRef, Publication, Trigger};
pub use schedule::{FinishedAttempt, MAX_ATTEMPTS, NextStep, may_bring_forward};
pub use schema::schema;
pub use schema::{describe_schema, sample_events};
pub use signature::{
    HEADER_ID, HEADER_SIGNATURE, HEADER_TIMESTAMP, SignatureError, TOLERANCE_S, WebhookSecret,
    WebhookSecretError, sign, verify,
};
pub use subscriptions::{Subscription, Subscriptions};
pub use visit::Visit;
