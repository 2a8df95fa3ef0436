//! The guides: how to do what most readers come for, each with calls that work as they stand. Their text is
//! Markdown, in `docs/guides/`.
//!
//! Why: docs/decisions/portal.md, "Guides are Markdown of the repository"

mod rendering;
mod tables;

use maud::{Markup, PreEscaped, html};
use shared::problem::Code;

use super::changelog;
use super::host::Host;
use super::model::{Description, Operation};
use crate::docs_page::DocsPage;

/// A guide of the reference.
pub(super) struct Guide {
    page: DocsPage,
    /// The anchor.
    pub(super) id: &'static str,
    /// The heading, then the text, as Markdown.
    text: &'static str,
}

/// Returns the guide of a file.
macro_rules! guide {
    ($page:ident, $id:literal, $file:literal) => {
        Guide {
            page: DocsPage::$page,
            id: $id,
            text: include_str!(concat!("../../../docs/guides/", $file, ".md")),
        }
    };
}

/// Every guide, in the order of the pages.
const GUIDES: [Guide; 19] = [
    guide!(Start, "start", "start"),
    guide!(Limits, "limits", "limits"),
    guide!(Errors, "errors", "errors"),
    guide!(Retries, "retries", "retries"),
    guide!(Idempotency, "idempotency", "idempotency"),
    guide!(Rotation, "rotation", "rotation"),
    guide!(Streaming, "streaming", "streaming"),
    guide!(Browsers, "browsers", "browsers"),
    guide!(Calls, "tools", "calls"),
    guide!(Mcp, "mcp", "mcp"),
    guide!(Pagination, "pagination", "pagination"),
    guide!(Localhost, "localhost", "localhost"),
    guide!(Publish, "publish", "publish"),
    guide!(Publish, "visitors", "visitors"),
    guide!(Products, "sync", "products"),
    guide!(Analytics, "measure", "analytics"),
    guide!(Receive, "receive", "receive"),
    guide!(Administration, "abuse", "administration"),
    Guide { page: DocsPage::Changelog, id: "changes", text: "# Versions\n" },
];

impl Guide {
    /// Returns the guides of a page.
    pub(super) fn on(page: DocsPage) -> impl Iterator<Item = Self> {
        GUIDES.into_iter().filter(move |guide| guide.page == page)
    }

    /// Returns the heading.
    pub(super) fn title(&self) -> &'static str {
        self.text.lines().next().unwrap_or_default().trim_start_matches("# ")
    }

    /// Returns the section of the guide.
    pub(super) fn section(&self, source: &Source<'_>) -> Markup {
        html! {
            section.guide {
                h2 id=(self.id) { a href=(format!("#{}", self.id)) { (self.title()) } }
                @match self.page {
                    DocsPage::Changelog => (changelog::page(source.host)),
                    _ => (PreEscaped(rendering::html_of(self.text, source))),
                }
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

#[cfg(test)]
mod tests;
