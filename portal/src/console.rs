//! The console: a page that signs in with a key, and views of responses of the API as HTML. A view
//! is made of the JSON that the API returns, so it shows what a program gets. maud escapes every
//! text of a user. Nothing but a view or a problem leaves here: a table of CSV, for instance, has
//! texts of visitors as they are, and the console's script would take them for HTML.

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
mod sessions;
mod sources;
mod status;
mod templates;
mod usage;
mod webhooks;

use maud::Markup;
use serde_json::Value;

pub use page::page;
pub use sessions::sessions;

use biolink::codes;
use shared::problem::{MEDIA_TYPE, Problem};
use shared::response::Response;

use crate::route::{ConsoleCall, ConsoleView};

/// The media type of a view. The console's script takes no other for one.
const HTML: &str = "text/html; charset=utf-8";

/// Returns the view of the API's response to a read. A problem stays as it is.
///
/// # Errors
/// Returns `route-unknown` for a response that is neither JSON nor a problem.
pub fn respond(
    call: &ConsoleCall<'_>,
    query: Option<&str>,
    response: Response<Vec<u8>>,
) -> Result<Response<Vec<u8>>, Problem> {
    let media_type = response.header("content-type").unwrap_or_default();
    match media_type {
        MEDIA_TYPE => Ok(response),
        "application/json" if response.status == 200 => {
            let Ok(value) = serde_json::from_slice(&response.body) else {
                return Err(no_view(call, media_type));
            };
            let etag = response.header("etag").unwrap_or_default();
            Ok(view(render(call, query, &value, etag)).into_bytes())
        }
        _ => Err(no_view(call, media_type)),
    }
}

fn view(html: Markup) -> Response {
    Response::new(200, HTML, "no-store", html.into_string()).with_headers([("x-robots-tag", "noindex")])
}

/// Returns the refusal of a read whose response has no view.
pub fn no_view(call: &ConsoleCall<'_>, media_type: &str) -> Problem {
    let path = call.path;
    let detail = format!("the console has no view of `{media_type}`: send the request to {path} itself");
    Problem::new(codes::ROUTE_UNKNOWN, detail)
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
