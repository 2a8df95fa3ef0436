//! Sample events, for tests of endpoints and for the documentation.

use shared::{
    key::{KeyId, SecretId},
    meter::{Alert, AlertCause},
    policy::Window,
};

use super::{AlertEvent, Card, EndpointId, EventHead, Publication, Visit, WebhookKind};
use crate::{
    events::Dimension,
    page::{LinkId, PageId, ProductId, document::LinkType},
    webhooks::{
        card::{LinkCard, ProductCard},
        publication::{ProductRef, Trigger},
    },
};

const LINK: LinkId = LinkId::new([2; 12]);
/// Time from the end of the sample's day to the expiry of its secret: six days, in milliseconds.
const EXPIRY_MS: u64 = 6 * 86_400_000;
/// Time for which the sample's webhook fails, in milliseconds.
const FAILING_MS: u64 = 9_300_000;
const PRODUCTS: [ProductId; 2] = [ProductId::new([3; 12]), ProductId::new([4; 12])];

impl EventHead {
    /// Returns a realistic envelope of a kind. The page is an example.
    pub fn render_sample(&self, kind: WebhookKind) -> String {
        let event = match kind {
            WebhookKind::PageView | WebhookKind::Click | WebhookKind::QrScan => {
                let visit = Visit::new(kind, self.at, 0x9f3a_51c2_07d4, |dimension| value(kind, dimension));
                return self.render_visit(&visit, &card());
            }
            WebhookKind::PagePublished => return self.render_publication(&publication(self), &card()),
            WebhookKind::QuotaThreshold => of_key(
                self,
                AlertCause::QuotaThreshold {
                    window: Window::Day,
                    day: self.at.day(),
                    percent: 80,
                    used: 8_000,
                    limit: 10_000,
                },
            ),
            WebhookKind::QuotaExceeded => of_key(self, AlertCause::QuotaExceeded { window: Window::Minute }),
            WebhookKind::KeyExpiring => of_key(
                self,
                AlertCause::KeyExpiring {
                    secret: Some((SecretId::new([5; 8]), "Build server".to_owned())),
                    expires_at: self.at.day().end().plus(EXPIRY_MS),
                    days: 7,
                },
            ),
            WebhookKind::WebhookFailing => AlertEvent::Webhook {
                id: EndpointId::new([6; 12]),
                url: "https://hooks.example.com/crm".to_owned(),
                at: self.at,
                disabled: None,
                consecutive_failures: 5,
                failing_since: Some(self.at.minus(FAILING_MS)),
            },
        };
        self.render_alert(&event)
    }
}

const fn of_key(head: &EventHead, cause: AlertCause) -> AlertEvent {
    AlertEvent::Key { id: KeyId::new([1; 12]), alert: Alert { at: head.at, cause } }
}

fn card() -> Card {
    let some = |text: &str| Some(text.to_owned());
    Card {
        slug: some("ada"),
        url: some("https://example.com/ada"),
        title: some("Ada Lovelace"),
        external_id: some("crm-42"),
        revision: 16,
        links: vec![LinkCard {
            id: LINK.to_string(),
            kind: Some(LinkType::Link),
            title: some("Read my newsletter"),
            url: some("https://newsletter.example/"),
            position: Some(3),
        }],
        products: PRODUCTS
            .iter()
            .map(|id| ProductCard {
                id: id.to_string(),
                title: some("Mug"),
                url: some("https://shop.example/mug"),
            })
            .collect(),
        ..Card::unknown(PageId::new([1; 12]))
    }
}

fn publication(head: &EventHead) -> Publication {
    let product = |(id, sku): (ProductId, &str)| vec![ProductRef { id, external_id: Some(sku.to_owned()) }];
    let [added, updated] = PRODUCTS;
    Publication {
        trigger: Trigger::Api,
        at: head.at,
        revision: 17,
        previous_revision: Some(16),
        changes: ["/title", "/links/3/url", "/products/items"].map(str::to_owned).to_vec(),
        links_count: 8,
        products_count: 2,
        added: product((added, "sku-1")),
        updated: product((updated, "sku-2")),
        removed: Vec::new(),
    }
}

fn value(kind: WebhookKind, dimension: Dimension) -> String {
    let is_scan = kind == WebhookKind::QrScan;
    match dimension {
        Dimension::Target if kind == WebhookKind::Click => LINK.to_string(),
        Dimension::QrCode if is_scan => "ada".to_owned(),
        Dimension::Via if is_scan => "flyer".to_owned(),
        Dimension::Channel => if is_scan { "qr" } else { "social" }.to_owned(),
        Dimension::Source if !is_scan => "Instagram".to_owned(),
        Dimension::Referrer if !is_scan => "instagram.com".to_owned(),
        Dimension::UtmSource if !is_scan => "bio".to_owned(),
        Dimension::Country => "DE".to_owned(),
        Dimension::Device => "mobile".to_owned(),
        Dimension::Browser => "Safari".to_owned(),
        Dimension::Os => "iOS".to_owned(),
        Dimension::Language => "de".to_owned(),
        _ => String::new(),
    }
}
