//! The guides: how to do what most readers come for, each with calls that work as they stand.

mod biolink;
mod gateway;
mod tables;

use maud::{Markup, html};
use shared::problem::Code;

use super::{
    host::Host,
    model::{Authentication, Description, Operation},
    snippet::{Call, Snippet},
};
use crate::docs_page::DocsPage;

/// A guide of the reference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Guide {
    Start,
    Tools,
    Limits,
    Errors,
    Rotation,
    Streaming,
    Browsers,
    Pages,
    Visitors,
    Products,
    Analytics,
    Webhooks,
    Administration,
}

impl Guide {
    const ALL: [Self; 13] = [
        Self::Start,
        Self::Tools,
        Self::Limits,
        Self::Errors,
        Self::Rotation,
        Self::Streaming,
        Self::Browsers,
        Self::Pages,
        Self::Visitors,
        Self::Products,
        Self::Analytics,
        Self::Webhooks,
        Self::Administration,
    ];

    /// Returns the guides of a page.
    pub(super) fn on(page: DocsPage) -> impl Iterator<Item = Self> {
        Self::ALL.into_iter().filter(move |guide| guide.page() == page)
    }

    const fn page(self) -> DocsPage {
        match self {
            Self::Start
            | Self::Tools
            | Self::Limits
            | Self::Errors
            | Self::Rotation
            | Self::Streaming
            | Self::Browsers => DocsPage::Gateway,
            Self::Pages | Self::Visitors => DocsPage::Pages,
            Self::Products => DocsPage::Products,
            Self::Analytics => DocsPage::Analytics,
            Self::Webhooks => DocsPage::Webhooks,
            Self::Administration => DocsPage::Administration,
        }
    }

    /// Returns the anchor.
    pub(super) const fn id(self) -> &'static str {
        match self {
            Self::Start => "start",
            Self::Tools => "tools",
            Self::Limits => "limits",
            Self::Errors => "errors",
            Self::Rotation => "rotation",
            Self::Streaming => "streaming",
            Self::Browsers => "browsers",
            Self::Pages => "publish",
            Self::Visitors => "visitors",
            Self::Products => "sync",
            Self::Analytics => "measure",
            Self::Webhooks => "receive",
            Self::Administration => "abuse",
        }
    }

    /// Returns the heading.
    pub(super) const fn title(self) -> &'static str {
        match self {
            Self::Start => "First call",
            Self::Tools => "Tools",
            Self::Limits => "Limits and headers",
            Self::Errors => "Errors and retries",
            Self::Rotation => "Rotate a key",
            Self::Streaming => "Streaming",
            Self::Browsers => "Browsers (CORS)",
            Self::Pages => "Publish a page",
            Self::Visitors => "Routes of visitors",
            Self::Products => "Sync products",
            Self::Analytics => "Read analytics",
            Self::Webhooks => "Receive webhooks",
            Self::Administration => "Stop abuse",
        }
    }

    /// Returns the section of the guide.
    pub(super) fn section(self, source: &Source<'_>) -> Markup {
        let content = match self {
            Self::Start => gateway::start(source),
            Self::Tools => gateway::tools(),
            Self::Limits => gateway::limits(source),
            Self::Errors => gateway::errors(source),
            Self::Rotation => gateway::rotation(source),
            Self::Streaming => gateway::streaming(),
            Self::Browsers => gateway::browsers(),
            Self::Pages => biolink::pages(source),
            Self::Visitors => tables::visitors(),
            Self::Products => biolink::products(source),
            Self::Analytics => biolink::analytics(source),
            Self::Webhooks => biolink::webhooks(source),
            Self::Administration => biolink::administration(source),
        };
        html! {
            section.guide {
                h2 id=(self.id()) { a href=(format!("#{}", self.id())) { (self.title()) } }
                (content)
            }
        }
    }
}

/// The parts of the model from which the guides of a page are made.
pub(super) struct Source<'a> {
    pub(super) description: &'a Description,
    /// The operations of the page.
    pub(super) operations: &'a [Operation<'a>],
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
