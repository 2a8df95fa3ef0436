//! The view of `GET /v1/usage/calls`.

use maud::{Markup, html};
use serde_json::Value;

use super::parts::{Row, count, heading, list, moment, pager, parameter, select, table, text};

const STATUSES: [(&str, &str); 5] =
    [("", "Any"), ("4xx", "4xx"), ("5xx", "5xx"), ("2xx", "2xx"), ("429", "429")];
const COLUMNS: [&str; 7] = ["Time", "Status", "Call", "Tool, ms", "Gateway, ms", "Bytes", "Request"];

/// Returns the view.
pub(super) fn all(path: &str, query: Option<&str>, log: &Value) -> Markup {
    let rows: Vec<Row> = list(log, "/calls").iter().map(row).collect();
    let dropped = count(log, "/dropped");
    html! {
        (heading("Calls"))
        form data-view=(path) {
            (field("Tool", "tool", query))
            (select("Status", "status", &STATUSES, &parameter(query, "status")))
            (field("Code", "code", query))
            (field("Request id", "request_id", query))
            button { "Show" }
        }
        p.soft {
            "Every call that failed or was refused is here within half a minute, and is kept for 7 days. Of many "
            "successful ones at a time a few are shown, each with the number of calls for which it stands."
        }
        @if dropped > 0 { p { (dropped) " failed calls are missing, because there were too many at the same time." } }
        (table("Calls", &COLUMNS, &rows, "None yet. Calls of tools with this key are listed here."))
        (pager(path, query, text(log, "/cursor")))
    }
}

fn field(label: &str, name: &str, query: Option<&str>) -> Markup {
    html! { label { (label) input name=(name) value=(parameter(query, name)) autocomplete="off" spellcheck="false"; } }
}

fn row(call: &Value) -> Row {
    vec![
        moment(call, "/time"),
        ended(call),
        place(call),
        known(call, "/tool_ms"),
        known(call, "/edge_ms"),
        html! { (known(call, "/request_bytes")) " / " (known(call, "/response_bytes")) },
        html! { code { (text(call, "/request_id")) } },
    ]
}

/// Returns the status with the problem's code, and for how many calls the row stands.
fn ended(call: &Value) -> Markup {
    let (code, sampled, repeated) = (text(call, "/code"), count(call, "/sampled"), count(call, "/repeated"));
    html! {
        (count(call, "/status"))
        @if !code.is_empty() { " " a href=(format!("/problems/{code}")) { code { (code) } } }
        @if sampled > 1 { span.soft { " one of " (sampled) } }
        @if repeated > 0 { span.soft { " and " (repeated) " more alike" } }
    }
}

/// Returns what was called, and the secret if it is a named one.
fn place(call: &Value) -> Markup {
    let (tool, secret) = (text(call, "/tool"), text(call, "/secret_id"));
    html! {
        @if tool.is_empty() { code { (text(call, "/path")) } } @else { (tool) " / " (text(call, "/action")) }
        @if !secret.is_empty() { " " span.soft { "with " code { (secret) } } }
    }
}

/// Returns a number, or a dash if it is not known.
fn known(call: &Value, pointer: &str) -> Markup {
    html! {
        @match call.pointer(pointer).and_then(Value::as_u64) {
            Some(number) => (number),
            None => "–",
        }
    }
}
