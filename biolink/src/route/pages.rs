//! The routes of the bio-link REST API.

use shared::method::{Method, Methods};

use crate::page::{LinkId, PageId, SourceId};

/// A call of the pages API.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PagesCall {
    /// What is called.
    pub endpoint: PagesEndpoint,
    /// What it is called for.
    pub target: PagesTarget,
}

/// What a path of the pages API names.
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

    /// Returns true if a retry with the same `Idempotency-Key` gets the first response. A reset and a
    /// refresh may be repeated without one.
    pub const fn takes_idempotency_key(self) -> bool {
        matches!(self.method(), Method::Post) && !matches!(self, Self::ResetAnalytics | Self::RefreshSource)
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

    /// Returns true if a call has a body.
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
        )
    }
}

/// A path of the pages API: what it names, and the endpoints there.
#[derive(Clone, Copy)]
pub struct PagesPlace {
    target: PagesTarget,
    endpoints: &'static [PagesEndpoint],
}

impl PagesPlace {
    /// Parses the segments of a path; `None` for one that is not of the pages API.
    pub(super) fn parse(segments: [Option<&str>; 5]) -> Option<Self> {
        use PagesEndpoint as E;
        let place = |target, endpoints| Some(Self { target, endpoints });
        let [Some(first), second, rest @ ..] = segments else { return None };
        let second = match (first, second) {
            ("account", None) => return place(PagesTarget::Account, &[E::Account]),
            ("account", Some(second)) => {
                return match (second, rest) {
                    ("export", [None, ..]) => place(PagesTarget::Account, &[E::Export]),
                    ("data", [None, ..]) => place(PagesTarget::Account, &[E::Erase]),
                    _ => None,
                };
            }
            ("analytics", None) => return place(PagesTarget::Account, &[E::Analytics]),
            ("analytics", Some("live")) if matches!(rest, [None, ..]) => {
                return place(PagesTarget::Account, &[E::LiveAnalytics]);
            }
            ("pages", None) => {
                return place(PagesTarget::Account, &[E::List, E::Create]);
            }
            ("pages", Some(second)) => second,
            _ => return None,
        };
        let id = PageId::parse(second)?;
        let page = PagesTarget::Page(id);
        match rest {
            [None, ..] => place(page, &[E::Read, E::Replace, E::Patch, E::Delete]),
            [Some("publish"), None, _] => place(page, &[E::Publish]),
            [Some("unpublish"), None, _] => place(page, &[E::Unpublish]),
            [Some("revisions"), None, _] => place(page, &[E::Revisions]),
            [Some("revisions"), Some(number), last] => {
                let revision = PagesTarget::Revision(id, revision(number)?);
                match last {
                    None => place(revision, &[E::ReadRevision]),
                    Some("restore") => place(revision, &[E::Restore]),
                    Some(_) => None,
                }
            }
            [Some("analytics"), Some("reset"), None] => place(page, &[E::ResetAnalytics]),
            [Some("product-sources"), None, _] => place(page, &[E::ListSources, E::CreateSource]),
            [Some("product-sources"), Some(source), last] => {
                let source = PagesTarget::Source(id, SourceId::parse(source)?);
                match last {
                    None => place(source, &[E::ReadSource, E::PatchSource, E::DeleteSource]),
                    Some("refresh") => place(source, &[E::RefreshSource]),
                    Some("runs") => place(source, &[E::SourceRuns]),
                    Some(_) => None,
                }
            }
            [Some("links"), None, _] => place(page, &[E::AddLink]),
            [Some("links"), Some("order"), None] => place(page, &[E::OrderLinks]),
            [Some("links"), Some(link), None] => {
                place(PagesTarget::Link(id, LinkId::parse(link)?), &[E::PatchLink, E::DeleteLink])
            }
            _ => None,
        }
    }

    pub(super) fn methods(self) -> Methods {
        Methods::of(self.endpoints.iter().map(|endpoint| endpoint.method()))
    }

    /// Returns the call of a method on the path.
    pub(super) fn call(self, method: Method) -> Option<PagesCall> {
        let endpoint = self.endpoints.iter().copied().find(|endpoint| endpoint.method() == method)?;
        Some(PagesCall { endpoint, target: self.target })
    }
}

/// Returns the number of a revision: decimal digits without leading zeros.
fn revision(text: &str) -> Option<u64> {
    let number = text.parse::<u64>().ok()?;
    (number > 0 && number.to_string() == text).then_some(number)
}
