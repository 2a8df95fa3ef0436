//! The routes of bio-link pages: the REST API, and what visitors open.

use crate::{
    events::SeenToken,
    method::Method,
    page::{LinkId, PageId, ProductId, Slug},
};

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
}

/// One method on one path template of the pages API.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "`method` and `path` say what each one is")]
pub enum PagesEndpoint {
    List,
    Create,
    Read,
    Replace,
    Patch,
    Delete,
    Publish,
    Unpublish,
    Revisions,
    ReadRevision,
    Restore,
    AddLink,
    PatchLink,
    DeleteLink,
    OrderLinks,
    Analytics,
    LiveAnalytics,
    ResetAnalytics,
    Account,
    Export,
    Erase,
}

/// What a visitor opens, below a slug.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Visit<'a> {
    /// The slug as it was written: in capital letters perhaps.
    slug: &'a str,
    /// What of it.
    pub part: VisitPart,
}

/// A part of what visitors open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VisitPart {
    /// `/{slug}`
    Page,
    /// `/{slug}/l/{link_id}`
    Link(LinkId),
    /// `/{slug}/p/{product_id}`
    Product(ProductId),
    /// `POST /{slug}/ping/{link_id}`: a link was followed that leads nowhere on the web.
    Ping(LinkId),
    /// `/{slug}/seen/{token}`: the image that says that the page was laid out.
    Seen(SeenToken),
    /// `/{slug}/card.vcf`
    Card,
    /// `/{slug}/qr.svg`
    QrSvg,
    /// `/{slug}/qr.png`
    QrPng,
    /// `/q/{code}`: a page's QR code was scanned. Its slug does as a code too.
    Code,
    /// `GET /{slug}/report`
    ReportForm,
    /// `POST /{slug}/report`
    Report,
}

/// One path template of what visitors open.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "`path` says what each one is")]
pub enum VisitEndpoint {
    Page,
    Link,
    Product,
    Ping,
    Seen,
    Card,
    QrSvg,
    QrPng,
    Code,
    ReportForm,
    Report,
}

impl PagesEndpoint {
    /// Every endpoint once.
    pub const ALL: [Self; 21] = [
        Self::List,
        Self::Create,
        Self::Read,
        Self::Replace,
        Self::Patch,
        Self::Delete,
        Self::Publish,
        Self::Unpublish,
        Self::Revisions,
        Self::ReadRevision,
        Self::Restore,
        Self::AddLink,
        Self::PatchLink,
        Self::DeleteLink,
        Self::OrderLinks,
        Self::Analytics,
        Self::LiveAnalytics,
        Self::ResetAnalytics,
        Self::Account,
        Self::Export,
        Self::Erase,
    ];

    /// Returns the method.
    #[must_use]
    pub const fn method(self) -> Method {
        match self {
            Self::List
            | Self::Read
            | Self::Revisions
            | Self::ReadRevision
            | Self::Analytics
            | Self::LiveAnalytics
            | Self::Account
            | Self::Export => Method::Get,
            Self::Create
            | Self::Publish
            | Self::Unpublish
            | Self::Restore
            | Self::AddLink
            | Self::ResetAnalytics => Method::Post,
            Self::Replace | Self::OrderLinks => Method::Put,
            Self::Patch | Self::PatchLink => Method::Patch,
            Self::Delete | Self::DeleteLink | Self::Erase => Method::Delete,
        }
    }

    /// Returns the path, with parameters in braces.
    #[must_use]
    pub const fn path(self) -> &'static str {
        match self {
            Self::List | Self::Create => "/pages",
            Self::Read | Self::Replace | Self::Patch | Self::Delete => "/pages/{page_id}",
            Self::Publish => "/pages/{page_id}/publish",
            Self::Unpublish => "/pages/{page_id}/unpublish",
            Self::Revisions => "/pages/{page_id}/revisions",
            Self::ReadRevision => "/pages/{page_id}/revisions/{revision}",
            Self::Restore => "/pages/{page_id}/revisions/{revision}/restore",
            Self::AddLink => "/pages/{page_id}/links",
            Self::PatchLink | Self::DeleteLink => "/pages/{page_id}/links/{link_id}",
            Self::OrderLinks => "/pages/{page_id}/links/order",
            Self::Analytics => "/analytics",
            Self::LiveAnalytics => "/analytics/live",
            Self::ResetAnalytics => "/pages/{page_id}/analytics/reset",
            Self::Account => "/account",
            Self::Export => "/account/export",
            Self::Erase => "/account/data",
        }
    }

    /// Returns true if it needs the plan that has pages. An account of any plan may be read,
    /// exported and erased, and so may its analytics be read: over a shorter window.
    #[must_use]
    pub const fn needs_plan(self) -> bool {
        !matches!(self, Self::Analytics | Self::LiveAnalytics | Self::Account | Self::Export | Self::Erase)
    }

    /// Returns true if a call changes something.
    #[must_use]
    pub const fn is_write(self) -> bool {
        !matches!(self.method(), Method::Get)
    }

    /// Returns true if a retry with the same `Idempotency-Key` gets the first response. A reset may be
    /// repeated without one.
    #[must_use]
    pub const fn takes_idempotency_key(self) -> bool {
        matches!(self.method(), Method::Post) && !matches!(self, Self::ResetAnalytics)
    }

    /// Returns true if a call has a body.
    #[must_use]
    pub const fn has_body(self) -> bool {
        matches!(
            self,
            Self::Create | Self::Replace | Self::Patch | Self::AddLink | Self::PatchLink | Self::OrderLinks
        )
    }
}

/// A path of the pages API: what it names, and the endpoints there.
#[derive(Clone, Copy)]
pub(super) struct PagesPlace {
    target: PagesTarget,
    endpoints: &'static [PagesEndpoint],
    methods: &'static [Method],
}

impl PagesPlace {
    /// Parses the segments of a path; `None` for one that is not of the pages API.
    pub(super) fn parse(segments: [Option<&str>; 5]) -> Option<Self> {
        use PagesEndpoint as E;
        let place = |target, endpoints, methods| Some(Self { target, endpoints, methods });
        let [Some(first), second, rest @ ..] = segments else { return None };
        let second = match (first, second) {
            ("account", None) => return place(PagesTarget::Account, &[E::Account], &[Method::Get]),
            ("account", Some(second)) => {
                return match (second, rest) {
                    ("export", [None, ..]) => place(PagesTarget::Account, &[E::Export], &[Method::Get]),
                    ("data", [None, ..]) => place(PagesTarget::Account, &[E::Erase], &[Method::Delete]),
                    _ => None,
                };
            }
            ("analytics", None) => return place(PagesTarget::Account, &[E::Analytics], &[Method::Get]),
            ("analytics", Some("live")) if matches!(rest, [None, ..]) => {
                return place(PagesTarget::Account, &[E::LiveAnalytics], &[Method::Get]);
            }
            ("pages", None) => {
                return place(PagesTarget::Account, &[E::List, E::Create], &[Method::Get, Method::Post]);
            }
            ("pages", Some(second)) => second,
            _ => return None,
        };
        let id = PageId::parse(second)?;
        let page = PagesTarget::Page(id);
        match rest {
            [None, ..] => place(
                page,
                &[E::Read, E::Replace, E::Patch, E::Delete],
                &[Method::Get, Method::Put, Method::Patch, Method::Delete],
            ),
            [Some("publish"), None, _] => place(page, &[E::Publish], &[Method::Post]),
            [Some("unpublish"), None, _] => place(page, &[E::Unpublish], &[Method::Post]),
            [Some("revisions"), None, _] => place(page, &[E::Revisions], &[Method::Get]),
            [Some("revisions"), Some(number), last] => {
                let revision = PagesTarget::Revision(id, revision(number)?);
                match last {
                    None => place(revision, &[E::ReadRevision], &[Method::Get]),
                    Some("restore") => place(revision, &[E::Restore], &[Method::Post]),
                    Some(_) => None,
                }
            }
            [Some("analytics"), Some("reset"), None] => place(page, &[E::ResetAnalytics], &[Method::Post]),
            [Some("links"), None, _] => place(page, &[E::AddLink], &[Method::Post]),
            [Some("links"), Some("order"), None] => place(page, &[E::OrderLinks], &[Method::Put]),
            [Some("links"), Some(link), None] => place(
                PagesTarget::Link(id, LinkId::parse(link)?),
                &[E::PatchLink, E::DeleteLink],
                &[Method::Patch, Method::Delete],
            ),
            _ => None,
        }
    }

    pub(super) const fn methods(self) -> &'static [Method] {
        self.methods
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

impl<'a> Visit<'a> {
    /// Parses the segments of a path; `None` for one that no page can have.
    pub(super) fn parse(segments: [Option<&'a str>; 5]) -> Option<Self> {
        if let [Some("q"), Some(code), None, ..] = segments {
            return Slug::parse(code).is_ok().then_some(Self { slug: code, part: VisitPart::Code });
        }
        let part = match segments {
            [_, None, ..] => VisitPart::Page,
            [_, Some("l"), Some(link), None, _] => VisitPart::Link(LinkId::parse(link)?),
            [_, Some("p"), Some(product), None, _] => VisitPart::Product(ProductId::parse(product)?),
            [_, Some("ping"), Some(link), None, _] => VisitPart::Ping(LinkId::parse(link)?),
            [_, Some("seen"), Some(token), None, _] => VisitPart::Seen(SeenToken::parse(token)?),
            [_, Some("card.vcf"), None, ..] => VisitPart::Card,
            [_, Some("qr.svg"), None, ..] => VisitPart::QrSvg,
            [_, Some("qr.png"), None, ..] => VisitPart::QrPng,
            [_, Some("report"), None, ..] => VisitPart::ReportForm,
            _ => return None,
        };
        let slug = segments.first().copied().flatten()?;
        Slug::parse(slug).is_ok().then_some(Self { slug, part })
    }

    /// Returns the slug. It differs from how it was written if that has capital letters.
    #[must_use]
    pub fn slug(&self) -> Option<Slug> {
        Slug::parse(self.slug).ok()
    }

    /// Returns the methods that the path takes.
    pub(super) const fn methods(&self) -> &'static [Method] {
        match self.part {
            VisitPart::ReportForm | VisitPart::Report => &[Method::Get, Method::Head, Method::Post],
            VisitPart::Ping(_) => &[Method::Post],
            VisitPart::Page
            | VisitPart::Link(_)
            | VisitPart::Product(_)
            | VisitPart::Seen(_)
            | VisitPart::Card
            | VisitPart::QrSvg
            | VisitPart::QrPng
            | VisitPart::Code => &[Method::Get, Method::Head],
        }
    }

    /// Returns the visit of a method on the path.
    pub(super) fn with(self, method: Method) -> Option<Self> {
        match (method, self.part) {
            (Method::Post, VisitPart::ReportForm) => Some(Self { part: VisitPart::Report, ..self }),
            (_, VisitPart::Ping(_)) => (method == Method::Post).then_some(self),
            _ => matches!(method, Method::Get | Method::Head).then_some(self),
        }
    }

    /// Returns the endpoint.
    #[must_use]
    pub const fn endpoint(&self) -> VisitEndpoint {
        match self.part {
            VisitPart::Page => VisitEndpoint::Page,
            VisitPart::Link(_) => VisitEndpoint::Link,
            VisitPart::Product(_) => VisitEndpoint::Product,
            VisitPart::Ping(_) => VisitEndpoint::Ping,
            VisitPart::Seen(_) => VisitEndpoint::Seen,
            VisitPart::Card => VisitEndpoint::Card,
            VisitPart::QrSvg => VisitEndpoint::QrSvg,
            VisitPart::QrPng => VisitEndpoint::QrPng,
            VisitPart::Code => VisitEndpoint::Code,
            VisitPart::ReportForm => VisitEndpoint::ReportForm,
            VisitPart::Report => VisitEndpoint::Report,
        }
    }
}

impl VisitEndpoint {
    /// Every endpoint once.
    pub const ALL: [Self; 11] = [
        Self::Page,
        Self::Link,
        Self::Product,
        Self::Ping,
        Self::Seen,
        Self::Card,
        Self::QrSvg,
        Self::QrPng,
        Self::Code,
        Self::ReportForm,
        Self::Report,
    ];

    /// Returns the method.
    #[must_use]
    pub const fn method(self) -> Method {
        match self {
            Self::Report | Self::Ping => Method::Post,
            Self::Page
            | Self::Link
            | Self::Product
            | Self::Seen
            | Self::Card
            | Self::QrSvg
            | Self::QrPng
            | Self::Code
            | Self::ReportForm => Method::Get,
        }
    }

    /// Returns the path, with parameters in braces.
    #[must_use]
    pub const fn path(self) -> &'static str {
        match self {
            Self::Page => "/{slug}",
            Self::Link => "/{slug}/l/{link_id}",
            Self::Product => "/{slug}/p/{product_id}",
            Self::Ping => "/{slug}/ping/{link_id}",
            Self::Seen => "/{slug}/seen/{token}",
            Self::Card => "/{slug}/card.vcf",
            Self::QrSvg => "/{slug}/qr.svg",
            Self::QrPng => "/{slug}/qr.png",
            Self::Code => "/q/{code}",
            Self::ReportForm | Self::Report => "/{slug}/report",
        }
    }
}
