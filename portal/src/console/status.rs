//! The view of `GET /v1/status`.

use maud::{Markup, html};
use serde_json::Value;

use super::parts::{Row, flag, heading, list, table, text};
use super::usage::badge;

/// Returns the view.
pub(super) fn tools(status: &Value) -> Markup {
    let row = |tool: &Value| {
        vec![
            html! { (text(tool, "/tool")) },
            badge(if flag(tool, "/available") { "available" } else { "unavailable" }),
        ]
    };
    let rows: Vec<Row> = list(status, "/tools").iter().map(row).collect();
    html! {
        div data-refresh="5" {
            (heading("Tools"))
            div #tools data-live {
                p { "The service is " strong { (text(status, "/status")) } "." }
                (table("Tools", &["Tool", "Availability"], &rows, "None."))
            }
        }
    }
}
