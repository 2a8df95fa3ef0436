//! Webhooks: from what a visitor does to the request that a receiver verifies.

use serde_json::{Value, json};
use tests::receiver::{Receiver, ReceiverBehavior};

use super::{pages::until, site::Site};

#[test]
fn each_kind_of_event_arrives_signed_once() {
    let (site, receiver) = (Site::shared(), Receiver::start());
    let hook = site.hook(&receiver, json!({"headers": {"authorization": "Bearer 5f3a"}}));
    site.visit(&site.path);
    site.visit(&site.link(0));
    site.visit(&site.code());
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
        assert_eq!(arrival.header("authorization"), Some("Bearer 5f3a"));
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
    let (site, receiver) = (Site::shared(), Receiver::start());
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

#[test]
fn readers_of_events_wait_for_the_next_one() {
    let (site, receiver) = (Site::shared(), Receiver::start());
    site.hook(&receiver, json!({"events": ["click", "page_published"]}));
    assert_eq!(site.get("/events")["next_after"], 0);
    let waiting = std::thread::scope(|scope| {
        let reader = scope.spawn(|| site.get("/events?after=0&wait=25"));
        site.visit(&site.link(0));
        reader.join().unwrap()
    });
    assert_eq!(waiting["data"][0]["type"], "click");
    site.call("POST", &format!("/pages/{}/unpublish", site.id()), &json!({}));
    site.call("POST", &format!("/pages/{}/publish", site.id()), &json!({}));
    let next = site.get("/events?after=1&wait=25");
    assert_eq!((&next["data"][0]["type"], &next["next_after"]), (&json!("page_published"), &json!(2)));
    let page = site.get("/events?limit=1");
    assert_eq!(
        (&page["has_more"], &page["next_after"], &page["oldest_sequence"]),
        (&json!(true), &json!(1), &json!(1))
    );
    assert_eq!(site.get("/events?type=page_published")["data"].as_array().unwrap().len(), 1);
    let event = site.get(&format!("/events/{}", page["data"][0]["id"].as_str().unwrap()));
    assert_eq!(event, page["data"][0]);
}

#[test]
fn events_of_a_batch_are_one_signed_request() {
    let (site, receiver) = (Site::shared(), Receiver::start());
    let hook = site.hook(&receiver, json!({"mode": "batch"}));
    for _ in 0..3 {
        site.visit(&site.link(0));
    }
    let account = site.account.to_string();
    let webhooks = site.webhooks(&account);
    until(|| site.get("/events")["data"].as_array().unwrap().len() == 3);
    assert_eq!(site.deliveries(&hook)[0]["status"], "collecting");
    assert_eq!(receiver.arrivals().len(), 0);
    webhooks.sql("UPDATE delivery SET due = 1");
    webhooks.run_alarm();
    let arrivals = receiver.wait(1);
    arrivals[0].verify(&hook.secret).unwrap();
    let batch = arrivals[0].json();
    assert_eq!((&batch["type"], batch["id"].as_str()), (&json!("batch"), arrivals[0].header("webhook-id")));
    assert!(batch["id"].as_str().unwrap().starts_with("bat_"));
    let kinds: Vec<_> =
        batch["data"]["events"].as_array().unwrap().iter().map(|event| &event["type"]).collect();
    assert_eq!(kinds, ["click", "click", "click"]);
    site.call("POST", &format!("/pages/{}/unpublish", site.id()), &json!({}));
    site.call("POST", &format!("/pages/{}/publish", site.id()), &json!({}));
    let arrivals = receiver.wait(2);
    assert_eq!(arrivals[1].json()["data"]["events"][0]["type"], "page_published", "it waits for nothing");
}

#[test]
fn gone_receiver_is_disabled_until_its_owner_enables_it() {
    let (site, receiver) = (Site::shared(), Receiver::start());
    let hook = site.hook(&receiver, json!({"events": ["click"]}));
    receiver.respond("410 Gone");
    site.visit(&site.link(0));
    let path = format!("/webhooks/{}", hook.id);
    until(|| site.get(&path)["disabled_reason"] == "gone");
    site.wait_for_wanted(&json!([]));
    site.visit(&site.link(0));
    receiver.respond("204 No Content");
    let enabled = site.call("PATCH", &path, &json!({"enabled": true})).json();
    assert_eq!((&enabled["status"], &enabled["disabled_reason"]), (&json!("enabled"), &Value::Null));
    site.wait_for_wanted(&json!(["click"]));
    site.visit(&site.link(0));
    let arrivals = receiver.wait(2);
    arrivals[1].verify(&hook.secret).unwrap();
    assert_eq!(site.get(&format!("{path}/stats"))["failed"], 1);
}

#[test]
fn redirect_is_a_failure_and_not_followed() {
    let (site, receiver, other) = (Site::shared(), Receiver::start(), Receiver::start());
    let hook = site.hook(&receiver, json!({"events": ["click"]}));
    receiver.set(ReceiverBehavior::Respond("302 Found", vec![format!("Location: {}", other.url("/"))]));
    site.visit(&site.link(0));
    receiver.wait(1);
    until(|| site.deliveries(&hook)[0]["attempts"][0]["error"] == "redirect");
    assert_eq!(site.deliveries(&hook)[0]["attempts"][0]["status"], 302);
    assert_eq!(other.arrivals().len(), 0);
}

/// The status is known before the body, and an empty or broken body changes nothing of it.
#[test]
fn status_decides_whatever_the_body_of_the_response() {
    let (site, receiver) = (Site::shared(), Receiver::start());
    let hook = site.hook(&receiver, json!({"events": ["click"], "mode": "single"}));
    let answers: [(&str, u16, &str); 7] = [
        ("HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 0\r\n\r\n", 200, ""),
        ("HTTP/1.1 202 Accepted\r\nContent-Encoding: gzip\r\nContent-Length: 5\r\n\r\nplain", 202, ""),
        ("HTTP/1.1 200 OK\r\nContent-Encoding: br\r\nContent-Length: 0\r\n\r\n", 200, ""),
        ("HTTP/1.1 201 Created\r\nContent-Length: 100\r\n\r\ncut", 201, "cut"),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\ncut\r\nzz", 200, "cut"),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nall\r\n0\r\n\r\n", 200, "all"),
        ("HTTP/1.1 204 No Content\r\nContent-Encoding: gzip\r\n\r\n", 204, ""),
    ];
    for (number, (answer, status, excerpt)) in (1..).zip(answers) {
        receiver.set(ReceiverBehavior::Send(answer.as_bytes().to_vec()));
        site.visit(&site.link(0));
        receiver.wait(number);
        until(|| site.deliveries(&hook).iter().all(|one| one["status"] == "delivered"));
        let attempts = &site.deliveries(&hook)[0]["attempts"];
        let found = (&attempts[0]["status"], &attempts[0]["error"], attempts.as_array().unwrap().len());
        assert_eq!(found, (&json!(status), &Value::Null, 1), "{answer}");
        assert_eq!(attempts[0]["response"], excerpt, "{answer}");
    }
    assert_eq!(receiver.count(), answers.len(), "each was sent once");
}

/// What a server sends before its response is no response: the last status decides, and each is sent once.
#[test]
fn status_behind_informational_responses_decides() {
    let (site, receiver) = (Site::shared(), Receiver::start());
    let hook = site.hook(&receiver, json!({"events": ["click"]}));
    let hint = "HTTP/1.1 103 Early Hints\r\nLink: </a.css>; rel=preload\r\n\r\n";
    let (found, busy) = ("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nall", "HTTP/1.1 500 No\r\n\r\n");
    let chunks = "HTTP/1.1 202 Accepted\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nall\r\n0\r\n\r\n";
    let answers = [
        (format!("{hint}{found}"), json!(200), Value::Null, json!("all")),
        (format!("{hint}{hint}{chunks}"), json!(202), Value::Null, json!("")),
        (format!("HTTP/1.1 100 Continue\r\n\r\n{found}"), json!(200), Value::Null, json!("all")),
        (format!("HTTP/1.1 102 Processing\r\n\r\n{found}"), json!(200), Value::Null, json!("all")),
        (format!("{hint}{busy}"), json!(500), json!("status"), json!("")),
        (hint.to_owned(), Value::Null, json!("connection"), Value::Null),
    ];
    for (number, (answer, status, error, body)) in (1..).zip(answers) {
        // A client that keeps the connection open waits for no end of it.
        let behavior = match error.is_null() {
            true => ReceiverBehavior::SendAndHold(answer.clone().into_bytes()),
            false => ReceiverBehavior::Send(answer.clone().into_bytes()),
        };
        receiver.set(behavior);
        let path = format!("/webhooks/{}/test", hook.id);
        let tested = site.call("POST", &path, &json!({"type": "click"})).json();
        let attempt = &tested["attempts"][0];
        assert_eq!((&attempt["status"], &attempt["error"]), (&status, &error), "{answer}");
        assert_eq!(attempt["response"], body, "{answer}");
        assert_eq!(receiver.count(), number, "{answer}");
    }
}

/// The response to a test says what the receiver did, and what it was sent.
#[test]
fn test_shows_the_receivers_response_and_the_payload() {
    let (site, receiver) = (Site::shared(), Receiver::start());
    let hook = site.hook(&receiver, json!({"events": ["click"]}));
    receiver.set(ReceiverBehavior::Send(b"HTTP/1.1 500 No\r\nContent-Length: 9\r\n\r\nno mapper".to_vec()));
    let sent = site.call("POST", &format!("/webhooks/{}/test", hook.id), &json!({"type": "qr_scan"}));
    let tested = sent.json();
    assert_eq!((sent.status, &tested["status"]), (202, &json!("failed")), "{tested}");
    let attempt = &tested["attempts"][0];
    assert_eq!((&attempt["status"], &attempt["response"]), (&json!(500), &json!("no mapper")), "{tested}");
    assert!(attempt["duration_ms"].is_u64());
    assert_eq!(tested["payload"], receiver.wait(1)[0].json());
    let read = site.get(&format!("/webhooks/{}/deliveries/{}", hook.id, tested["id"].as_str().unwrap()));
    assert_eq!(read["payload"], tested["payload"]);
    receiver.respond("204 No Content");
    site.visit(&site.link(0));
    receiver.wait(2);
    assert_eq!(site.deliveries(&hook)[0]["payload"], Value::Null, "an event of the log has none");
}

/// A mapping of one event's members breaks at a batch, so only who asks for batches gets any.
#[test]
fn webhook_without_a_mode_gets_one_event_in_each_request() {
    let (site, receiver) = (Site::shared(), Receiver::start());
    let hook = site.hook(&receiver, json!({"events": ["click"]}));
    assert_eq!(site.get(&format!("/webhooks/{}", hook.id))["mode"], "single");
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| (0..6).map(|_| site.visit(&site.link(0))).max());
        }
    });
    let arrivals = receiver.wait(24);
    assert!(arrivals.iter().all(|arrival| arrival.json()["type"] == "click"));
}

#[test]
fn samples_are_an_array_of_events_with_ids_of_their_own() {
    let site = Site::shared();
    let all = site.get("/events/samples");
    let samples = all.as_array().unwrap();
    let ids: std::collections::BTreeSet<_> = samples.iter().map(|one| one["id"].to_string()).collect();
    assert_eq!((samples.len(), ids.len()), (8, 8), "{all}");
    let one = site.get("/events/samples?type=page_published");
    assert_eq!(one.as_array().unwrap().len(), 1);
    assert!(samples.contains(&one[0]), "each time the same");
    assert_eq!(site.call("GET", "/events/samples?type=visit", &Value::Null).status, 422);
    let post = site.call("POST", "/events/samples", &json!({}));
    assert_eq!((post.status, post.header("allow")), (405, Some("GET, HEAD, OPTIONS")));
}

#[test]
fn receiver_that_hangs_delays_no_other() {
    let (site, hanging, healthy) = (Site::shared(), Receiver::start(), Receiver::start());
    hanging.set(ReceiverBehavior::Hang);
    let slow = site.hook(&hanging, json!({"events": ["click"]}));
    site.hook(&healthy, json!({"events": ["click"]}));
    site.visit(&site.link(0));
    hanging.wait(1);
    for count in 1..4 {
        healthy.wait(count);
        assert_eq!(site.deliveries(&slow).last().unwrap()["attempts"], json!([]), "it still hangs");
        site.visit(&site.link(0));
    }
}

#[test]
fn failed_deliveries_are_replayed_and_retried_by_hand() {
    let (site, receiver) = (Site::shared(), Receiver::start());
    let hook = site.hook(&receiver, json!({"events": ["click"]}));
    let path = format!("/webhooks/{}", hook.id);
    site.visit(&site.link(0));
    receiver.wait(1);
    let account = site.account.to_string();
    until(|| site.deliveries(&hook)[0]["status"] == "delivered");
    site.webhooks(&account).sql("UPDATE delivery SET state = 3, j = json_set(j, '$.state', 'failed')");
    let since = site.page["created_at"].clone();
    let replayed = site.call("POST", &format!("{path}/replay"), &json!({"since": since}));
    assert_eq!((replayed.status, &replayed.json()["deliveries"]), (202, &json!(1)), "{}", replayed.text());
    let arrivals = receiver.wait(2);
    assert_eq!(arrivals[0].header("webhook-id"), arrivals[1].header("webhook-id"));
    let all = site.call("POST", &format!("{path}/replay"), &json!({"since": since, "status": "all"}));
    assert_eq!(all.json()["deliveries"], 1);
    let arrivals = receiver.wait(3);
    assert_eq!(arrivals[2].header("webhook-id"), arrivals[0].header("webhook-id"));
    let first = site.deliveries(&hook).last().unwrap()["id"].as_str().unwrap().to_owned();
    assert_eq!(site.call("POST", &format!("{path}/deliveries/{first}/retry"), &json!({})).status, 202);
    for arrival in receiver.wait(4) {
        arrival.verify(&hook.secret).unwrap();
    }
    let found =
        site.get(&format!("{path}/deliveries?event_id={}", arrivals[0].header("webhook-id").unwrap()));
    assert_eq!(found["data"].as_array().unwrap().len(), 2);
}

/// Events may be kept for 30 days and no longer, also without a webhook that wants them.
#[test]
fn event_log_still_expires_after_the_last_webhook_is_deleted() {
    let (site, receiver) = (Site::shared(), Receiver::start());
    let hook = site.hook(&receiver, json!({"events": ["click"]}));
    site.visit(&site.link(0));
    receiver.wait(1);
    until(|| site.deliveries(&hook)[0]["status"] == "delivered");
    assert_eq!(site.call("DELETE", &format!("/webhooks/{}", hook.id), &Value::Null).status, 204);
    let account = site.account.to_string();
    let webhooks = site.webhooks(&account);
    webhooks.run_alarm();
    assert_eq!(webhooks.sql("SELECT COUNT(*) FROM event")[0][0], 1);
    assert!(webhooks.alarm().is_some(), "nothing will drop the event");
    // A month later.
    webhooks.sql("UPDATE event SET stored = 0");
    webhooks.sql("UPDATE state SET j = json_set(j, '$.expires_at', 0) WHERE k = 'counters'");
    webhooks.restart();
    webhooks.run_alarm();
    assert_eq!(webhooks.sql("SELECT COUNT(*) FROM event")[0][0], 0);
}

#[test]
fn webhook_without_an_address_only_logs() {
    let (site, receiver) = (Site::shared(), Receiver::start());
    let hook = site.hook(&receiver, json!({"url": null, "events": ["click"]}));
    site.visit(&site.link(0));
    let read = site.get("/events?wait=25");
    assert_eq!(read["data"][0]["type"], "click");
    assert_eq!(site.deliveries(&hook), [Value::Null; 0]);
    let path = format!("/webhooks/{}", hook.id);
    let moved = site.call("PATCH", &path, &json!({"url": receiver.url("/hook")}));
    assert_eq!(moved.status, 200, "{}", moved.text());
    let since = site.page["created_at"].clone();
    let replayed = site.call("POST", &format!("{path}/replay"), &json!({"since": since, "status": "all"}));
    assert_eq!(replayed.json()["deliveries"], 1, "what was logged before can be sent");
    receiver.wait(1)[0].verify(&hook.secret).unwrap();
}
