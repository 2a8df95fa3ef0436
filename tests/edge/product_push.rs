//! Product push: a shop says what changed, and the page shows it.

use std::time::{Duration, Instant};

use base64::{Engine, engine::general_purpose::STANDARD};
use biolink::webhooks::{WebhookSecret, sign};
use serde_json::{Value, json};
use shared::secret::MacKey;
use tests::{
    http::{Request, Response},
    shop::Page,
};

use super::{
    pages::until,
    product_sync::{Store, rss},
};

/// The time within which a push is on the page.
const ON_THE_PAGE: Duration = Duration::from_secs(5);

fn now_s() -> u64 {
    std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_secs()
}

/// Creates a source with push. Returns its id and its secret.
pub(crate) fn with_push(store: &Store, more: Value) -> (String, String) {
    let mut body = json!({"url": store.shop.url("/feed"), "push": {"enabled": true}});
    body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    let source = store.create(&body);
    let text = |value: &Value| value.as_str().unwrap_or_else(|| panic!("{source}")).to_owned();
    let id = text(&source["id"]);
    assert!(text(&source["push"]["url"]).ends_with(&format!("/hooks/products/{id}")));
    let read = store.read(&id);
    assert_eq!(read["push"]["secret"], json!(null), "it is shown once");
    store.wait_for_runs(&id, 1);
    (id, text(&source["push"]["secret"]))
}

fn send(store: &Store, id: &str, headers: &[(&str, &str)], body: &str) -> Response {
    let mut request = Request::new("POST", &format!("/hooks/products/{id}")).json(body);
    for (name, value) in headers {
        request = request.header(name, value);
    }
    request.send(store.site.edge.addr)
}

pub(crate) fn standard(store: &Store, id: &str, secret: &str, name: &str, body: &str) -> Response {
    let (at, secret) = (now_s(), WebhookSecret::parse(secret).unwrap());
    let signature = sign(name, at, body.as_bytes(), &[secret]);
    let timestamp = at.to_string();
    let headers =
        [("webhook-id", name), ("webhook-timestamp", timestamp.as_str()), ("webhook-signature", &signature)];
    send(store, id, &headers, body)
}

fn hmac(secret: &str, body: &str) -> String {
    STANDARD.encode(MacKey::from_bytes(secret.as_bytes()).sign(&[body.as_bytes()]))
}

#[test]
fn push_is_on_the_page_within_five_seconds() {
    let store = Store::start();
    let (id, secret) = with_push(&store, json!({}));
    let item = |title: &str| json!({"external_id": "m", "title": title, "url": "https://shop.example/m", "price": {"amount": "15.00", "currency": "EUR"}});
    let mut slowest = 0;
    for (number, title) in ["Mug", "Mug, blue", "Mug, red"].iter().enumerate() {
        let body = json!({"upsert": [item(title)], "delete": []}).to_string();
        let begin = Instant::now();
        let response = standard(&store, &id, &secret, &format!("msg_{number}"), &body);
        assert_eq!((response.status, &response.json()["changed"]), (200, &json!(1)), "{}", response.text());
        store.wait_for_titles_within(ON_THE_PAGE, &[title]);
        slowest = slowest.max(begin.elapsed().as_millis());
    }
    println!("push to visible page: {slowest} ms at most");
    let gone = standard(&store, &id, &secret, "msg_9", &json!({"delete": ["m"]}).to_string());
    assert_eq!(gone.json()["changed"], 1);
    store.wait_for_titles(&[]);
    assert_eq!(store.runs(&id)[0]["trigger"], "push");
}

#[test]
fn push_that_comes_again_is_taken_once() {
    let store = Store::shared();
    let (id, secret) = with_push(&store, json!({}));
    let body = json!({"upsert": [{"external_id": "m", "title": "Mug", "url": "https://shop.example/m"}, {"title": "no id"}]}).to_string();
    let first = standard(&store, &id, &secret, "msg_1", &body).json();
    assert_eq!(
        (&first["result"], &first["changed"], &first["faulty"]),
        (&json!("taken"), &json!(1), &json!(1))
    );
    let again = standard(&store, &id, &secret, "msg_1", &body);
    assert_eq!((again.status, &again.json()["result"]), (200, &json!("ignored")));
    let ping = standard(&store, &id, &secret, "msg_2", "{}");
    assert_eq!((ping.status, &ping.json()["result"]), (202, &json!("fetching")));
}

#[test]
fn shopify_and_woocommerce_push_with_their_own_signatures() {
    let store = Store::shared();
    let shop_secret = "the-secret-that-the-shop-shows";
    let (id, shown) = with_push(
        &store,
        json!({"currency": "EUR", "store_url": "https://shop.example", "push": {"enabled": true, "secret": shop_secret}}),
    );
    assert_eq!(shown, shop_secret);
    let shopify = json!({"id": 7, "title": "Shopify mug", "handle": "mug", "status": "active", "variants": [{"price": "9.00"}]}).to_string();
    let headers = |signature: &str| {
        vec![
            ("X-Shopify-Hmac-SHA256".to_owned(), signature.to_owned()),
            ("X-Shopify-Topic".to_owned(), "products/update".to_owned()),
            ("X-Shopify-Webhook-Id".to_owned(), "w1".to_owned()),
        ]
    };
    let push = |headers: &[(String, String)], body: &str| {
        let headers: Vec<_> = headers.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        send(&store, &id, &headers, body)
    };
    let response = push(&headers(&hmac(shop_secret, &shopify)), &shopify);
    assert_eq!((response.status, &response.json()["changed"]), (200, &json!(1)), "{}", response.text());
    store.wait_for_titles(&["Shopify mug"]);
    let again = push(&headers(&hmac(shop_secret, &shopify)), &shopify);
    assert_eq!(again.json()["result"], "ignored");
    let woocommerce = json!({"id": 8, "name": "Woo pot", "permalink": "https://shop.example/pot", "status": "publish", "regular_price": "20.00"}).to_string();
    let signature = hmac(shop_secret, &woocommerce);
    let response = send(
        &store,
        &id,
        &[
            ("X-WC-Webhook-Signature", &signature),
            ("X-WC-Webhook-Topic", "product.created"),
            ("X-WC-Webhook-Delivery-ID", "d1"),
        ],
        &woocommerce,
    );
    assert_eq!(response.json()["changed"], 1, "{}", response.text());
    store.wait_for_titles(&["Woo pot", "Shopify mug"]);
    let trial = Request::new("POST", &format!("/hooks/products/{id}"))
        .body("webhook_id=12")
        .header("Content-Type", "application/x-www-form-urlencoded");
    assert_eq!(trial.send(store.site.edge.addr).status, 200, "WooCommerce tries the address so");
}

#[test]
fn push_without_a_valid_signature_is_refused() {
    let store = Store::shared();
    let (id, secret) = with_push(&store, json!({"currency": "EUR"}));
    let body = json!({"upsert": [{"external_id": "m", "title": "Mug", "url": "https://shop.example/m"}]})
        .to_string();
    let other = WebhookSecret::generate([1; 24]).reveal();
    let at = now_s();
    let old = (at - 3_600).to_string();
    let old_signature = sign("msg", at - 3_600, body.as_bytes(), &[WebhookSecret::parse(&secret).unwrap()]);
    let wrong = hmac("another secret", &body);
    for response in [
        send(&store, &id, &[], &body),
        standard(&store, &id, &other, "msg", &body),
        send(
            &store,
            &id,
            &[("webhook-id", "msg"), ("webhook-timestamp", &old), ("webhook-signature", &old_signature)],
            &body,
        ),
        send(&store, &id, &[("X-Shopify-Hmac-SHA256", &wrong)], &body),
        send(&store, &id, &[("X-WC-Webhook-Signature", &wrong)], &body),
    ] {
        assert_eq!(
            (response.status, response.code().as_str()),
            (401, "signature-invalid"),
            "{}",
            response.text()
        );
    }
    let unknown = send(&store, "src_00000000000000000", &[], &body);
    assert_eq!((unknown.status, unknown.code().as_str()), (404, "source-unknown"));
    let malformed = standard(&store, &id, &secret, "msg", "not JSON");
    assert_eq!(malformed.status, 400);
    let patched = store.call("PATCH", &format!("/{id}"), &json!({"push": {"enabled": false}}));
    assert_eq!((patched.status, &patched.json()["push"]["url"]), (200, &json!(null)));
    let patched = store.call("PATCH", &format!("/{id}"), &json!({"push": {"enabled": true}}));
    let renewed = patched.json()["push"]["secret"].as_str().unwrap().to_owned();
    assert_ne!(renewed, secret, "a new secret");
    store.wait_for_titles(&[]);
}

/// The feed is older than the push, and arrives after it.
#[test]
fn push_during_a_slow_fetch_is_not_overwritten() {
    let store = Store::start();
    store.shop.set("/feed", rss(&["Mug", "Pot"]));
    let (id, secret) = with_push(&store, json!({}));
    store.wait_for_titles(&["Mug", "Pot"]);
    store.shop.set("/feed", Page::Hang);
    let visits = store.shop.visits().len();
    assert_eq!(store.call("POST", &format!("/{id}/refresh"), &json!(null)).status, 202);
    until(|| store.shop.visits().len() > visits);
    let pushed = standard(&store, &id, &secret, "msg_1", &json!({"delete": ["Mug"]}).to_string());
    assert_eq!(pushed.json()["changed"], 1, "{}", pushed.text());
    store.shop.release(&rss(&["Mug", "Pot", "Cup"]));
    store.wait_for_titles(&["Pot", "Cup"]);
}
