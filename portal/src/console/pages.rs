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
        (table("Pages", &["Title", "Address", "Status", "Visits", "Changed"], &rows, "No page here yet. Make one below."))
        (pager(path, query, text(pages, "/next_cursor")))
        h3 { "New page" }
        (Change::new("POST", "/pages", "Make page").leading_to("/pages/{id}").form(&html! {
            label { "Title" input name="title" autocomplete="off"; }
            label { "Name in the address (empty: generated)" input name="slug" autocomplete="off"; }
        }))
        p { a href="#/account" { "Plan and limits of the account" } " · " a href="#/domains" { "Domains" } }
    }
}

/// Returns the view of `GET /pages/{page_id}`: what is stored of the page, and the form that changes it.
pub(super) fn one(page: &Value, etag: &str) -> Markup {
    let path = format!("/pages/{}", text(page, "/id"));
    let report = analytics::address(Some(text(page, "/id")), "30d");
    html! {
        (heading(text(page, "/title")))
        p {
            a href=(format!("#{report}")) { "Analytics" } " · "
            a href=(format!("#{path}/revisions")) { "Revisions" } " · "
            a href=(format!("#{path}/product-sources")) { "Product sources" }
        }
        div #page-facts data-live { (page_facts(page)) (warnings(page)) (ends(page, &path)) }
        (Change::new("PUT", path, "").of_template("page-form", page, etag))
    }
}

fn warnings(page: &Value) -> Markup {
    html! { @for warning in list(page, "/warnings") { p.soft { (text(warning, "/detail")) } } }
}

/// Returns what takes the page away from visitors.
fn ends(page: &Value, path: &str) -> Markup {
    let unpublish = Change::new("POST", format!("{path}/unpublish"), "Take offline")
        .asking("Take this page offline? Visitors see that it is not there.");
    let delete = Change::new("DELETE", path, "Delete")
        .asking("Delete this page for good? Its address is reserved for you for 30 days.")
        .leading_to("/pages");
    html! {
        div.actions {
            @if text(page, "/status") == "published" { (unpublish.dangerous(true).button()) }
            (delete.dangerous(true).button())
        }
    }
}

/// Returns the view of `GET /pages/{page_id}/revisions`.
pub(super) fn revisions(path: &str, revisions: &Value) -> Markup {
    let page = path.trim_end_matches("/revisions");
    let row = |revision: &Value| {
        let number = count(revision, "/revision");
        let restore = Change::new("POST", format!("{path}/{number}/restore"), "Restore")
            .asking("Make this the newest revision? Visitors see it when you publish the page.")
            .leading_to(page);
        vec![
            html! { (number) },
            moment(revision, "/created_at"),
            html! { @if flag(revision, "/live") { (badge("published")) } },
            restore.button(),
        ]
    };
    let rows: Vec<Row> = list(revisions, "/data").iter().map(row).collect();
    html! {
        (heading("Revisions"))
        p { a href=(format!("#{page}")) { "The page" } }
        (table("Revisions, the newest first", &["Revision", "Saved", "Visitors see", "Change"], &rows, "None."))
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
