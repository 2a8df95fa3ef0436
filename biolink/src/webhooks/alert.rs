//! Alerts, on their way to the endpoints of the account.

use shared::{
    key::KeyId,
    meter::{Alert, AlertCause},
    time::UnixMillis,
};

use super::{DisabledReason, Endpoint, EndpointId, WebhookKind};

/// An event that is about the account, and not about a page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AlertEvent {
    /// About a key, from its meter.
    Key {
        /// The key.
        id: KeyId,
        /// The alert.
        alert: Alert,
    },
    /// About an endpoint whose circuit has opened, or that was disabled.
    Webhook {
        /// The endpoint.
        id: EndpointId,
        /// Its address.
        url: String,
        /// The moment.
        at: UnixMillis,
        /// The reason, if it was disabled.
        disabled: Option<DisabledReason>,
        /// Failed attempts since the last success.
        consecutive_failures: u32,
        /// The moment of the first of them.
        failing_since: Option<UnixMillis>,
    },
}

impl AlertEvent {
    /// Returns the alert about an endpoint that fails.
    pub fn of_endpoint(endpoint: &Endpoint, at: UnixMillis) -> Self {
        Self::Webhook {
            id: endpoint.id,
            url: endpoint.url.clone().unwrap_or_default(),
            at,
            disabled: endpoint.health.disabled.map(|disabled| disabled.reason),
            consecutive_failures: endpoint.health.consecutive_failures,
            failing_since: endpoint.health.failing_since,
        }
    }

    /// Returns the kind.
    pub const fn kind(&self) -> WebhookKind {
        match self {
            Self::Key { alert: Alert { cause: AlertCause::QuotaThreshold { .. }, .. }, .. } => {
                WebhookKind::QuotaThreshold
            }
            Self::Key { alert: Alert { cause: AlertCause::QuotaExceeded { .. }, .. }, .. } => {
                WebhookKind::QuotaExceeded
            }
            Self::Key { alert: Alert { cause: AlertCause::KeyExpiring { .. }, .. }, .. } => {
                WebhookKind::KeyExpiring
            }
            Self::Webhook { .. } => WebhookKind::WebhookFailing,
        }
    }

    /// Returns the moment at which it was noticed.
    pub const fn at(&self) -> UnixMillis {
        match self {
            Self::Key { alert, .. } => alert.at,
            Self::Webhook { at, .. } => *at,
        }
    }

    /// Returns the id by which a repeated alert is known. An endpoint that fails again and again has one a
    /// day.
    pub fn id(&self) -> String {
        match self {
            Self::Key { id, alert } => alert.id(*id),
            // By the day: a circuit that opens and closes would send an alert each time.
            Self::Webhook { id, at, disabled: None, .. } => format!("{id}:{}:failing", at.day().0),
            Self::Webhook { id, at, disabled: Some(_), .. } => format!("{id}:{}:disabled", at.0),
        }
    }
}
