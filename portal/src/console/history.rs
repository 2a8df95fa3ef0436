//! The view of `GET /v1/usage`.

use maud::{Markup, html};
use serde_json::Value;

use super::chart::{Series, bar};
use super::parts::{Row, count, heading, label, list, parameter, select, table, text};

const GROUPS: [(&str, &str); 5] = [
    ("day", "By day"),
    ("hour", "By hour"),
    ("tool", "By tool"),
    ("status", "By status"),
    ("secret", "By secret"),
];
const INTERVALS: [(&str, &str); 5] =
    [("30d", "30 days"), ("7d", "7 days"), ("2d", "2 days"), ("1d", "Today"), ("", "As far as it goes")];

/// Returns the view.
pub(super) fn history(query: Option<&str>, history: &Value) -> Markup {
    let group = text(history, "/group_by");
    html! {
        (heading("Past usage"))
        form data-view="/v1/usage" {
            (select("Calls", "group_by", &GROUPS, group))
            (select("Period", "interval", &INTERVALS, &parameter(query, "interval")))
            button { "Show" }
        }
        p.soft {
            (label(text(history, "/from"), "hour")) " to " (label(text(history, "/to"), "hour")) " UTC: "
            (count(history, "/calls")) " calls as charged, without those that were refunded."
        }
        @match group {
            "hour" | "day" => (over_time(history, group)),
            _ => (sums(history, group)),
        }
    }
}

fn over_time(history: &Value, period: &str) -> Markup {
    let rows = list(history, "/data");
    let point = |row: &Value| (label(text(row, "/start"), period), count(row, "/calls"));
    let points: Vec<(String, u64)> = rows.iter().map(point).collect();
    // The newest is in sight first.
    let cells: Vec<Row> =
        points.iter().rev().map(|(start, calls)| vec![html! { (start) }, html! { (calls) }]).collect();
    html! {
        div.columns {
            div { (Series { name: "Calls", period, points, total: count(history, "/calls") }.bars()) }
            div.tall { (table("Calls over time", &["From", "Calls"], &cells, "No period.")) }
        }
    }
}

fn sums(history: &Value, group: &str) -> Markup {
    let rows = list(history, "/data");
    let highest = rows.iter().map(|row| count(row, "/calls")).max().unwrap_or_default();
    let name = |row: &Value| match row.get(group) {
        Some(Value::String(name)) => name.clone(),
        Some(Value::Null) => "the key's own".to_owned(),
        _ => count(row, &format!("/{group}")).to_string(),
    };
    let row = |row: &Value| {
        vec![html! { (name(row)) }, bar(count(row, "/calls"), highest), html! { (count(row, "/calls")) }]
    };
    let cells: Vec<Row> = rows.iter().map(row).collect();
    let column = match group {
        "tool" => "Tool",
        "secret" => "Secret",
        _ => "Status",
    };
    table("Calls", &[column, "Share", "Calls"], &cells, "None yet.")
}
