//! Reports of pages by visitors: what is kept of them in a flood.

use biolink::page::PageId;
use biolink::pages_api::{MAX_REPORTS, REPORTS_PER_NETWORK, REPORTS_PER_PAGE, ReportsMessage};
use serde_json::{Value, json};
use tests::{
    faults::Faults,
    http::Request,
    objects::Object,
    stack::{Edge, NOWHERE},
};

use super::abuse::{administer, page_with_link};
use super::pages::issue;

/// Returns the request with which a visitor reports a page.
pub(super) fn report(slug: &str, address: &str, details: &str) -> Request {
    Request::new("POST", &format!("/{slug}/report"))
        .header("Content-Type", "application/x-www-form-urlencoded")
        .header("CF-Connecting-IP", address)
        .body(format!("reason=spam&details={}", details.replace(' ', "+")))
}

const fn page(n: u8) -> PageId {
    PageId::new([n; 12])
}

/// Has a report kept that `sender` in `network` sends of a page.
fn add(store: &Object<'_>, page: PageId, (network, sender): (u16, u16), details: &str) -> bool {
    let report = json!({"details": details}).to_string();
    let message = ReportsMessage::Add { page, sender: network << 8 | sender, more: 0, report };
    let reply = store.send(&serde_json::to_value(message).unwrap());
    reply.json().as_bool().unwrap_or_else(|| panic!("{}", reply.text()))
}

/// Returns the details of the reports of a page, the newest first, and how many stand behind them.
fn kept(store: &Object<'_>, page: PageId) -> (Vec<String>, u64) {
    let message = ReportsMessage::List { page: Some(page), before: None, limit: 1_000 };
    let listed: Vec<Value> =
        serde_json::from_value(store.send(&serde_json::to_value(message).unwrap()).json()).unwrap();
    let details = |report: &Value| report["details"].as_str().unwrap().to_owned();
    let more = listed.iter().map(|report| report["more"].as_u64().unwrap()).sum();
    (listed.iter().map(details).collect(), more)
}

#[test]
fn reports_are_listed_newest_first_over_pages() {
    let edge = Edge::start(NOWHERE);
    let (key, account) = issue(&edge, None);
    let (ada, _) = page_with_link(&edge, &key, "ada", "https://example.com/");
    page_with_link(&edge, &key, "bob", "https://example.com/");
    for (slug, n) in [("ada", 1), ("ada", 2), ("ada", 3), ("bob", 4)] {
        let sent = report(slug, &format!("192.0.2.{n}"), &format!("number {n}")).send(edge.addr);
        assert_eq!(sent.status, 200, "{}", sent.text());
    }
    let list = |query: &str| {
        let listed = administer(&edge, "GET", &format!("/admin/reports?{query}"), None);
        assert_eq!(listed.status, 200, "{}", listed.text());
        let body = listed.json();
        let details: Vec<_> = body["reports"]
            .as_array()
            .unwrap()
            .iter()
            .map(|report| report["details"].as_str().unwrap().to_owned())
            .collect();
        (details, body["cursor"].as_str().map(str::to_owned), body["reports"][0].clone())
    };
    let (first, cursor, newest) = list("limit=3");
    assert_eq!(first, ["number 4", "number 3", "number 2"]);
    assert_eq!(
        (&newest["slug"], &newest["account"], &newest["reason"]),
        (&json!("bob"), &json!(account), &json!("spam"))
    );
    let (second, end, _) = list(&format!("limit=3&cursor={}", cursor.unwrap()));
    assert_eq!((second.as_slice(), end), (&["number 1".to_owned()][..], None));
    assert_eq!(list(&format!("page={ada}")).0, ["number 3", "number 2", "number 1"]);
    for query in ["limit=0", "limit=101", "cursor=x", "page=ada", "slug=ada"] {
        let refused = administer(&edge, "GET", &format!("/admin/reports?{query}"), None);
        assert_eq!((refused.status, refused.code().as_str()), (422, "fields-invalid"), "{query}");
    }
}

/// A flood through the worker: the isolate sends few of them, and none is refused.
#[test]
fn reports_of_100_addresses_leave_the_earlier_one() {
    let faults = Faults::start();
    let edge = Edge::start_with_faults(NOWHERE, &faults);
    let (key, _) = issue(&edge, None);
    let (id, _) = page_with_link(&edge, &key, "ada", "https://example.com/");
    assert_eq!(report("ada", "192.0.2.1", "honest").send(edge.addr).status, 200);
    for n in 0..100 {
        assert_eq!(report("ada", &format!("198.51.{n}.9"), "flood").send(edge.addr).status, 200);
    }
    let listed = administer(&edge, "GET", &format!("/admin/reports?page={id}&limit=100"), None).json();
    let reports = listed["reports"].as_array().unwrap();
    assert_eq!(reports.last().unwrap()["details"], "honest");
    // The count begins anew with each minute.
    assert!((8..=16).contains(&reports.len()), "{}", reports.len());
}

#[test]
fn store_keeps_the_first_and_the_newest_of_a_page() {
    let faults = Faults::start();
    let edge = Edge::start_with_faults(NOWHERE, &faults);
    let store = Object::reports(&edge);
    for n in 1..=150 {
        assert!(add(&store, page(1), (n, n), &n.to_string()));
    }
    let (details, more) = kept(&store, page(1));
    assert_eq!((details.len() as u64, more), (REPORTS_PER_PAGE, 150 - REPORTS_PER_PAGE));
    let expected: Vec<String> = (71..=150).rev().chain((1..=20).rev()).map(|n: u16| n.to_string()).collect();
    assert_eq!(details, expected);

    for n in 1..=9 {
        assert!(add(&store, page(2), (7, n), &n.to_string()), "nine senders of one network");
    }
    assert_eq!(kept(&store, page(2)), (vec!["9".to_owned(), "8".to_owned(), "7".to_owned()], 6));
    let sent: Vec<bool> = (1..=4).map(|_| add(&store, page(3), (1, 1), "again")).collect();
    assert_eq!(sent, [true, true, true, false], "one sender, {REPORTS_PER_NETWORK} of a network");
}

#[test]
fn full_store_gives_up_what_was_read_and_nothing_else() {
    let faults = Faults::start();
    let edge = Edge::start_with_faults(NOWHERE, &faults);
    let store = Object::reports(&edge);
    assert!(add(&store, page(1), (1, 1), "first"));
    store.sql(&format!(
        "WITH RECURSIVE n(n) AS (SELECT 2 UNION ALL SELECT n + 1 FROM n WHERE n < {MAX_REPORTS})
        INSERT INTO report (page, sender, at, j) SELECT 'other', 0, {}, '{{}}' FROM n",
        tests::keys::now().0
    ));
    store.restart();
    assert!(add(&store, page(2), (2, 2), "too many"));
    assert_eq!(kept(&store, page(2)).0, Vec::<String>::new());
    assert_eq!(kept(&store, page(1)).0, ["first"]);
    assert!(add(&store, page(2), (2, 2), "instead of what was read"));
    assert_eq!((kept(&store, page(2)).0.len(), kept(&store, page(1)).0.len()), (1, 0));
}
