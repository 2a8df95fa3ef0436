//! The member `data` of an alert.

use serde::Serialize;
use shared::{
    key::{KeyId, SecretId},
    meter::AlertCause,
    policy::Window,
    time::{UnixMillis, UtcDay},
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
    unit: &'static str,
    limit: u32,
    used: u32,
    percent: u8,
    resets_at: String,
}

#[derive(Serialize)]
pub(super) struct Quota {
    name: Window,
    unit: &'static str,
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
            AlertCause::QuotaThreshold { window, day, percent, used, limit } => Self::Threshold {
                key,
                quota: UsedQuota {
                    name: *window,
                    unit: unit(*window),
                    limit: *limit,
                    used: *used,
                    percent: *percent,
                    resets_at: end(*window, *day).to_rfc3339_ms(),
                },
            },
            AlertCause::QuotaExceeded { window } => {
                Self::Exceeded { key, quota: Quota { name: *window, unit: unit(*window) } }
            }
            AlertCause::KeyExpiring { secret, expires_at, days } => Self::Expiring {
                key,
                secret: secret.as_ref().map(|(id, name)| SecretData { id: *id, name }),
                expires_at: expires_at.to_rfc3339_ms(),
                within_days: *days,
            },
        }
    }
}

/// Returns what a quota counts.
const fn unit(window: Window) -> &'static str {
    if window.is_of_units() { "units" } else { "calls" }
}

/// Returns the end of the quota's period that begins with `day`.
fn end(window: Window, day: UtcDay) -> UnixMillis {
    if window == Window::UnitsMonth { day.month().1.start() } else { day.end() }
}
