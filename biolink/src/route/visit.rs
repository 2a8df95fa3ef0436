//! The routes of what visitors open.

use shared::method::{Method, Methods};

use crate::{
    events::SeenToken,
    page::{LinkId, ProductId, Slug},
};

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
    /// `/{slug}/products.xml`: the products, for Google Merchant Center and others.
    ProductsXml,
    /// `/{slug}/products.json`
    ProductsJson,
    /// `/q/{code}`: a page's QR code was scanned. Its slug does as a code too.
    Code,
    /// `GET /{slug}/report`
    ReportForm,
    /// `POST /{slug}/report`
    Report,
}

endpoints! {
    /// One path template of what visitors open.
    VisitEndpoint
    Page: Get "/{slug}",
    Link: Get "/{slug}/l/{link_id}",
    Product: Get "/{slug}/p/{product_id}",
    Ping: Post "/{slug}/ping/{link_id}",
    Seen: Get "/{slug}/seen/{token}",
    Card: Get "/{slug}/card.vcf",
    QrSvg: Get "/{slug}/qr.svg",
    QrPng: Get "/{slug}/qr.png",
    ProductsXml: Get "/{slug}/products.xml",
    ProductsJson: Get "/{slug}/products.json",
    Code: Get "/q/{code}",
    ReportForm: Get "/{slug}/report",
    Report: Post "/{slug}/report",
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
            [_, Some("products.xml"), None, ..] => VisitPart::ProductsXml,
            [_, Some("products.json"), None, ..] => VisitPart::ProductsJson,
            [_, Some("report"), None, ..] => VisitPart::ReportForm,
            _ => return None,
        };
        let slug = segments.first().copied().flatten()?;
        Slug::parse(slug).is_ok().then_some(Self { slug, part })
    }

    /// Returns the slug. It differs from how it was written if that has capital letters.
    pub fn slug(&self) -> Option<Slug> {
        Slug::parse(self.slug).ok()
    }

    /// Returns the methods that the path takes.
    pub(super) fn methods(&self) -> Methods {
        match self.part {
            VisitPart::ReportForm | VisitPart::Report => Methods::of([Method::Get, Method::Post]),
            _ => Methods::of([self.endpoint().method()]),
        }
    }

    /// Returns the visit of a method on the path.
    pub(super) fn with(self, method: Method) -> Option<Self> {
        match (method, self.part) {
            (Method::Post, VisitPart::ReportForm) => Some(Self { part: VisitPart::Report, ..self }),
            _ => (method == self.endpoint().method()).then_some(self),
        }
    }

    /// Returns the endpoint.
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
            VisitPart::ProductsXml => VisitEndpoint::ProductsXml,
            VisitPart::ProductsJson => VisitEndpoint::ProductsJson,
            VisitPart::Code => VisitEndpoint::Code,
            VisitPart::ReportForm => VisitEndpoint::ReportForm,
            VisitPart::Report => VisitEndpoint::Report,
        }
    }
}
