//! How long a page's store keeps events, and who gets rid of them: the alarm, the page's end, and the
//! account's.

use biolink::events::{Event, EventKind};
use serde_json::{Value, json};
use shared::time::{UnixMillis, UtcDay};
use tests::{
    faults::{Fate, KV_GET},
    http::Request,
    keys,
};

use super::{
    analytics::{noon, store},
    pages::{request, until},
    site::Site,
};

/// Time after midnight at which events expire.
const AFTER_MIDNIGHT: u64 = 600_000;

/// Returns a view so many days ago. It is not in the future, whatever the time of day.
fn view(days_ago: u64) -> Event {
    Event { visitor: 7, ..Event::new(noon(days_ago).min(keys::now()), EventKind::View) }
}

/// Returns how many days ago the events of each row happened, the oldest first.
fn ages(site: &Site) -> Vec<u64> {
    let today = keys::now().day().0;
    let rows = site.stats().sql("SELECT day FROM segment ORDER BY day");
    rows.iter().map(|row| today - row[0].as_u64().unwrap()).collect()
}

fn lifetime(site: &Site) -> Value {
    site.report("interval=90d")["lifetime"]["views"].clone()
}

/// Returns a time soon after the next midnight.
fn next_alarm() -> UnixMillis {
    UtcDay(keys::now().day().0 + 1).start().plus(AFTER_MIDNIGHT)
}

fn change_plan(site: &Site, plan: &str) {
    let bearer = format!("Bearer {}", keys::ADMIN_SECRET);
    let path = format!("/v1/keys/{}", site.account);
    let patch = request("PATCH", &path, &json!({"biolink_plan": plan})).header("Authorization", &bearer);
    let response = site.send(&patch);
    assert_eq!(response.status, 200, "{}", response.text());
}

#[test]
fn events_older_than_the_window_expire_and_stay_in_lifetime() {
    let site = Site::shared();
    let click = Event::new(noon(95), EventKind::Click);
    store(&site, 1, &[view(95), click, view(91), view(91), view(90), view(40), view(0)]);
    assert_eq!((ages(&site), site.stats().alarm()), (vec![95, 91, 90, 40, 0], Some(next_alarm())));
    for _ in 0..2 {
        site.stats().run_alarm();
        assert_eq!((ages(&site), site.stats().alarm()), (vec![90, 40, 0], Some(next_alarm())));
        let report = site.report("interval=90d");
        assert_eq!(report["lifetime"], json!({"views": 6, "clicks": 1, "scans": 0}));
        let kept = site.report(&format!("start={}", UtcDay(keys::now().day().0 - 90).start().to_rfc3339()));
        assert_eq!(kept["totals"]["views"], 3);
    }
}

#[test]
fn store_that_becomes_empty_sleeps_until_the_next_event() {
    let site = Site::shared();
    store(&site, 1, &[view(91)]);
    site.stats().run_alarm();
    assert_eq!((ages(&site), lifetime(&site)), (vec![], json!(1)));
    store(&site, 2, &[view(1)]);
    assert_eq!((ages(&site), lifetime(&site), site.stats().alarm()), (vec![1], json!(2), Some(next_alarm())));
}

#[test]
fn downgrade_shortens_what_is_kept() {
    let site = Site::shared();
    store(&site, 1, &[view(60), view(8), view(7), view(0)]);
    site.stats().run_alarm();
    assert_eq!(ages(&site), [60, 8, 7, 0]);
    change_plan(&site, "none");
    until(|| {
        site.stats().run_alarm();
        ages(&site) == [7, 0]
    });
    assert_eq!(lifetime(&site), 4);
    change_plan(&site, "business");
    site.stats().run_alarm();
    assert_eq!((ages(&site), lifetime(&site)), (vec![7, 0], json!(4)), "what is gone is gone");
}

#[test]
fn failed_kv_deletes_nothing_and_the_alarm_comes_again() {
    let site = Site::start();
    store(&site, 1, &[view(95), view(60), view(0)]);
    site.faults.set(KV_GET, Fate::Fail);
    let before = keys::now();
    site.stats().run_alarm();
    assert_eq!(ages(&site), [95, 60, 0]);
    let again = site.stats().alarm().unwrap();
    assert!(again > before && again.since(before) < 900_000, "within a quarter of an hour: {again:?}");
    // A key that KV does not show could have any plan.
    site.faults.set(KV_GET, Fate::Absent);
    site.stats().run_alarm();
    assert_eq!((ages(&site), site.stats().alarm()), (vec![60, 0], Some(next_alarm())));
    site.faults.set(KV_GET, Fate::Pass);
    assert_eq!(lifetime(&site), 3);
}

#[test]
fn deleted_page_loses_its_events_and_gets_no_more() {
    let site = Site::shared();
    store(&site, 1, &[view(80), view(0)]);
    let path = format!("/pages/{}", site.id());
    assert_eq!(site.send(&Request::new("DELETE", &path).key(&site.key)).status, 204);
    until(|| ages(&site).is_empty());
    store(&site, 2, &[view(0)]);
    store(&site, 1, &[view(80), view(0)]);
    assert_eq!(ages(&site), [0; 0]);
    let settings: Value =
        serde_json::from_str(site.stats().sql("SELECT j FROM settings")[0][0].as_str().unwrap()).unwrap();
    assert_eq!((&settings["purged"], &settings["owner"]), (&json!(true), &Value::Null));
    assert_eq!(lifetime(&site), 0, "the account has no page");
    site.stats().run_alarm();
    assert_eq!(ages(&site), [0; 0]);
}

#[test]
fn erased_account_has_no_events() {
    let site = Site::shared();
    store(&site, 1, &[view(80), view(0)]);
    let path = format!("/account/data?confirm={}", site.account);
    assert_eq!(site.send(&Request::new("DELETE", &path).key(&site.key)).status, 204);
    until(|| ages(&site).is_empty());
    store(&site, 2, &[view(0)]);
    assert_eq!((ages(&site), lifetime(&site)), (vec![], json!(0)));
}

/// The numbers of visitors are for counting only.
#[test]
fn export_has_each_event_without_its_visitor() {
    let site = Site::shared();
    let link = site.page["links"][0]["id"].as_str().unwrap().to_owned();
    let click = Event { visitor: 0x1234_5678_9abc_def0, ..Event::new(noon(1), EventKind::Click) };
    let click = click.with(biolink::events::Dimension::Target, link.clone());
    store(&site, 1, &[view(60), click]);
    // The first of them fill the row of their day.
    store(&site, 2, &vec![view(2); 5_000]);
    store(&site, 3, &[view(2), view(2)]);
    assert_eq!(ages(&site), [60, 2, 2, 1]);

    let export = site.send(&Request::get("/account/export").key(&site.key));
    let lines: Vec<Value> = export.text().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines.last().unwrap()["object"], "end");
    let found: Vec<_> = lines.iter().filter(|line| line["object"] == "event").collect();
    assert_eq!(found.len(), 5_004);
    let expected = json!({"object": "event", "page_id": site.id(), "kind": "click", "at": noon(1).to_rfc3339(),
        "target": link});
    assert_eq!(found.iter().filter(|line| line["kind"] == "click").collect::<Vec<_>>(), [&&expected]);
    let names = ["object", "page_id", "kind", "at"];
    for line in found.iter().filter(|line| line["kind"] == "page_view") {
        assert!(line.as_object().unwrap().keys().all(|name| names.contains(&name.as_str())), "{line}");
    }
    let text = export.text();
    assert!(!text.contains("visitor") && !text.contains(&0x1234_5678_9abc_def0_u64.to_string()));
}
