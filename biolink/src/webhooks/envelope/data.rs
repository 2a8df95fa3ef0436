//! The member `data` of an envelope.

use serde::Serialize;

use super::alert::AlertData;
use crate::{
    events::Dimension,
    page::{PageId, ProductId},
    webhooks::{
        Card, Publication, Visit, WebhookKind,
        card::{LinkCard, ProductCard},
        publication::{ProductRef, Trigger},
    },
};

#[derive(Serialize)]
#[serde(untagged)]
#[allow(clippy::large_enum_variant, reason = "it lives while an envelope is rendered")]
pub(super) enum Data<'a> {
    Visit(VisitData<'a>),
    Publication(PublicationData<'a>),
    Alert(AlertData<'a>),
}

#[derive(Serialize)]
pub(super) struct VisitData<'a> {
    page: PageData<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    view: Option<View<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    click: Option<Click<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    qr_code: Option<QrCode<'a>>,
    visit: Visitor<'a>,
}

#[derive(Serialize)]
struct PageData<'a> {
    id: PageId,
    slug: Option<&'a str>,
    url: Option<&'a str>,
    external_id: Option<&'a str>,
    revision: u64,
}

#[derive(Serialize)]
struct View<'a> {
    url: Option<&'a str>,
    /// `qr` for a visitor who scanned a QR code.
    via: Option<&'static str>,
}

#[derive(Serialize)]
struct Click<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    link: Option<LinkCard>,
    #[serde(skip_serializing_if = "Option::is_none")]
    product: Option<ProductCard>,
    destination_url: Option<String>,
    /// The destination that was chosen for a link that has several.
    variant: Option<&'a str>,
}

#[derive(Serialize)]
struct QrCode<'a> {
    id: Option<&'a str>,
    url: Option<String>,
}

#[derive(Serialize)]
struct Visitor<'a> {
    visitor_id: Option<String>,
    channel: Option<&'a str>,
    source: Option<&'a str>,
    referrer: Option<&'a str>,
    country: Option<&'a str>,
    device: Option<&'a str>,
    browser: Option<&'a str>,
    os: Option<&'a str>,
    language: Option<&'a str>,
    utm: Utm<'a>,
    qr_code_id: Option<&'a str>,
    /// The name of the short link or QR code by which the visitor came.
    via: Option<&'a str>,
}

#[derive(Serialize)]
struct Utm<'a> {
    source: Option<&'a str>,
    medium: Option<&'a str>,
    campaign: Option<&'a str>,
    term: Option<&'a str>,
    content: Option<&'a str>,
}

#[derive(Serialize)]
pub(super) struct PublicationData<'a> {
    page: PublishedPage<'a>,
    trigger: Trigger,
    changes: &'a [String],
    links_count: u32,
    products: Products<'a>,
    published_at: String,
}

#[derive(Serialize)]
struct PublishedPage<'a> {
    id: PageId,
    slug: Option<&'a str>,
    url: Option<&'a str>,
    title: Option<&'a str>,
    external_id: Option<&'a str>,
    revision: u64,
    previous_revision: Option<u64>,
    status: &'static str,
}

#[derive(Serialize)]
struct Products<'a> {
    added: Vec<ProductData<'a>>,
    updated: Vec<ProductData<'a>>,
    removed: Vec<ProductData<'a>>,
    count: u32,
    feed_url: Option<String>,
}

#[derive(Serialize)]
struct ProductData<'a> {
    id: ProductId,
    external_id: Option<&'a str>,
}

/// Returns the data of a visitor's event.
pub(super) fn visited<'a>(visit: &'a Visit, card: &'a Card) -> Data<'a> {
    let value = |dimension| visit.value(dimension);
    let is_scanned = value(Dimension::Channel) == Some("qr");
    let mut data = VisitData {
        page: PageData {
            id: card.id,
            slug: card.slug.as_deref(),
            url: card.url.as_deref(),
            external_id: card.external_id.as_deref(),
            revision: card.revision,
        },
        view: None,
        click: None,
        qr_code: None,
        visit: Visitor {
            visitor_id: (visit.visitor != 0).then(|| format!("v_{:012x}", visit.visitor)),
            channel: value(Dimension::Channel),
            source: value(Dimension::Source),
            referrer: value(Dimension::Referrer),
            country: value(Dimension::Country),
            device: value(Dimension::Device),
            browser: value(Dimension::Browser),
            os: value(Dimension::Os),
            language: value(Dimension::Language),
            utm: Utm {
                source: value(Dimension::UtmSource),
                medium: value(Dimension::UtmMedium),
                campaign: value(Dimension::UtmCampaign),
                term: value(Dimension::UtmTerm),
                content: value(Dimension::UtmContent),
            },
            qr_code_id: value(Dimension::QrCode),
            via: value(Dimension::Via),
        },
    };
    match visit.kind {
        WebhookKind::PageView => {
            data.view = Some(View { url: card.url.as_deref(), via: is_scanned.then_some("qr") });
        }
        WebhookKind::Click => {
            let target = value(Dimension::Target).unwrap_or_default();
            data.click = Some(Click::on(target, value(Dimension::Variant), card));
        }
        WebhookKind::QrScan => {
            let (id, via) = (value(Dimension::QrCode), value(Dimension::Via));
            data.qr_code = Some(QrCode { id, url: code_url(id, via, card) });
        }
        // These are no visits: they have data of their own.
        WebhookKind::PagePublished
        | WebhookKind::QuotaThreshold
        | WebhookKind::QuotaExceeded
        | WebhookKind::KeyExpiring
        | WebhookKind::WebhookFailing => {}
    }
    Data::Visit(data)
}

/// Returns the data of a publication.
pub(super) fn published<'a>(publication: &'a Publication, card: &'a Card, has_names: bool) -> Data<'a> {
    let listed = |products: &'a [ProductRef]| {
        let shown = |product: &'a ProductRef| ProductData {
            id: product.id,
            external_id: product.external_id.as_deref().filter(|_| has_names),
        };
        products.iter().map(shown).collect()
    };
    Data::Publication(PublicationData {
        page: PublishedPage {
            id: card.id,
            slug: card.slug.as_deref(),
            url: card.url.as_deref(),
            title: card.title.as_deref(),
            external_id: card.external_id.as_deref(),
            revision: publication.revision,
            previous_revision: publication.previous_revision,
            status: "published",
        },
        trigger: publication.trigger,
        changes: &publication.changes,
        links_count: publication.links_count,
        products: Products {
            added: listed(&publication.added),
            updated: listed(&publication.updated),
            removed: listed(&publication.removed),
            count: publication.products_count,
            feed_url: card.url.as_ref().map(|url| format!("{url}/products.json")),
        },
        published_at: publication.at.to_rfc3339_ms(),
    })
}

impl<'a> Click<'a> {
    fn on(target: &str, variant: Option<&'a str>, card: &Card) -> Self {
        if target.starts_with("prd_") {
            let product = card.product(target);
            return Self {
                destination_url: product.url.clone(),
                product: Some(product),
                link: None,
                variant,
            };
        }
        let link = card.link(target);
        let destination_url = card.destination(&link, variant);
        Self { destination_url, link: Some(link), product: None, variant }
    }
}

/// Returns the address that a QR code has: beside the page. One with a name ends in it.
fn code_url(code: Option<&str>, via: Option<&str>, card: &Card) -> Option<String> {
    let base = card.url.as_deref()?.strip_suffix(card.slug.as_deref()?)?;
    let name = via.map(|via| format!("/{via}")).unwrap_or_default();
    Some(format!("{base}q/{}{name}", code?))
}
