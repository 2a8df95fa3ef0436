//! The page of the console: it signs in, and its script shows the views.

use maud::{Markup, html};
use shared::response::Response;

use crate::docs::{Page, Section};
use crate::script::Script;

/// Returns the page `/console`. It is the same for every client.
pub fn page() -> Response {
    let content = html! {
        h1 { "Console" }
        p #status role="status" {}
        div #problem role="alert" hidden {}
        (sign_in())
        div #signed-in hidden {
            (menu())
            div #view {}
        }
        (dialogs())
        (super::templates::all())
    };
    let page = Page {
        section: Some(Section::Console),
        style: include_str!("style.css"),
        script: Some(Script::Console),
        wide: true,
        ..Page::new("Console", "Usage, pages, webhooks and keys of the gateway", &content)
    };
    page.response().with_headers([("x-robots-tag", "noindex")])
}

fn sign_in() -> Markup {
    html! {
        form #sign-in {
            label for="secret" { "API key, or the admin secret" }
            (name_of_key())
            // Without a name: no browser can send it by itself.
            input #secret type="password" autocomplete="current-password" spellcheck="false" required;
            label { input #keep type="checkbox"; " Keep me signed in on this browser" }
            button { "Sign in" }
            p.soft {
                "Unless you stay signed in, the key is in the memory of this page, and after a reload you sign in again. \
                 A browser stays signed in for 30 days, or until the console was not opened for 7. It keeps no key, and no \
                 admin secret."
            }
            noscript { p { "The console needs its script, which this browser does not run." } }
        }
    }
}

/// Returns what managers of passwords name the key that they keep.
fn name_of_key() -> Markup {
    html! { input type="text" autocomplete="username" value="API key" readonly hidden; }
}

fn menu() -> Markup {
    html! {
        nav #menu aria-label="Console" {
            span data-role="key" hidden {
                a href="#/v1/keys/me" { "Usage" }
                a href="#/v1/usage" { "Past usage" }
                a href="#/v1/usage/calls" { "Calls" }
                a href="#/v1/keys/me/alerts" { "Alerts" }
                a href="#/v1/keys/me/secrets" { "Secrets" }
                a href="#/sessions" { "Sessions" }
                a href="#/pages" { "Pages" }
                a href=(format!("#{}", super::analytics::address(None, "30d"))) { "Analytics" }
                a href="#/webhooks" { "Webhooks" }
            }
            span data-role="admin" hidden {
                a href="#/v1/keys" { "Keys" }
                a href="#/admin/reports" { "Reports" }
                a href="#/v1/status/incidents" { "Incidents" }
            }
            a href="#/v1/status" { "Tools" }
            button #sign-out type="button" { "Sign out" }
        }
    }
}

fn dialogs() -> Markup {
    html! {
        dialog #ask aria-labelledby="question" {
            p #question data-text {}
            // The first button has the focus. With `autofocus`, a browser complains of who types early.
            button type="button" data-answer="no" { "No" }
            button.danger type="button" data-answer="yes" { "Yes" }
        }
        dialog #again aria-labelledby="typed-again" {
            form method="dialog" {
                h2 #typed-again { "Sign in again" }
                p data-text {}
                (name_of_key())
                label for="again-secret" { "API key" }
                input #again-secret type="password" autocomplete="current-password" spellcheck="false" required;
                button { "Continue" }
                button type="button" data-answer="no" { "Cancel" }
            }
        }
        dialog #reveal aria-labelledby="revealed" {
            h2 #revealed { "The new key" }
            p { "It is shown this once. Keep it where programs keep secrets." }
            p { code data-text {} }
            button #copy type="button" { "Copy" }
            button type="button" data-answer="no" { "Done" }
            p #copied role="status" {}
        }
    }
}
