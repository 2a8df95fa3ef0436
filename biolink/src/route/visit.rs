//! The routes of what visitors open.

use shared::method::{Method, Methods};
use shared::route::Segments;
use strum::{EnumDiscriminants, VariantArray};

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

/// A part of what visitors open.
#[derive(Clone, Copy, Debug, PartialEq, Eq, EnumDiscriminants)]
#[strum_discriminants(name(VisitEndpoint), derive(Hash, VariantArray))]
#[strum_discriminants(doc = "One path template of what visitors open.")]
#[strum_discriminants(allow(missing_docs, reason = "`path` says what each one is"))]
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
    /// `/{slug}/qr.pdf`
    QrPdf,
    /// `/{slug}/products.xml`: the products, for Google Merchant Center and others.
    ProductsXml,
    /// `/{slug}/products.json`
    ProductsJson,
    /// `/q/{code}`: a page's QR code was scanned. Its slug does as a code too.
    Code,
    /// `/q/{code}/{via}`: a QR code with a name was scanned.
    NamedCode(Via),
    /// `/s/{code}/{via}`: a short link.
    ShortLink(Via),
    /// `GET /{slug}/report`
    ReportForm,
    /// `POST /{slug}/report`
    Report,
}

impl VisitEndpoint {
    /// Every endpoint once.
    pub const ALL: [Self; 16] = *Self::VARIANTS.as_array().unwrap();

    /// Returns the method.
    pub const fn method(self) -> Method {
        if matches!(self, Self::Ping | Self::Report) { Method::Post } else { Method::Get }
    }

    /// Returns the path, with parameters in braces.
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
            Self::QrPdf => "/{slug}/qr.pdf",
            Self::ProductsXml => "/{slug}/products.xml",
            Self::ProductsJson => "/{slug}/products.json",
            Self::Code => "/q/{code}",
            Self::NamedCode => "/q/{code}/{via}",
            Self::ShortLink => "/s/{code}/{via}",
            Self::ReportForm | Self::Report => "/{slug}/report",
        }
    }
}

impl<'a> Visit<'a> {
    /// Parses the segments of a path; `None` for one that no page can have.
    pub(super) fn parse(segments: Segments<'a>) -> Option<Self> {
        // Before the parts of pages: `q` and `s` are too short for the name of a page.
        let by_code = |code, part| Slug::parse(code).is_ok().then_some(Self { slug: code, part });
        match segments {
            [Some("q"), Some(code), None, ..] => return by_code(code, VisitPart::Code),
            [Some("q"), Some(code), Some(via), None, ..] => {
                return by_code(code, VisitPart::NamedCode(Via::parse(via)?));
            }
            [Some("s"), Some(code), Some(via), None, ..] => {
                return by_code(code, VisitPart::ShortLink(Via::parse(via)?));
            }
            _ => {}
        }
        let part = match segments {
            [_, None, ..] => VisitPart::Page,
            [_, Some("l"), Some(link), None, ..] => VisitPart::Link(LinkId::parse_in_path(link)?),
            [_, Some("p"), Some(product), None, ..] => VisitPart::Product(ProductId::parse_in_path(product)?),
            [_, Some("ping"), Some(link), None, ..] => VisitPart::Ping(LinkId::parse_in_path(link)?),
            [_, Some("seen"), Some(token), None, ..] => VisitPart::Seen(SeenToken::parse(token)?),
            [_, Some("card.vcf"), None, ..] => VisitPart::Card,
            [_, Some("qr.svg"), None, ..] => VisitPart::QrSvg,
            [_, Some("qr.png"), None, ..] => VisitPart::QrPng,
            [_, Some("qr.pdf"), None, ..] => VisitPart::QrPdf,
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
    pub fn endpoint(&self) -> VisitEndpoint {
        self.part.into()
    }
}
