//! The views of webhooks and their deliveries.

use maud::{Markup, html};
use serde_json::Value;

use super::parts::{
    Change, Row, constant, count, facts, flag, heading, list, moment, pager, parameter, select, table, text,
};
use super::usage::badge;

const STATES: [(&str, &str); 6] = [
    ("", "any"),
    ("pending", "pending"),
    ("failed", "failed"),
    ("delivered", "delivered"),
    ("collecting", "collecting"),
    ("dropped", "dropped"),
];

/// Returns the view of `GET /webhooks`.
pub(super) fn all(webhooks: &Value) -> Markup {
    let row = |webhook: &Value| {
        let id = text(webhook, "/id");
        vec![
            html! { a href=(format!("#/webhooks/{id}")) { (text(webhook, "/url")) } },
            badge(text(webhook, "/status")),
            badge(text(webhook, "/health/circuit")),
            moment(webhook, "/health/last_success_at"),
            html! { a href=(format!("#/webhooks/{id}/deliveries")) { "Deliveries" } },
        ]
    };
    let rows: Vec<Row> = list(webhooks, "/data").iter().map(row).collect();
    let columns = ["Address", "Status", "Circuit", "Last success", "Log"];
    html! {
        (heading("Webhooks"))
        (table("Webhooks", &columns, &rows, "No webhooks. POST /webhooks makes one."))
    }
}

/// Returns the view of `GET /webhooks/{webhook_id}`.
pub(super) fn one(webhook: &Value) -> Markup {
    let path = format!("/webhooks/{}", text(webhook, "/id"));
    html! {
        (heading("Webhook"))
        (facts(&[
            ("Address", html! { (text(webhook, "/url")) }),
            ("Id", html! { code { (text(webhook, "/id")) } }),
            ("Description", html! { (text(webhook, "/description")) }),
            ("Status", badge(text(webhook, "/status"))),
            ("Disabled because", html! { (text(webhook, "/disabled_reason")) }),
            ("Events", html! { (joined(list(webhook, "/events"))) }),
            ("Circuit", badge(text(webhook, "/health/circuit"))),
            ("Failures in a row", html! { (count(webhook, "/health/consecutive_failures")) }),
            ("Last success", moment(webhook, "/health/last_success_at")),
            ("Last failure", moment(webhook, "/health/last_failure_at")),
        ]))
        p { a href=(format!("#{path}/deliveries")) { "Deliveries" } }
        div.actions { (test(webhook, &path)) (switch(webhook, path)) }
    }
}

fn joined(events: &[Value]) -> String {
    events.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(", ")
}

fn test(webhook: &Value, path: &str) -> Markup {
    let change = Change::new("POST", format!("{path}/test"), "Send a test");
    let events: Vec<(&str, &str)> =
        list(webhook, "/events").iter().filter_map(Value::as_str).map(|event| (event, event)).collect();
    change.form(&select("Event", "type", &events, ""))
}

fn switch(webhook: &Value, path: String) -> Markup {
    let is_enabled = flag(webhook, "/enabled");
    let (label, question, wanted) = match is_enabled {
        true => ("Disable", "Disable this webhook? It gets no event until it is enabled again.", "false"),
        false => ("Enable", "Enable this webhook?", "true"),
    };
    Change::new("PATCH", path, label)
        .asking(question)
        .dangerous(is_enabled)
        .form(&constant("enabled", wanted))
}

/// Returns the view of `GET /webhooks/{webhook_id}/deliveries`.
pub(super) fn deliveries(path: &str, query: Option<&str>, deliveries: &Value) -> Markup {
    let row = |delivery: &Value| {
        let last = list(delivery, "/attempts").last();
        vec![
            html! { a href=(format!("#{}", path_of(delivery))) { (moment(delivery, "/created_at")) } },
            badge(text(delivery, "/status")),
            retry(delivery),
            html! { (text(delivery, "/type")) },
            html! { @if let Some(last) = last { (result(last)) } @else { "–" } },
            moment(delivery, "/next_attempt_at"),
        ]
    };
    let rows: Vec<Row> = list(deliveries, "/data").iter().map(row).collect();
    let columns = ["Created", "Status", "Again", "Event", "Last attempt", "Next attempt"];
    html! {
        (heading("Deliveries"))
        form data-view=(path) {
            (select("Status", "status", &STATES, &parameter(query, "status")))
            button { "Show" }
        }
        (table("Deliveries, the newest first", &columns, &rows, "No deliveries."))
        (pager(path, query, text(deliveries, "/next_cursor")))
    }
}

/// Returns the view of `GET /webhooks/{webhook_id}/deliveries/{delivery_id}`.
pub(super) fn delivery(delivery: &Value) -> Markup {
    let row = |attempt: &Value| {
        vec![
            moment(attempt, "/at"),
            result(attempt),
            html! { (count(attempt, "/duration_ms")) " ms" },
            html! { (text(attempt, "/response")) },
        ]
    };
    let rows: Vec<Row> = list(delivery, "/attempts").iter().map(row).collect();
    html! {
        (heading("Delivery"))
        (facts(&[
            ("Id", html! { code { (text(delivery, "/id")) } }),
            ("Event", html! { (text(delivery, "/type")) }),
            ("Status", badge(text(delivery, "/status"))),
            ("Created", moment(delivery, "/created_at")),
            ("Next attempt", moment(delivery, "/next_attempt_at")),
            ("Events", event_ids(delivery)),
        ]))
        (retry(delivery))
        h3 { "Attempts" }
        (table("Attempts", &["Moment", "Result", "Time", "Response"], &rows, "None yet."))
        p { a href=(format!("#/webhooks/{}/deliveries", text(delivery, "/webhook_id"))) { "All deliveries" } }
    }
}

fn event_ids(delivery: &Value) -> Markup {
    let ids = list(delivery, "/event_ids");
    html! {
        @if ids.is_empty() { "not in the log" } @else {
            ul.list { @for id in ids { li { code { (id.as_str().unwrap_or_default()) } } } }
        }
    }
}

fn path_of(delivery: &Value) -> String {
    format!("/webhooks/{}/deliveries/{}", text(delivery, "/webhook_id"), text(delivery, "/id"))
}

fn result(attempt: &Value) -> Markup {
    html! {
        @match attempt.get("status").and_then(Value::as_u64) {
            Some(status) => (status),
            None => (text(attempt, "/error")),
        }
    }
}

/// Returns the button that has a delivery sent again, unless it is still to be collected.
fn retry(delivery: &Value) -> Markup {
    let change = Change::new("POST", path_of(delivery) + "/retry", "Retry");
    html! {
        @if text(delivery, "/status") != "collecting" { (change.button()) }
    }
}
