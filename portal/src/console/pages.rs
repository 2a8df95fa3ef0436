//! The views of bio-link pages.

use maud::{Markup, html};
use serde_json::Value;

use super::analytics;
use super::parts::{
    Change, Row, count, facts, flag, heading, list, moment, pager, parameter, select, table, text,
};
use super::usage::badge;

const STATUSES: [(&str, &str); 3] = [("", "any"), ("published", "published"), ("draft", "draft")];

/// Returns the view of `GET /account`.
pub(super) fn account(account: &Value) -> Markup {
    html! {
        (heading("Account"))
        (facts(&[
            ("Id", html! { code { (text(account, "/id")) } }),
            ("Plan", html! { (text(account, "/plan")) }),
            ("Pages", html! { (count(account, "/pages/used")) " of " (count(account, "/pages/limit")) }),
            ("Domains", html! { (count(account, "/domains/used")) " of " (count(account, "/domains/limit")) }),
            ("Calls", html! { (count(account, "/calls/remaining")) " of " (count(account, "/calls/limit")) " remain this hour" }),
            ("Analytics", html! { (count(account, "/analytics/window_days")) " days" }),
        ]))
    }
}

/// Returns the view of `GET /pages`.
pub(super) fn all(path: &str, query: Option<&str>, pages: &Value) -> Markup {
    let row = |page: &Value| {
        vec![
            html! { a href=(format!("#/pages/{}", text(page, "/id"))) { (text(page, "/title")) } },
            public_link(page),
            state(page),
            html! { a href=(format!("#{}", analytics::address(Some(text(page, "/id")), "30d"))) { "Analytics" } },
            moment(page, "/updated_at"),
        ]
    };
    let rows: Vec<Row> = list(pages, "/data").iter().map(row).collect();
    html! {
        (heading("Pages"))
        form data-view="/pages" {
            label { "Search" input name="q" type="search" value=(parameter(query, "q")); }
            (select("Status", "status", &STATUSES, &parameter(query, "status")))
            button { "Show" }
        }
        (table("Pages", &["Title", "Address", "Status", "Visits", "Changed"], &rows, "No pages. POST /pages makes one."))
        (pager(path, query, text(pages, "/next_cursor")))
        p { a href="#/account" { "Plan and limits of the account" } " · " a href="#/domains" { "Domains" } }
    }
}

/// Returns the view of `GET /pages/{page_id}`.
pub(super) fn one(page: &Value) -> Markup {
    let path = format!("/pages/{}", text(page, "/id"));
    html! {
        (heading(text(page, "/title")))
        (page_facts(page))
        p { a href=(format!("#{}", analytics::address(Some(text(page, "/id")), "30d"))) { "Analytics of this page" } }
        div.actions { (publication(page, &path)) }
        h3 { "Links" }
        (links(list(page, "/links")))
    }
}

/// Returns what is stored of a page beside its content.
pub(super) fn page_facts(page: &Value) -> Markup {
    facts(&[
        ("Id", html! { code { (text(page, "/id")) } }),
        ("Address", public_link(page)),
        ("Status", state(page)),
        ("Revision", html! { (count(page, "/revision")) }),
        ("Created", moment(page, "/created_at")),
        ("Changed", moment(page, "/updated_at")),
        ("Published", moment(page, "/published_at")),
    ])
}

/// Returns the link to a page as visitors see it.
pub(super) fn public_link(page: &Value) -> Markup {
    let address = text(page, "/urls/public");
    html! { a href=(address) target="_blank" rel="noopener" { "/" (text(page, "/slug")) } }
}

/// Returns the state of a page.
pub(super) fn state(page: &Value) -> Markup {
    html! {
        @if flag(page, "/suspended") { (badge("suspended")) " " }
        (badge(text(page, "/status")))
        @if flag(page, "/has_unpublished_changes") { " " (badge("unpublished changes")) }
    }
}

fn publication(page: &Value, path: &str) -> Markup {
    let publish = Change::new("POST", format!("{path}/publish"), "Publish")
        .asking("Show the newest revision to visitors?");
    let unpublish = Change::new("POST", format!("{path}/unpublish"), "Take offline")
        .asking("Take this page offline? Visitors see that it is not there.")
        .dangerous(true);
    let is_live = text(page, "/status") == "published";
    html! {
        @if !is_live || flag(page, "/has_unpublished_changes") { (publish.button()) }
        @if is_live { (unpublish.button()) }
    }
}

fn links(links: &[Value]) -> Markup {
    let row = |link: &Value| {
        vec![
            html! { (text(link, "/title")) },
            html! { (text(link, "/type")) },
            html! { (text(link, "/url")) },
            html! { @if flag(link, "/enabled") { "shown" } @else { "hidden" } },
        ]
    };
    let rows: Vec<Row> = links.iter().map(row).collect();
    table("Links", &["Title", "Type", "Leads to", "State"], &rows, "None.")
}
