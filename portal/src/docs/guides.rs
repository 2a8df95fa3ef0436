//! The guides: how to do what most readers come for, each with calls that work as they stand.

mod biolink;
mod edge;
mod gateway;
mod tables;

use maud::{Markup, html};
use shared::problem::Code;

use super::changelog;
use super::host::Host;
use super::model::{Authentication, Description, Operation};
use super::snippet::{Call, Snippet};
use crate::docs_page::DocsPage;

/// A guide of the reference.
pub(super) struct Guide {
    page: DocsPage,
    /// The anchor.
    pub(super) id: &'static str,
    /// The heading.
    pub(super) title: &'static str,
    content: fn(&Source<'_>) -> Markup,
}

/// Every guide, in the order of the pages.
const GUIDES: [Guide; 19] = [
    guide(DocsPage::Start, "start", "First call", gateway::start),
    guide(DocsPage::Limits, "limits", "Calls by tier", gateway::limits),
    guide(DocsPage::Errors, "errors", "Handle an error", gateway::errors),
    guide(DocsPage::Retries, "retries", "Send it again", |_| gateway::retries()),
    guide(DocsPage::Idempotency, "idempotency", "Name the request", gateway::idempotency),
    guide(DocsPage::Rotation, "rotation", "New secret, old secret", gateway::rotation),
    guide(DocsPage::Streaming, "streaming", "Read as it arrives", |_| gateway::streaming()),
    guide(DocsPage::Browsers, "browsers", "Call from a page", |_| gateway::browsers()),
    guide(DocsPage::Calls, "tools", "Tools", |source| gateway::tools(source.host)),
    guide(DocsPage::Mcp, "mcp", "Connect an agent", |_| edge::mcp()),
    guide(DocsPage::Pagination, "pagination", "Follow the cursor", |_| edge::pagination()),
    guide(DocsPage::Localhost, "localhost", "Receive on your machine", edge::localhost),
    guide(DocsPage::Publish, "publish", "Create and publish", biolink::pages),
    guide(DocsPage::Publish, "visitors", "Routes of visitors", |_| tables::visitors()),
    guide(DocsPage::Products, "sync", "Sync products", biolink::products),
    guide(DocsPage::Analytics, "measure", "Read analytics", biolink::analytics),
    guide(DocsPage::Receive, "receive", "Create, verify, respond", biolink::webhooks),
    guide(DocsPage::Administration, "abuse", "Stop abuse", biolink::administration),
    guide(DocsPage::Changelog, "changes", "Versions", |source| changelog::page(source.host)),
];

const fn guide(
    page: DocsPage,
    id: &'static str,
    title: &'static str,
    content: fn(&Source<'_>) -> Markup,
) -> Guide {
    Guide { page, id, title, content }
}

impl Guide {
    /// Returns the guides of a page.
    pub(super) fn on(page: DocsPage) -> impl Iterator<Item = Self> {
        GUIDES.into_iter().filter(move |guide| guide.page == page)
    }

    /// Returns the section of the guide.
    pub(super) fn section(&self, source: &Source<'_>) -> Markup {
        html! {
            section.guide {
                h2 id=(self.id) { a href=(format!("#{}", self.id)) { (self.title) } }
                ((self.content)(source))
            }
        }
    }
}

/// The parts of the model from which the guides of a page are made.
pub(super) struct Source<'a> {
    /// The description of the gateway.
    pub(super) gateway: &'a Description,
    /// Every operation that the examples may show.
    pub(super) operations: &'a [&'a Operation<'a>],
    pub(super) host: Host,
    /// The problems that every operation can have.
    pub(super) anywhere: &'a [Code],
}

impl Source<'_> {
    /// Returns the example of an operation in every language.
    fn example(&self, id: &str) -> Markup {
        let operation = self.operations.iter().find(|operation| operation.id == id);
        operation.map(|operation| Call::of(operation).snippet().markup()).unwrap_or_default()
    }
}

/// Returns a call with an API key and without a body, in every language.
fn get(target: &str) -> Markup {
    let authentication = Authentication::ApiKey;
    Call { method: "GET", target: target.to_owned(), authentication, body: None }.snippet().markup()
}

/// Returns code that is written for each language.
fn written(texts: [&str; 5]) -> Markup {
    Snippet::of(texts).markup()
}
