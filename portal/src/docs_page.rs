//! The pages of the reference.

use strum::VariantArray;

/// The path of the feed of the changelog.
pub(crate) const CHANGELOG_FEED_PATH: &str = "/docs/changelog.atom";
/// The media type of a page as Markdown (RFC 7763).
pub(crate) const MARKDOWN: &str = "text/markdown";

/// A page of the reference. Each is small enough for a phone on a slow network.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, VariantArray)]
#[allow(missing_docs, reason = "`title` and `about` say what each one is")]
pub enum DocsPage {
    Start,
    Limits,
    Errors,
    Retries,
    Idempotency,
    Rotation,
    Streaming,
    Browsers,
    Calls,
    Keys,
    ManageKeys,
    Service,
    Mcp,
    Publish,
    Pagination,
    Receive,
    Localhost,
    Pages,
    Links,
    Revisions,
    Images,
    Domains,
    Account,
    Objects,
    Products,
    Analytics,
    Webhooks,
    Events,
    Administration,
    Changelog,
}

impl DocsPage {
    /// Every page once, in the order in which they are read.
    pub const ALL: [Self; 30] = *Self::VARIANTS.as_array().unwrap();

    /// Returns the page of the segment after `/docs/`.
    pub(crate) fn parse(segment: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|page| page.path().strip_prefix("/docs/") == Some(segment))
    }

    /// Returns true if it is about what only the edge has: agents and bio-link pages.
    pub(crate) fn is_of_edge(self) -> bool {
        self >= Self::Mcp && self != Self::Changelog
    }

    /// Returns the heading under which the contents list it.
    pub(crate) fn group(self) -> &'static str {
        match self {
            page if page < Self::Calls => "Guides",
            page if page < Self::Mcp => "Tools and keys",
            page if page < Self::Pages => "Guides for agents and pages",
            Self::Changelog => "News",
            _ => "Bio-link pages",
        }
    }

    /// Returns the path.
    pub const fn path(self) -> &'static str {
        match self {
            Self::Start => "/docs",
            Self::Limits => "/docs/limits",
            Self::Errors => "/docs/errors",
            Self::Retries => "/docs/retries",
            Self::Idempotency => "/docs/idempotency",
            Self::Rotation => "/docs/rotation",
            Self::Mcp => "/docs/mcp",
            Self::Pagination => "/docs/pagination",
            Self::Localhost => "/docs/localhost",
            Self::Streaming => "/docs/streaming",
            Self::Browsers => "/docs/browsers",
            Self::Calls => "/docs/calls",
            Self::Keys => "/docs/keys",
            Self::ManageKeys => "/docs/manage-keys",
            Self::Service => "/docs/service",
            Self::Publish => "/docs/publish",
            Self::Pages => "/docs/pages",
            Self::Links => "/docs/links",
            Self::Revisions => "/docs/revisions",
            Self::Images => "/docs/images",
            Self::Domains => "/docs/domains",
            Self::Account => "/docs/account",
            Self::Objects => "/docs/objects",
            Self::Products => "/docs/products",
            Self::Analytics => "/docs/analytics",
            Self::Receive => "/docs/receive",
            Self::Webhooks => "/docs/webhooks",
            Self::Events => "/docs/events",
            Self::Administration => "/docs/administration",
            Self::Changelog => "/docs/changelog",
        }
    }

    /// Returns the path of the same page as Markdown.
    pub fn markdown_path(self) -> String {
        format!("{}.md", self.path())
    }

    /// Returns the title.
    pub const fn title(self) -> &'static str {
        match self {
            Self::Start => "Quick start",
            Self::Limits => "Limits and headers",
            Self::Errors => "Errors",
            Self::Retries => "Retries",
            Self::Idempotency => "Idempotency",
            Self::Mcp => "Agents (MCP)",
            Self::Pagination => "Pagination",
            Self::Localhost => "Webhooks on localhost",
            Self::Rotation => "Rotate a key",
            Self::Streaming => "Streaming",
            Self::Browsers => "Browsers (CORS)",
            Self::Calls => "Tool calls",
            Self::Keys => "Your key",
            Self::ManageKeys => "Issue and manage keys",
            Self::Service => "Health, status and descriptions",
            Self::Publish => "Publish a page",
            Self::Pages => "Bio-link pages",
            Self::Links => "Links",
            Self::Revisions => "Revisions",
            Self::Images => "Images",
            Self::Domains => "Domains",
            Self::Account => "Account",
            Self::Objects => "Objects of pages",
            Self::Products => "Product sync",
            Self::Analytics => "Analytics",
            Self::Receive => "Receive webhooks",
            Self::Webhooks => "Webhooks",
            Self::Events => "Events",
            Self::Administration => "Administration",
            Self::Changelog => "Changelog",
        }
    }

    /// Returns one sentence about the page.
    pub const fn about(self) -> &'static str {
        match self {
            Self::Start => "Call every tool with one API key. The first call takes a minute.",
            Self::Limits => "How many calls a key may make, what counts, and what each response says of it.",
            Self::Errors => "What the gateway's errors look like, and what to do with each.",
            Self::Retries => "Which requests to send again, and when.",
            Self::Idempotency => "Send a POST again without having it happen twice.",
            Self::Mcp => "Give an agent the tools and the pages of a key over the Model Context Protocol.",
            Self::Pagination => "Read a long list page by page.",
            Self::Localhost => "Get the events of pages on your own machine while you write the receiver.",
            Self::Rotation => "Replace the secret of a key without downtime.",
            Self::Streaming => "Read a response while the tool still writes it.",
            Self::Browsers => "Call the API from a page in a browser.",
            Self::Calls => "Every tool, and the two operations with which all of them are called.",
            Self::Keys => "Read the limits and the usage of your key, replace its secret, or end it.",
            Self::ManageKeys => "Issue, list, change, rotate and revoke keys, with the admin secret.",
            Self::Service => "Whether the service and its tools are available, and where they are described.",
            Self::Publish => "Make a bio-link page, publish it, and lead visitors to it.",
            Self::Pages => "Create, change and publish bio-link pages with the REST API.",
            Self::Links => "Change single links of a page.",
            Self::Revisions => "Read and restore what a page was before.",
            Self::Images => "Upload images of your own, for pages.",
            Self::Domains => "Show pages under host names of your own.",
            Self::Account => "What the account may have and has used, and all that it has stored.",
            Self::Objects => "The objects that requests and responses of pages and links consist of.",
            Self::Products => "Keep the products of a page in step with a shop.",
            Self::Analytics => "Read how often pages were viewed, clicked and scanned.",
            Self::Receive => "Have events of pages sent to your server, verified, and none twice.",
            Self::Webhooks => "Register addresses that get events of pages, and see the deliveries to them.",
            Self::Events => "Read the log of the events of pages.",
            Self::Administration => "Act against abuse of bio-link pages, with the admin secret.",
            Self::Changelog => "What is new, changed and fixed for who calls the API.",
        }
    }
}
