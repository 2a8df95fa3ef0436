use serde_json::json;

use super::*;
use crate::{
    product_feed::{NumberFormat, Selection},
    webhooks::sign,
};

const NOW: UnixMillis = UnixMillis(1_795_000_000_000);
const SECRET: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";

fn settings() -> SourceSettings {
    let selection = Selection { filter: Default::default(), order: Default::default(), max_items: 50 };
    let url = "https://store.example/products.json".to_owned();
    SourceSettings {
        url,
        format: None,
        encoding: None,
        currency: None,
        number_format: NumberFormat::Auto,
        store_url: None,
        selection,
        push: true,
    }
}

fn request(headers: &[(&str, &str)], body: &str) -> PushRequest {
    let headers = headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    PushRequest { headers, body: body.to_owned() }
}

fn read(request: &PushRequest, secret: &str) -> Result<(Option<String>, Pushed), PushError> {
    read_push(request, secret, &settings(), Some("EUR").into(), NOW)
}

fn standard(body: &str) -> PushRequest {
    let secret = WebhookSecret::parse(SECRET).unwrap();
    let signature = sign("msg_1", NOW.seconds(), body.as_bytes(), &[secret]);
    let timestamp = NOW.seconds().to_string();
    request(
        &[("webhook-id", "msg_1"), ("webhook-timestamp", &timestamp), ("webhook-signature", &signature)],
        body,
    )
}

fn of_shop(header: &str, more: &[(&str, &str)], body: &str) -> PushRequest {
    let signature = STANDARD.encode(MacKey::from_bytes(b"shop secret").sign(&[body.as_bytes()]));
    request(&[&[(header, signature.as_str())], more].concat(), body)
}

#[test]
fn standard_webhook_has_changes_or_is_a_ping() {
    let item = json!({"external_id": "a", "title": "A", "url": "https://store.example/a", "price": "1.00"});
    let body =
        json!({"upsert": [item, {"title": "no id"}], "delete": ["b", 3, {"external_id": "c"}]}).to_string();
    let (id, Pushed::Changes { upserts, deletes, errors }) = read(&standard(&body), SECRET).unwrap() else {
        panic!("no changes")
    };
    assert_eq!((id.as_deref(), upserts.len()), (Some("standard msg_1"), 1));
    assert_eq!((deletes, errors), (["b", "3", "c"].map(str::to_owned).to_vec(), vec![ProductError::NoId]));
    for ping in ["", "{}", "{\"type\":\"ping\"}"] {
        assert_eq!(read(&standard(ping), SECRET).unwrap().1, Pushed::Ping);
    }
    assert_eq!(read(&standard("not JSON"), SECRET), Err(PushError::Malformed));
}

#[test]
fn shopify_webhook_changes_one_product() {
    let body = json!({"id": 7, "title": "Mug", "handle": "mug", "status": "active", "published_at": "2026-01-01T00:00:00Z",
        "tags": "a, b", "variants": [{"price": "15.00", "inventory_quantity": 0, "inventory_management": "shopify", "inventory_policy": "deny"}]});
    let push = |topic: &str, body: &str| {
        of_shop(SHOPIFY_SIGNATURE, &[(SHOPIFY_TOPIC, topic), (SHOPIFY_ID, "d1")], body)
    };
    let (id, Pushed::Changes { upserts, .. }) =
        read(&push("products/update", &body.to_string()), "shop secret").unwrap()
    else {
        panic!("no changes")
    };
    assert_eq!(id.as_deref(), Some("shopify d1"));
    assert_eq!(upserts[0].url.as_str(), "https://store.example/products/mug");
    assert_eq!(upserts[0].price.as_ref().unwrap().currency, "EUR");
    assert_eq!(upserts[0].availability, crate::page::document::Availability::OutOfStock);
    let hidden = body.to_string().replace("\"active\"", "\"draft\"");
    for (topic, body) in [("products/delete", r#"{"id":7}"#), ("products/update", &hidden)] {
        let (_, pushed) = read(&push(topic, body), "shop secret").unwrap();
        assert!(matches!(pushed, Pushed::Changes { deletes, .. } if deletes == ["7"]), "{topic}");
    }
    assert_eq!(read(&push("orders/create", "{}"), "shop secret").unwrap().1, Pushed::Other);
}

#[test]
fn woocommerce_webhook_changes_one_product() {
    let body = json!({"id": 9, "name": "Pot", "permalink": "https://store.example/pot", "status": "publish",
        "regular_price": "20.00", "sale_price": "15.5", "stock_status": "onbackorder"});
    let push = |topic: &str| {
        of_shop(
            WOOCOMMERCE_SIGNATURE,
            &[(WOOCOMMERCE_TOPIC, topic), (WOOCOMMERCE_ID, "d2")],
            &body.to_string(),
        )
    };
    let (id, Pushed::Changes { upserts, .. }) = read(&push("product.updated"), "shop secret").unwrap() else {
        panic!("no changes")
    };
    assert_eq!((id.as_deref(), upserts[0].title.as_str()), (Some("woocommerce d2"), "Pot"));
    assert_eq!(upserts[0].sale_price.as_ref().unwrap().amount, "15.5");
    let (_, pushed) = read(&push("product.deleted"), "shop secret").unwrap();
    assert!(matches!(pushed, Pushed::Changes { deletes, .. } if deletes == ["9"]));
    assert!(request(&[], "webhook_id=12").is_trial());
    assert!(!request(&[], "webhook_id=12&a=b").is_trial());
}

#[test]
fn push_that_is_not_signed_is_refused() {
    let body = r#"{"upsert":[]}"#;
    assert_eq!(read(&request(&[], body), SECRET), Err(PushError::Unsigned));
    let mut changed = standard(body);
    changed.body.push(' ');
    let other = "whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";
    for (request, secret) in [(&changed, SECRET), (&standard(body), other)] {
        let error = read(request, secret).unwrap_err();
        assert!(error.is_unsigned() && error == SignatureError::Mismatch.into(), "{error}");
    }
    assert_eq!(read(&standard(body), "shop secret"), Err(PushError::OtherSecret));
    let later = read_push(&standard(body), SECRET, &settings(), PriceRules::default(), NOW.plus(600_000))
        .unwrap_err();
    assert!(later.is_unsigned(), "{later}");
    for header in [SHOPIFY_SIGNATURE, WOOCOMMERCE_SIGNATURE] {
        for request in [request(&[(header, "")], body), request(&[(header, "AAAA")], body)] {
            assert!(read(&request, "shop secret").unwrap_err().is_unsigned());
        }
        let error = read(&of_shop(header, &[], body), "another secret").unwrap_err();
        assert_eq!(error, PushError::Mismatch { header });
    }
    let push = of_shop(SHOPIFY_SIGNATURE, &[(SHOPIFY_TOPIC, "products/update")], body);
    let error = read_push(&push, "shop secret", &settings(), PriceRules::default(), NOW).unwrap_err();
    assert_eq!(error, PushError::NoCurrency { shop: "Shopify" });
}
