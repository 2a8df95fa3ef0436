use serde_json::{Value, json};
use shared::{
    json,
    key::KeyId,
    meter::{Alert, AlertCause},
    policy::Window,
};

use super::*;
use crate::{
    events::Dimension,
    page::{LinkId, PageDocument, PageId, ProductId, Slug},
    webhooks::{DisabledReason, EndpointId, ProductRef, Trigger},
};

const AT: UnixMillis = UnixMillis(1_795_262_400_120);

fn head() -> EventHead {
    let id = EventId::numbered(4812, [9; 8]);
    EventHead { id, at: AT, is_test: false, sequence: 4812, page_sequence: 7 }
}

fn document() -> PageDocument {
    let (heading, link, product) = (LinkId::new([1; 12]), LinkId::new([2; 12]), ProductId::new([3; 12]));
    json::from_str(&format!(
        r#"{{"title":"Ada","links":[{{"id":"{heading}","type":"heading","title":"News"}},
            {{"id":"{link}","type":"link","title":"Letter","url":"https://letter.example/",
                "targets":[{{"countries":["DE"],"url":"https://brief.example/"}}],
                "fallback":{{"url":"https://over.example/"}}}}],
            "products":{{"items":[{{"id":"{product}","title":"Mug","url":"https://shop.example/"}}]}}}}"#
    ))
    .unwrap()
}

fn card() -> Card {
    let slug = Slug::parse("ada").unwrap();
    Card::new(PageId::new([9; 12]), &slug, "https://example.com", Some("crm-42"), 16, &document())
}

fn rendered(kind: WebhookKind, values: &[(Dimension, &str)], visitor: u64) -> Value {
    let visit = Visit::new(kind, AT, visitor, |dimension| {
        let found = values.iter().find(|(other, _)| *other == dimension);
        found.map_or_else(String::new, |(_, value)| (*value).to_owned())
    });
    serde_json::from_str(&head().render_visit(&visit, &card())).unwrap()
}

#[test]
fn click_is_rendered_as_documented() {
    let link = LinkId::new([2; 12]).to_string();
    let values = [
        (Dimension::Target, link.as_str()),
        (Dimension::Channel, "social"),
        (Dimension::Referrer, "instagram.com"),
        (Dimension::Country, "DE"),
        (Dimension::UtmSource, "bio"),
        (Dimension::Via, "flyer"),
    ];
    let expected = json!({
        "id": head().id.to_string(), "type": "click", "timestamp": "2026-11-21T12:00:00.120Z",
        "api_version": "2026-11-01", "test": false, "sequence": 4812, "page_sequence": 7,
        "data": {
            "page": { "id": PageId::new([9; 12]).to_string(), "slug": "ada", "url": "https://example.com/ada",
                "external_id": "crm-42", "revision": 16 },
            "click": {
                "link": { "id": link, "type": "link", "title": "Letter", "url": "https://letter.example/",
                    "position": 2 },
                "destination_url": "https://letter.example/", "variant": null,
            },
            "visit": { "visitor_id": "v_00000000beef", "channel": "social", "source": null,
                "referrer": "instagram.com", "country": "DE", "device": null, "browser": null, "os": null,
                "language": null, "qr_code_id": null, "via": "flyer",
                "utm": { "source": "bio", "medium": null, "campaign": null, "term": null, "content": null } },
        },
    });
    assert_eq!(rendered(WebhookKind::Click, &values, 0xbeef), expected);
}

#[test]
fn view_and_scan_have_their_own_members() {
    let view = rendered(WebhookKind::PageView, &[(Dimension::Channel, "qr")], 0);
    assert_eq!(view["data"]["view"], json!({ "url": "https://example.com/ada", "via": "qr" }));
    assert_eq!(view["data"]["visit"]["visitor_id"], Value::Null);
    assert!(view["data"].get("click").is_none() && view["data"].get("qr_code").is_none());
    let scan = rendered(WebhookKind::QrScan, &[(Dimension::QrCode, "ada2")], 0);
    assert_eq!(scan["data"]["qr_code"], json!({ "id": "ada2", "url": "https://example.com/q/ada2" }));
    let named = [(Dimension::QrCode, "ada2"), (Dimension::Via, "flyer")];
    let scan = rendered(WebhookKind::QrScan, &named, 0);
    assert_eq!(scan["data"]["qr_code"]["url"], "https://example.com/q/ada2/flyer");
    assert_eq!(scan["data"]["visit"]["via"], "flyer");
    assert_eq!(rendered(WebhookKind::PageView, &[], 0)["data"]["view"]["via"], Value::Null);
}

#[test]
fn click_on_a_variant_has_its_destination() {
    let link = LinkId::new([2; 12]).to_string();
    for (variant, expected) in [
        ("DE", json!("https://brief.example/")),
        ("fallback", json!("https://over.example/")),
        ("default", json!("https://letter.example/")),
        ("FR", Value::Null),
    ] {
        let values = [(Dimension::Target, link.as_str()), (Dimension::Variant, variant)];
        let click = &rendered(WebhookKind::Click, &values, 0)["data"]["click"];
        assert_eq!((&click["variant"], &click["destination_url"]), (&json!(variant), &expected));
        assert_eq!(click["link"]["url"], "https://letter.example/", "the link's own");
    }
}

#[test]
fn click_on_what_is_gone_has_its_id() {
    let product = ProductId::new([3; 12]).to_string();
    let known = rendered(WebhookKind::Click, &[(Dimension::Target, &product)], 0);
    assert_eq!(known["data"]["click"]["product"]["title"], "Mug");
    assert_eq!(known["data"]["click"]["destination_url"], "https://shop.example/");
    for (target, name) in [("lnk_x", "link"), ("prd_x", "product")] {
        let gone = rendered(WebhookKind::Click, &[(Dimension::Target, target)], 0);
        assert_eq!(gone["data"]["click"][name]["id"], target);
        assert_eq!(gone["data"]["click"]["destination_url"], Value::Null);
    }
}

#[test]
fn publication_is_rendered_as_documented() {
    let mut before = document();
    before.title = "Ada L.".to_owned();
    let publication = Publication::new(Trigger::ProductSync, AT, (17, &document()), Some((16, &before)));
    let text = head().render_publication(&publication, &card());
    let value: Value = serde_json::from_str(&text).unwrap();
    let expected = json!({
        "page": { "id": PageId::new([9; 12]).to_string(), "slug": "ada", "url": "https://example.com/ada",
            "title": "Ada", "external_id": "crm-42", "revision": 17, "previous_revision": 16,
            "status": "published" },
        "trigger": "product_sync", "changes": ["/title"], "links_count": 2,
        "products": { "added": [], "updated": [], "removed": [], "count": 1,
            "feed_url": "https://example.com/ada/products.json" },
        "published_at": "2026-11-21T12:00:00.120Z",
    });
    assert_eq!((&value["type"], &value["data"]), (&"page_published".into(), &expected));
}

#[test]
fn largest_publication_is_within_the_limit() {
    let product = |byte| ProductRef { id: ProductId::new([byte; 12]), external_id: Some("é".repeat(100)) };
    let base = Publication::new(Trigger::Api, AT, (2, &document()), Some((1, &document())));
    let products: Vec<_> = (0..50).map(product).collect();
    let publication = Publication {
        changes: vec!["/products/items/49/sale_price/currency".to_owned(); 50],
        added: products.clone(),
        removed: products,
        ..base
    };
    let text = head().render_publication(&publication, &card());
    assert!(text.len() <= MAX_ENVELOPE, "{}", text.len());
    let value: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(value["data"]["products"]["added"][49]["external_id"], Value::Null);
    let few = Publication { added: vec![product(1)], removed: Vec::new(), ..publication };
    assert!(head().render_publication(&few, &card()).contains("éé"));
}

#[test]
fn batch_has_the_envelopes_of_its_events() {
    let events = [head().render_sample(WebhookKind::Click), head().render_sample(WebhookKind::QrScan)];
    let id = BatchId::numbered(5, [1; 8]);
    let text = render_batch(id, AT, events.iter().map(String::as_str));
    let value: Value = serde_json::from_str(&text).unwrap();
    assert_eq!((&value["type"], &value["id"]), (&"batch".into(), &id.to_string().into()));
    assert_eq!(value["data"]["events"][1], serde_json::from_str::<Value>(&events[1]).unwrap());
    assert_eq!(value["timestamp"], "2026-11-21T12:00:00.120Z");
    assert!(text.len() < events[0].len() + events[1].len() + 200);
    assert_eq!(
        serde_json::from_str::<Value>(&render_batch(id, AT, [].into_iter())).unwrap()["data"]["events"],
        json!([])
    );
}

#[test]
fn card_is_read_as_it_was_stored() {
    for card in [card(), Card::unknown(PageId::new([1; 12]))] {
        assert_eq!(json::from_str(&serde_json::to_string(&card).unwrap()), Ok(card));
    }
}

/// Each is listed with the `data` that its event has.
#[test]
fn alerts_are_listed_newest_first() {
    let (key, endpoint) = (KeyId::new([1; 12]), EndpointId::new([6; 12]));
    let exceeded = |at, window| AlertEvent::Key {
        id: key,
        alert: Alert { at, cause: AlertCause::QuotaExceeded { window } },
    };
    let failing = AlertEvent::Webhook {
        id: endpoint,
        url: "https://hooks.example/crm".to_owned(),
        at: AT.plus(1_000),
        disabled: Some(DisabledReason::Gone),
        consecutive_failures: 1,
        failing_since: None,
    };
    let of_units = AlertCause::QuotaThreshold {
        window: Window::UnitsMonth,
        day: AT.day().month().0,
        percent: 80,
        used: 81,
        limit: 100,
    };
    let of_units = AlertEvent::Key { id: key, alert: Alert { at: AT.plus(500), cause: of_units } };
    let newest_first =
        [exceeded(AT.plus(2_000), Window::Minute), failing, of_units, exceeded(AT, Window::Day)];
    let [a, b, c, d] = newest_first.clone();
    let described = [a, d, c, b].map(|alert| (alert.at(), describe_alert(&alert)));
    let listed: Value = serde_json::from_str(&alert_list(described.into())).unwrap();
    let expected = newest_first.map(|alert| {
        let event: Value = serde_json::from_str(&head().render_alert(&alert)).unwrap();
        json!({ "type": event["type"], "timestamp": alert.at().to_rfc3339_ms(), "data": event["data"] })
    });
    assert_eq!(listed, json!({ "object": "alerts", "alerts": expected }));
    let quota = &listed["alerts"][2]["data"]["quota"];
    assert_eq!((&quota["name"], &quota["unit"]), (&json!("units-month"), &json!("units")));
    assert_eq!(quota["resets_at"], "2026-12-01T00:00:00.000Z");
}
