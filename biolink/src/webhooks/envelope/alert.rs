//! The member `data` of an alert.

use serde::Serialize;
use shared::{
    key::{KeyId, SecretId},
    meter::AlertCause,
    policy::Window,
};

use crate::webhooks::{AlertEvent, EndpointId};

#[derive(Serialize)]
#[serde(untagged)]
pub(super) enum AlertData<'a> {
    Threshold { key: KeyData, quota: UsedQuota },
    Exceeded { key: KeyData, quota: Quota },
    Expiring { key: KeyData, secret: Option<SecretData<'a>>, expires_at: String, within_days: u8 },
    Failing { webhook: WebhookData<'a> },
}

#[derive(Serialize)]
pub(super) struct KeyData {
    id: KeyId,
}

#[derive(Serialize)]
pub(super) struct UsedQuota {
    name: Window,
    limit: u32,
    used: u32,
    percent: u8,
    resets_at: String,
}

#[derive(Serialize)]
pub(super) struct Quota {
    name: Window,
}

#[derive(Serialize)]
pub(super) struct SecretData<'a> {
    id: SecretId,
    name: &'a str,
}

#[derive(Serialize)]
pub(super) struct WebhookData<'a> {
    id: EndpointId,
    url: &'a str,
    status: &'static str,
    disabled_reason: Option<&'static str>,
    consecutive_failures: u32,
    failing_since: Option<String>,
}

impl<'a> AlertData<'a> {
    /// Returns the data of an alert.
    pub(super) fn of(event: &'a AlertEvent) -> Self {
        let (id, cause) = match event {
            AlertEvent::Key { id, alert } => (*id, &alert.cause),
            AlertEvent::Webhook { id, url, disabled, consecutive_failures, failing_since, .. } => {
                return Self::Failing {
                    webhook: WebhookData {
                        id: *id,
                        url,
                        status: if disabled.is_some() { "disabled" } else { "enabled" },
                        disabled_reason: disabled.map(|reason| reason.as_str()),
                        consecutive_failures: *consecutive_failures,
                        failing_since: failing_since.map(|since| since.to_rfc3339_ms()),
                    },
                };
            }
        };
        let key = KeyData { id };
        match cause {
            AlertCause::QuotaThreshold { day, percent, used, limit } => {
                let (limit, used, percent) = (*limit, *used, *percent);
                let resets_at = day.end().to_rfc3339_ms();
                Self::Threshold {
                    key,
                    quota: UsedQuota { name: Window::Day, limit, used, percent, resets_at },
                }
            }
            AlertCause::QuotaExceeded { window } => Self::Exceeded { key, quota: Quota { name: *window } },
            AlertCause::KeyExpiring { secret, expires_at, days } => Self::Expiring {
                key,
                secret: secret.as_ref().map(|(id, name)| SecretData { id: *id, name }),
                expires_at: expires_at.to_rfc3339_ms(),
                within_days: *days,
            },
        }
    }
}
