//! The administrator's views of pages: reports of visitors, and suspensions.

use maud::{Markup, html};
use serde_json::Value;

use super::pages::{page_facts, public_link, state};
use super::parts::{Change, Row, count, facts, flag, heading, list, moment, pager, table, text};

/// Returns the view of `GET /admin/reports`.
pub(super) fn reports(path: &str, query: Option<&str>, reports: &Value) -> Markup {
    let row = |report: &Value| {
        vec![
            moment(report, "/at"),
            html! { a href=(format!("#/admin/pages/{}", text(report, "/page"))) { "/" (text(report, "/slug")) } },
            html! { (text(report, "/reason")) },
            html! { (text(report, "/details")) },
            html! { (count(report, "/more")) },
        ]
    };
    let rows: Vec<Row> = list(reports, "/reports").iter().map(row).collect();
    html! {
        (heading("Reports"))
        form data-view="/admin/pages/{name}" {
            label { "Page: its slug or its id" input name="name" autocomplete="off" required; }
            button { "Open the page" }
        }
        (table("Reports, the newest first", &["Moment", "Page", "Reason", "Details", "More"], &rows, "No reports."))
        (pager(path, query, text(reports, "/cursor")))
    }
}

/// Returns the view of `GET /admin/pages/{page_id}`.
pub(super) fn page(page: &Value) -> Markup {
    let path = format!("/admin/pages/{}", text(page, "/id"));
    html! {
        (heading(text(page, "/title")))
        (page_facts(page))
        p {
            a href=(format!("#/admin/reports?page={}", text(page, "/id"))) { "Reports of this page" } " · "
            a href=(format!("#/admin/accounts/{}", text(page, "/account"))) { "All pages of its account" }
        }
        (suspension(page, &path, "page"))
    }
}

/// Returns the view of `GET /admin/accounts/{id}`.
pub(super) fn account(account: &Value) -> Markup {
    let row = |page: &Value| {
        vec![
            html! { a href=(format!("#/admin/pages/{}", text(page, "/id"))) { (text(page, "/title")) } },
            public_link(page),
            state(page),
            moment(page, "/updated_at"),
        ]
    };
    let rows: Vec<Row> = list(account, "/pages").iter().map(row).collect();
    let id = text(account, "/id");
    html! {
        (heading("Account"))
        (facts(&[("Key", html! { a href=(format!("#/v1/keys/{id}?include=usage")) { code { (id) } } })]))
        (table("Pages", &["Title", "Address", "Status", "Changed"], &rows, "No pages."))
        (suspension(account, &format!("/admin/accounts/{id}"), "account"))
    }
}

/// Returns the order that is in force, and the form that makes or ends one.
fn suspension(subject: &Value, path: &str, kind: &str) -> Markup {
    let (suspend, restore) = (format!("Suspend this {kind}"), format!("Restore this {kind}"));
    let is_ordered = subject.pointer("/suspension/at").is_some();
    let question =
        if is_ordered { "Show it to visitors again?" } else { "Hide it from visitors until it is restored?" };
    let change = |action: &str, label| {
        Change::new("POST", format!("{path}/{action}"), label).asking(question).dangerous(!is_ordered)
    };
    html! {
        h3 { "Suspension" }
        @if is_ordered {
            p { "Since " (moment(subject, "/suspension/at")) ": " (text(subject, "/suspension/reason")) }
            (change("restore", &restore).button())
        } @else {
            @if flag(subject, "/suspended") { p { "The account is suspended." } }
            (change("suspend", &suspend).form(&html! { label { "Reason" input name="reason" maxlength="200" autocomplete="off"; } }))
        }
    }
}
