//! The console: a page that signs in with a key, and views of responses of the API as HTML. A view
//! is made of the JSON that the API returns, so it shows what a program gets. maud escapes every
//! text of a user.

mod alerts;
mod analytics;
mod calls;
mod chart;
mod domains;
mod history;
mod incidents;
mod keys;
mod moderation;
mod page;
mod pages;
mod parts;
mod schema_form;
mod secrets;
mod sources;
mod status;
mod templates;
mod usage;
mod webhooks;

use maud::Markup;
use serde_json::Value;

pub use page::page;

use shared::response::Response;

use crate::route::{ConsoleCall, ConsoleView};

/// Returns the view of the API's response to a read. A problem, and what is not JSON, stays as it is.
pub fn respond(
    call: &ConsoleCall<'_>,
    query: Option<&str>,
    response: Response<Vec<u8>>,
) -> Response<Vec<u8>> {
    let is_read = response.status == 200 && response.header("content-type") == Some("application/json");
    match serde_json::from_slice(&response.body) {
        Ok(value) if is_read => {
            let etag = response.header("etag").unwrap_or_default();
            let html = render(call, query, &value, etag).into_string();
            Response::new(200, "text/html; charset=utf-8", "no-store", html.into_bytes())
                .with_headers([("x-robots-tag", "noindex")])
        }
        _ => response,
    }
}

fn render(call: &ConsoleCall<'_>, query: Option<&str>, value: &Value, etag: &str) -> Markup {
    let path = call.path;
    match call.view {
        ConsoleView::OwnKey => usage::own_key(value),
        ConsoleView::History => history::history(query, value),
        ConsoleView::Calls => calls::all(path, query, value),
        ConsoleView::Alerts => alerts::all(value),
        ConsoleView::Secrets => secrets::all(value),
        ConsoleView::Keys => keys::all(path, query, value),
        ConsoleView::Key => keys::one(value),
        ConsoleView::Status => status::tools(value),
        ConsoleView::Incidents => incidents::all(value),
        ConsoleView::Account => pages::account(value),
        ConsoleView::Domains => domains::all(value),
        ConsoleView::Pages => pages::all(path, query, value),
        ConsoleView::Page => pages::one(value, etag),
        ConsoleView::Revisions => pages::revisions(path, value),
        ConsoleView::Sources => sources::all(path, value),
        ConsoleView::Source => sources::one(path, value),
        ConsoleView::SourceRuns => sources::runs(path, value),
        ConsoleView::Analytics => analytics::report(query, value),
        ConsoleView::Webhooks => webhooks::all(value),
        ConsoleView::Webhook => webhooks::one(value),
        ConsoleView::Deliveries => webhooks::deliveries(path, query, value),
        ConsoleView::Delivery => webhooks::delivery(value),
        ConsoleView::ReportedPage => moderation::page(value),
        ConsoleView::ReportedAccount => moderation::account(value),
        ConsoleView::Reports => moderation::reports(path, query, value),
    }
}

#[cfg(test)]
mod tests;
