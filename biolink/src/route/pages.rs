//! The routes of the bio-link REST API.

use shared::endpoints;
use shared::method::Method;
use shared::route::Segments;

use super::endpoint_path::EndpointCall;
use crate::page::{DomainId, ImageId, LinkId, PageId, SourceId};

/// A call of the pages API.
pub type PagesCall = EndpointCall<PagesEndpoint, PagesTarget>;

/// The object that a path of the pages API names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PagesTarget {
    /// The account of the key.
    Account,
    /// A page.
    Page(PageId),
    /// A revision of a page.
    Revision(PageId, u64),
    /// A link of a page.
    Link(PageId, LinkId),
    /// A product source of a page.
    Source(PageId, SourceId),
    /// An uploaded image.
    Image(ImageId),
    /// A domain of the account.
    Domain(DomainId),
}

endpoints! {
    /// One method on one path template of the pages API.
    PagesEndpoint
    List: Get "/pages",
    Create: Post "/pages",
    Read: Get "/pages/{page_id}",
    Replace: Put "/pages/{page_id}",
    Patch: Patch "/pages/{page_id}",
    Delete: Delete "/pages/{page_id}",
    Publish: Post "/pages/{page_id}/publish",
    Unpublish: Post "/pages/{page_id}/unpublish",
    Revisions: Get "/pages/{page_id}/revisions",
    ReadRevision: Get "/pages/{page_id}/revisions/{revision}",
    Restore: Post "/pages/{page_id}/revisions/{revision}/restore",
    AddLink: Post "/pages/{page_id}/links",
    PatchLink: Patch "/pages/{page_id}/links/{link_id}",
    DeleteLink: Delete "/pages/{page_id}/links/{link_id}",
    OrderLinks: Put "/pages/{page_id}/links/order",
    ListSources: Get "/pages/{page_id}/product-sources",
    CreateSource: Post "/pages/{page_id}/product-sources",
    ReadSource: Get "/pages/{page_id}/product-sources/{source_id}",
    PatchSource: Patch "/pages/{page_id}/product-sources/{source_id}",
    DeleteSource: Delete "/pages/{page_id}/product-sources/{source_id}",
    RefreshSource: Post "/pages/{page_id}/product-sources/{source_id}/refresh",
    SourceRuns: Get "/pages/{page_id}/product-sources/{source_id}/runs",
    Analytics: Get "/analytics",
    LiveAnalytics: Get "/analytics/live",
    ResetAnalytics: Post "/pages/{page_id}/analytics/reset",
    ListImages: Get "/images",
    UploadImage: Post "/images",
    ReadImage: Get "/images/{image_id}",
    DeleteImage: Delete "/images/{image_id}",
    ListDomains: Get "/domains",
    CreateDomain: Post "/domains",
    ReadDomain: Get "/domains/{domain_id}",
    PatchDomain: Patch "/domains/{domain_id}",
    DeleteDomain: Delete "/domains/{domain_id}",
    VerifyDomain: Post "/domains/{domain_id}/verify",
    Account: Get "/account",
    Export: Get "/account/export",
    Erase: Delete "/account/data",
}

impl PagesEndpoint {
    /// Returns true if it needs the plan that has pages. An account of any plan may be read,
    /// exported and erased, and so may its analytics be read: over a shorter window.
    pub const fn needs_plan(self) -> bool {
        !matches!(self, Self::Analytics | Self::LiveAnalytics | Self::Account | Self::Export | Self::Erase)
    }

    /// Returns true if a call changes something.
    pub const fn is_write(self) -> bool {
        !matches!(self.method(), Method::Get)
    }

    /// Returns true if a retry with the same `Idempotency-Key` gets the first response. A reset, a
    /// refresh, a check and the upload of an image may be repeated without one.
    pub const fn takes_idempotency_key(self) -> bool {
        matches!(self.method(), Method::Post)
            && !matches!(
                self,
                Self::ResetAnalytics | Self::RefreshSource | Self::UploadImage | Self::VerifyDomain
            )
    }

    /// Returns true if it is about product sources, and not about the page itself.
    pub const fn is_of_sources(self) -> bool {
        matches!(
            self,
            Self::ListSources
                | Self::CreateSource
                | Self::ReadSource
                | Self::PatchSource
                | Self::DeleteSource
                | Self::RefreshSource
                | Self::SourceRuns
        )
    }

    /// Returns true if a call has a JSON body.
    pub const fn has_body(self) -> bool {
        matches!(
            self,
            Self::Create
                | Self::Replace
                | Self::Patch
                | Self::AddLink
                | Self::PatchLink
                | Self::OrderLinks
                | Self::CreateSource
                | Self::PatchSource
                | Self::CreateDomain
                | Self::PatchDomain
        )
    }
}

impl PagesTarget {
    /// Parses the segments of a path; `None` for an id that is malformed.
    pub(super) fn parse(segments: Segments<'_>) -> Option<Self> {
        if let [Some("images"), Some(image), ..] = segments {
            return ImageId::parse(image).map(Self::Image);
        }
        if let [Some("domains"), Some(domain), ..] = segments {
            return DomainId::parse(domain).map(Self::Domain);
        }
        let [Some("pages"), Some(page), part, name, ..] = segments else { return Some(Self::Account) };
        let page = PageId::parse(page)?;
        Some(match (part, name) {
            (Some("revisions"), Some(number)) => Self::Revision(page, revision(number)?),
            (Some("product-sources"), Some(source)) => Self::Source(page, SourceId::parse(source)?),
            (Some("links"), Some(link)) if link != "order" => Self::Link(page, LinkId::parse(link)?),
            _ => Self::Page(page),
        })
    }
}

/// Returns the number of a revision: decimal digits without leading zeros.
fn revision(text: &str) -> Option<u64> {
    let number = text.parse::<u64>().ok()?;
    (number > 0 && number.to_string() == text).then_some(number)
}
