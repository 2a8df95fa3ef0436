//! The list of the last alerts: `GET /v1/keys/me/alerts`.

use std::cmp::Reverse;

use serde::Serialize;
use shared::json;

use super::alert::AlertData;
use crate::webhooks::{AlertEvent, WebhookKind};

#[derive(Serialize)]
struct AlertList<'a> {
    object: &'static str,
    alerts: Vec<ListedAlert<'a>>,
}

/// An alert with the members that its envelope has too.
#[derive(Serialize)]
struct ListedAlert<'a> {
    #[serde(rename = "type")]
    kind: WebhookKind,
    timestamp: String,
    data: AlertData<'a>,
}

/// Returns the list of alerts, the newest first.
pub fn describe_alerts(mut alerts: Vec<AlertEvent>) -> String {
    alerts.sort_by_key(|alert| Reverse(alert.at()));
    let listed = alerts.iter().map(|alert| ListedAlert {
        kind: alert.kind(),
        timestamp: alert.at().to_rfc3339_ms(),
        data: AlertData::of(alert),
    });
    // A struct always serialises.
    json::to_string(&AlertList { object: "alerts", alerts: listed.collect() }).unwrap_or_default()
}
