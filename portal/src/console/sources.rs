//! The views of the product sources of a page.

use maud::{Markup, html};
use serde_json::{Map, Value};

use super::parts::{Change, Row, count, facts, flag, heading, list, moment, table, text};
use super::usage::badge;

const FORM: &str = "source-form";
const SECRET: &str = "The secret for pushes";

/// Returns the view of `GET /pages/{page_id}/product-sources`.
pub(super) fn all(path: &str, sources: &Value) -> Markup {
    let row = |source: &Value| {
        vec![
            html! { a href=(format!("#{path}/{}", text(source, "/id"))) { (text(source, "/url")) } },
            badge(text(source, "/sync/status")),
            html! { (count(source, "/sync/products")) },
            moment(source, "/sync/last_success_at"),
        ]
    };
    let rows: Vec<Row> = list(sources, "/data").iter().map(row).collect();
    let page = path.trim_end_matches("/product-sources");
    html! {
        (heading("Product sources"))
        p { a href=(format!("#{page}")) { "The page" } }
        (table("Product sources", &["Feed", "Status", "Products", "Last success"], &rows, "None yet. Add the feed of a shop below, and its products appear on the page."))
        h3 { "New source" }
        (Change::new("POST", path, "").revealing(SECRET).leading_to(format!("{path}/{{id}}")).of_template(FORM, &Value::Object(Map::new()), ""))
    }
}

/// Returns the view of `GET /pages/{page_id}/product-sources/{source_id}`.
pub(super) fn one(path: &str, source: &Value) -> Markup {
    let all = path.rsplit_once('/').map_or(path, |(all, _)| all);
    let delete = |query: &str, label, question| {
        let change = Change::new("DELETE", format!("{path}{query}"), label).asking(question);
        change.dangerous(true).leading_to(all).button()
    };
    html! {
        (heading("Product source"))
        p { a href=(format!("#{path}/runs")) { "Log" } " · " a href=(format!("#{all}")) { "All sources of the page" } }
        div #source data-live {
            (facts(&[
                ("Status", badge(text(source, "/sync/status"))),
                ("Products on the page", html! { (count(source, "/sync/products")) }),
                ("Held", html! { @if flag(source, "/sync/held") { "The last feed lacks most products" } @else { "no" } }),
                ("Last error", html! { (text(source, "/sync/error")) }),
                ("Last run", moment(source, "/sync/last_run_at")),
                ("Last success", moment(source, "/sync/last_success_at")),
                ("Next run", moment(source, "/sync/next_run_at")),
                ("Address for pushes", html! { (text(source, "/push/url")) }),
            ]))
        }
        div.actions {
            (Change::new("POST", format!("{path}/refresh"), "Sync now").button())
            (delete("", "Delete", "Delete this source? Its products leave the page."))
            (delete("?keep_products=true", "Delete, keep products", "Delete this source? Its products stay on the page, as if you had made them."))
        }
        h3 { "Settings" }
        (Change::new("PATCH", path, "").revealing(SECRET).of_template(FORM, source, ""))
    }
}

/// Returns the view of `GET /pages/{page_id}/product-sources/{source_id}/runs`.
pub(super) fn runs(path: &str, runs: &Value) -> Markup {
    let row = |run: &Value| {
        let changes = |name: &str| count(run, &format!("/products/{name}"));
        vec![
            moment(run, "/at"),
            html! { (text(run, "/trigger")) },
            badge(text(run, "/outcome")),
            html! { (count(run, "/items")) " read, " (count(run, "/faulty")) " left out" },
            html! { (changes("added")) " new, " (changes("updated")) " changed, " (changes("removed")) " removed" },
            html! { (text(run, "/error")) @for fault in list(run, "/faults") { p { (text(fault, "/detail")) } } },
        ]
    };
    let rows: Vec<Row> = list(runs, "/data").iter().map(row).collect();
    let columns = ["Moment", "Because of", "Outcome", "Items", "On the page", "What is wrong"];
    html! {
        (heading("Log of the product source"))
        p { a href=(format!("#{}", path.trim_end_matches("/runs"))) { "The source" } }
        (table("Runs, the newest first", &columns, &rows, "No run yet. The feed is fetched soon."))
    }
}
