//! The routes of what visitors open.

use shared::{
    endpoints,
    method::{Method, Methods},
    problem::Problem,
    route::{EndpointRoute, Parameter, Segments, Template, unknown_route},
};

use crate::{
    events::SeenToken,
    page::{LinkId, PartId, ProductId, Slug, Via},
};

/// A path that a visitor opens, below a slug.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Visit<'a> {
    /// The slug as it was written: in capital letters perhaps.
    slug: &'a str,
    /// The part of it.
    pub part: VisitPart,
}

/// A path that visitors open, whatever the method.
#[derive(Clone, Copy)]
pub struct VisitPath<'a> {
    template: Template,
    segments: Segments<'a>,
}

endpoints! {
    /// A part of what visitors open. `Code`: a page's QR code was scanned; its slug does as a code too.
    /// `Ping`: a link was followed that leads nowhere on the web. `Seen`: the image that says that the page
    /// was laid out.
    VisitPart of VisitEndpoint
    Page: Get "/{slug}",
    Link(LinkId): Get "/{slug}/l/{link_id}",
    Product(ProductId): Get "/{slug}/p/{product_id}",
    Ping(LinkId): Post "/{slug}/ping/{link_id}",
    Seen(SeenToken): Get "/{slug}/seen/{token}",
    Card: Get "/{slug}/card.vcf",
    QrSvg: Get "/{slug}/qr.svg",
    QrPng: Get "/{slug}/qr.png",
    QrPdf: Get "/{slug}/qr.pdf",
    ProductsXml: Get "/{slug}/products.xml",
    ProductsJson: Get "/{slug}/products.json",
    Code: Get "/q/{code}",
    NamedCode(Via): Get "/q/{code}/{via}",
    ShortLink(Via): Get "/s/{code}/{via}",
    ReportForm: Get "/{slug}/report",
    Report: Post "/{slug}/report",
}

impl<'a> VisitPath<'a> {
    /// Finds a path; `None` for one that no page can have.
    pub(super) fn find(segments: Segments<'a>) -> Option<Self> {
        let path = Self { template: Template::find::<VisitEndpoint>(segments)?, segments };
        path.visit(Method::Get).or_else(|| path.visit(Method::Post)).map(|_| path)
    }

    /// Returns the methods that the path takes.
    pub(super) fn methods(self) -> Methods {
        self.template.methods::<VisitEndpoint>()
    }

    // Before the parts of pages: `q` and `s` are too short for the name of a page.
    /// Returns the visit of a method on the path.
    pub(super) fn visit(self, method: Method) -> Option<Visit<'a>> {
        self.read(self.template.endpoint(method)?)
    }

    fn read(self, endpoint: VisitEndpoint) -> Option<Visit<'a>> {
        let mut parameters = self.template.parameters(self.segments);
        let slug = parameters.text().filter(|slug| Slug::parse(slug).is_ok())?;
        Some(Visit { slug, part: VisitPart::of(endpoint, &mut parameters).ok()? })
    }
}

impl<'a> Visit<'a> {
    /// Returns the slug. It differs from how it was written if that has capital letters.
    pub fn slug(&self) -> Option<Slug> {
        Slug::parse(self.slug).ok()
    }

    /// Returns the endpoint.
    pub const fn endpoint(&self) -> VisitEndpoint {
        self.part.endpoint()
    }
}

macro_rules! parameters {
    ($($name:ident $parse:ident,)+) => {
        $(impl Parameter for $name {
            fn read(segment: &str) -> Result<Self, Problem> {
                Self::$parse(segment).ok_or_else(unknown_route)
            }
        })+
    };
}

parameters! {
    LinkId parse_in_path,
    ProductId parse_in_path,
    SeenToken parse,
    Via parse,
}
