//! The view of an account's domains.

use maud::{Markup, html};
use serde_json::Value;

use super::parts::{Change, Row, heading, list, moment, table, text};
use super::usage::badge;

/// Returns the view of `GET /domains`.
pub(super) fn all(domains: &Value) -> Markup {
    let rows: Vec<Row> = list(domains, "/data").iter().map(row).collect();
    html! {
        (heading("Domains"))
        (table("Domains", &["Host", "Status", "Records", "Last check", "Checked", "Page", ""], &rows, "No domain yet. Add one below."))
        (Change::new("POST", "/domains", "Add").form(&html! {
            label { "Host" input name="host" required; }
            label { "Page (its id)" input name="page_id" required; }
        }))
    }
}

fn row(domain: &Value) -> Row {
    let path = format!("/domains/{}", text(domain, "/id"));
    let (host, page) = (text(domain, "/host"), text(domain, "/page_id"));
    let remove = Change::new("DELETE", path.clone(), "Remove")
        .asking("Remove this domain? It shows nothing any more.")
        .dangerous(true);
    vec![
        html! { a href=(text(domain, "/url")) target="_blank" rel="noopener" { (host) } },
        badge(text(domain, "/status")),
        html! {
            @for record in list(domain, "/dns") {
                p { (text(record, "/type")) " " code { (text(record, "/name")) } " " code { (text(record, "/value")) } }
            }
        },
        html! { (text(domain, "/last_check/result")) },
        moment(domain, "/last_check/at"),
        html! { @if !page.is_empty() { a href=(format!("#/pages/{page}")) { code { (page) } } } },
        html! { (Change::new("POST", format!("{path}/verify"), "Check now").button()) (remove.button()) },
    ]
}
