//! The list of the last alerts: `GET /v1/keys/me/alerts`.

use std::cmp::Reverse;

use serde::Serialize;
use shared::{json, sorting::sort_by_key, time::UnixMillis};

use super::alert::AlertData;
use crate::webhooks::{AlertEvent, WebhookKind};

/// An alert with the members that its envelope has too.
#[derive(Serialize)]
struct ListedAlert<'a> {
    #[serde(rename = "type")]
    kind: WebhookKind,
    timestamp: String,
    data: AlertData<'a>,
}

/// Returns an alert as the list has it, as JSON.
pub fn describe_alert(alert: &AlertEvent) -> String {
    let listed =
        ListedAlert { kind: alert.kind(), timestamp: alert.at().to_rfc3339_ms(), data: AlertData::of(alert) };
    // A struct always serializes.
    json::to_string(&listed).unwrap_or_default()
}

/// Returns the list of alerts that are described, each with its moment. The newest comes first.
pub fn alert_list(mut alerts: Vec<(UnixMillis, String)>) -> String {
    // They come from two objects, the meter of the key and the webhooks of the account.
    sort_by_key(&mut alerts, |(at, _)| Reverse(*at));
    let listed: Vec<String> = alerts.into_iter().map(|(_, alert)| alert).collect();
    format!(r#"{{"object":"alerts","alerts":[{}]}}"#, listed.join(","))
}
