//! The views of webhooks and their deliveries.

use biolink::webhooks::{MAX_DESCRIPTION, MAX_HEADERS, WebhookKind};
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
const MODES: [(&str, &str); 3] = [
    ("single", "one by one"),
    ("auto", "one by one, many together"),
    ("batch", "together, within 10 seconds"),
];
/// Grace periods that a rotation of the signing secret offers, in seconds.
const GRACE: [(&str, &str); 3] = [("86400", "for a day"), ("3600", "for an hour"), ("0", "not at all")];
const REPLAYS: [(&str, &str); 2] = [("failed", "what failed or was dropped"), ("all", "all events")];

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
        @for webhook in list(webhooks, "/data").iter().filter(|webhook| !text(webhook, "/disabled_reason").is_empty()) {
            p.warning { (text(webhook, "/url")) " was disabled: " (text(webhook, "/disabled_reason")) "." }
        }
        (table("Webhooks", &columns, &rows, "None yet. Make one below: your server then gets a signed request for each event that you choose."))
        h3 { "New webhook" }
        (create())
    }
}

fn create() -> Markup {
    let change = Change::new("POST", "/webhooks", "Make webhook").revealing("The signing secret");
    change.form(&fields(&Value::Null))
}

/// Returns the fields of a webhook: those of a new one if it is null.
fn fields(webhook: &Value) -> Markup {
    let (chosen, mode) = (list(webhook, "/events"), text(webhook, "/mode"));
    let headers = match webhook.is_null() {
        true => "Own headers, one a line",
        false => "Change own headers, one a line (without a value: remove it)",
    };
    html! {
        label.wide {
            "Address of your receiver"
            input name="url" type="url" autocomplete="off" placeholder="https://hooks.example.com/events" value=(text(webhook, "/url")) required;
        }
        fieldset.choices {
            legend { "Events" }
            @for kind in WebhookKind::ALL {
                label {
                    input type="checkbox" name="events" value=(kind.as_str()) checked[chosen.iter().any(|name| name == kind.as_str())];
                    " " (kind.as_str()) span.soft { " " (meaning(kind)) }
                }
            }
        }
        label { "Description" input name="description" autocomplete="off" maxlength=(MAX_DESCRIPTION) value=(text(webhook, "/description")) data-nullable; }
        (select("Events are sent", "mode", &MODES, if mode.is_empty() { "single" } else { mode }))
        label.wide {
            (headers) " (at most " (MAX_HEADERS) ")"
            textarea name="headers" rows="2" placeholder="authorization: Bearer …" autocomplete="off" spellcheck="false" data-lines {}
        }
    }
}

const fn meaning(kind: WebhookKind) -> &'static str {
    match kind {
        WebhookKind::PageView => "a visitor opened a page",
        WebhookKind::Click => "a visitor followed a link or a product",
        WebhookKind::QrScan => "a visitor scanned a QR code",
        WebhookKind::PagePublished => "another revision of a page went live",
        WebhookKind::QuotaThreshold => {
            "50, 80 or 100 % of the day's calls of a key, or of its units, are used"
        }
        WebhookKind::QuotaExceeded => "a call was refused for want of quota, the first one of an hour",
        WebhookKind::KeyExpiring => "a key or a secret expires in 7 days, or in one",
        WebhookKind::WebhookFailing => "a webhook fails, or was disabled because it failed",
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
            ("Own headers", html! { (joined(list(webhook, "/header_names"))) }),
            ("Failures in a row", html! { (count(webhook, "/health/consecutive_failures")) }),
            ("Last success", moment(webhook, "/health/last_success_at")),
            ("Last failure", moment(webhook, "/health/last_failure_at")),
        ]))
        @for warning in list(webhook, "/warnings") { p.warning { (text(warning, "/detail")) } }
        p { a href=(format!("#{path}/deliveries")) { "Deliveries" } }
        div.actions { (test(webhook, &path)) (switch(webhook, &path)) }
        h3 { "Change" }
        (Change::new("PATCH", path.as_str(), "Save").form(&fields(webhook)))
        div.actions { (rotation(&path)) (delete(path)) }
    }
}

fn joined(events: &[Value]) -> String {
    events.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(", ")
}

fn test(webhook: &Value, path: &str) -> Markup {
    // The view of the delivery says what the receiver answered, and what was sent.
    let change = Change::new("POST", format!("{path}/test"), "Send a test")
        .leading_to(format!("{path}/deliveries/{{id}}"));
    let events: Vec<(&str, &str)> =
        list(webhook, "/events").iter().filter_map(Value::as_str).map(|event| (event, event)).collect();
    change.form(&select("Event", "type", &events, ""))
}

fn switch(webhook: &Value, path: &str) -> Markup {
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

fn rotation(path: &str) -> Markup {
    let change = Change::new("POST", format!("{path}/secret/rotate"), "Rotate the signing secret")
        .asking("Replace the signing secret? The new one is shown once.")
        .revealing("The signing secret");
    change.form(&html! {
        label {
            "The present one also signs"
            select name="grace_period_seconds" data-json {
                @for (seconds, name) in GRACE { option value=(seconds) { (name) } }
            }
        }
    })
}

fn delete(path: String) -> Markup {
    let change = Change::new("DELETE", path, "Delete")
        .asking("Delete this webhook with its deliveries? Its events are not sent any more.")
        .dangerous(true)
        .leading_to("/webhooks");
    change.button()
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
        (table("Deliveries, the newest first", &columns, &rows, "None. Open the webhook and send a test, or wait for an event."))
        (pager(path, query, text(deliveries, "/next_cursor")))
        h3 { "Send again" }
        (replay(path))
    }
}

/// Returns the form that replays a span of time. `path` is that of the deliveries.
fn replay(path: &str) -> Markup {
    let webhook = path.strip_suffix("/deliveries").unwrap_or(path);
    let change = Change::new("POST", format!("{webhook}/replay"), "Replay").asking("Send these again?");
    change.form(&html! {
        (select("Which", "status", &REPLAYS, "failed"))
        label { "Since (UTC, empty: 14 days ago)" input name="since" type="datetime-local"; }
    })
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
        @if text(delivery, "/type") == "test" { p { (outcome(delivery)) } }
        (retry(delivery))
        h3 { "Attempts" }
        (table("Attempts", &["Moment", "Result", "Time", "Response"], &rows, "None yet."))
        @if let Some(payload) = delivery.get("payload").filter(|payload| payload.is_object()) {
            h3 { "What was sent" }
            pre { (format!("{payload:#}")) }
        }
        p { a href=(format!("#/webhooks/{}/deliveries", text(delivery, "/webhook_id"))) { "All deliveries" } }
    }
}

/// Says what the receiver did with a test.
fn outcome(delivery: &Value) -> Markup {
    let last = list(delivery, "/attempts").last();
    html! {
        @match last.map(|last| (last, last.get("status").and_then(Value::as_u64))) {
            Some((last, Some(status))) => { "Your server responded with " (status) " in " (count(last, "/duration_ms")) " ms." },
            Some((last, None)) => {
                "Your server did not respond: " (text(last, "/error")) " after " (count(last, "/duration_ms")) " ms."
            },
            None => "The test waits for other requests to your webhooks. Open this view again.",
        }
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
