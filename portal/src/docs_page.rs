//! The pages of the reference.

use strum::VariantArray;

/// A page of the reference. Each is small enough for a phone on a slow network.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, VariantArray)]
pub enum DocsPage {
    /// `GET /docs`: guides, tools and keys.
    Gateway,
    /// `GET /docs/pages`: accounts, pages, links and revisions.
    Pages,
    /// `GET /docs/products`: product sources.
    Products,
    /// `GET /docs/analytics`: reports of visits.
    Analytics,
    /// `GET /docs/webhooks`: webhooks and the event log.
    Webhooks,
    /// `GET /docs/administration`: what the operator of pages does.
    Administration,
}

impl DocsPage {
    /// Every page once.
    pub const ALL: [Self; 6] = *Self::VARIANTS.as_array().unwrap();

    /// Returns the page of the segment after `/docs/`.
    pub(crate) fn parse(segment: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|page| page.path().strip_prefix("/docs/") == Some(segment))
    }

    /// Returns the path.
    pub const fn path(self) -> &'static str {
        match self {
            Self::Gateway => "/docs",
            Self::Pages => "/docs/pages",
            Self::Products => "/docs/products",
            Self::Analytics => "/docs/analytics",
            Self::Webhooks => "/docs/webhooks",
            Self::Administration => "/docs/administration",
        }
    }

    /// Returns the title.
    pub const fn title(self) -> &'static str {
        match self {
            Self::Gateway => "Guides, keys and tools",
            Self::Pages => "Bio-link pages",
            Self::Products => "Product sync",
            Self::Analytics => "Analytics",
            Self::Webhooks => "Webhooks",
            Self::Administration => "Administration",
        }
    }

    /// Returns one sentence about the page.
    pub const fn about(self) -> &'static str {
        match self {
            Self::Gateway => {
                "Call every tool with one API key: first call, limits, errors, and every operation of keys and tools."
            }
            Self::Pages => "Create, change and publish bio-link pages with the REST API.",
            Self::Products => "Keep the products of a page in step with a shop.",
            Self::Analytics => "Read how often pages were viewed, clicked and scanned.",
            Self::Webhooks => "Have events of pages sent to your server, or read their log.",
            Self::Administration => "Act against abuse of bio-link pages, with the admin secret.",
        }
    }
}
