//! Webhooks: from what a visitor does to the request that a receiver verifies.

use serde_json::{Value, json};
use tests::receiver::{Receiver, ReceiverBehavior};

use super::{pages::until, site::Site};

#[test]
fn each_kind_of_event_arrives_signed_once() {
    let (site, receiver) = (Site::start(), Receiver::start());
    let hook = site.hook(&receiver, json!({}));
    site.visit("/ada");
    site.visit(&site.link(0));
    let qr = format!("/q/{}", site.page["code"].as_str().unwrap_or("ada"));
    site.visit(&qr);
    site.call("PATCH", &format!("/pages/{}", site.id()), &json!({"title": "Ada L."}));
    site.call("POST", &format!("/pages/{}/publish", site.id()), &json!({}));
    let arrivals = receiver.wait(4);
    let mut kinds: Vec<_> = arrivals.iter().map(|arrival| arrival.json()["type"].clone()).collect();
    kinds.sort_by_key(|kind| kind.to_string());
    assert_eq!(kinds, ["click", "page_published", "page_view", "qr_scan"]);
    for arrival in &arrivals {
        arrival.verify(&hook.secret).unwrap();
        let body = arrival.json();
        assert_eq!(arrival.header("webhook-id"), body["id"].as_str());
        assert_eq!(arrival.header("webhook-attempt"), Some("1"));
        assert_eq!(arrival.header("content-type"), Some("application/json"));
        assert_eq!(body["data"]["page"]["id"], site.page["id"]);
    }
    let mut sequences: Vec<_> =
        arrivals.iter().map(|arrival| arrival.json()["page_sequence"].as_u64().unwrap()).collect();
    sequences.sort_unstable();
    assert_eq!(sequences, [1, 2, 3, 4]);
    until(|| site.deliveries(&hook).iter().filter(|one| one["status"] == "delivered").count() == 4);
    assert_eq!(receiver.arrivals().len(), 4, "each arrives once");
}

#[test]
fn failed_delivery_is_retried_with_a_fresh_signature_under_the_same_id() {
    let (site, receiver) = (Site::start(), Receiver::start());
    let hook = site.hook(&receiver, json!({"events": ["click"]}));
    let fail = || ReceiverBehavior::Respond("500 Internal Server Error", Vec::new());
    receiver.queue([fail()]);
    site.visit(&site.link(0));
    let arrivals = receiver.wait(2);
    assert_eq!(arrivals[0].header("webhook-id"), arrivals[1].header("webhook-id"));
    assert_eq!(arrivals[1].header("webhook-attempt"), Some("2"));
    assert_ne!(arrivals[0].header("webhook-timestamp"), arrivals[1].header("webhook-timestamp"));
    for arrival in &arrivals {
        arrival.verify(&hook.secret).unwrap();
    }
    until(|| site.deliveries(&hook)[0]["status"] == "delivered");
    let delivery = &site.deliveries(&hook)[0];
    let statuses: Vec<&Value> =
        delivery["attempts"].as_array().unwrap().iter().map(|attempt| &attempt["status"]).collect();
    assert_eq!(statuses, [500, 204]);
}
