//! The list of keys: search, order, pages, and the directory behind it.

use std::thread;

use serde_json::{Value, json};
use shared::time::UnixMillis;
use tests::{
    faults::{CHANGES, Fate, Faults},
    http::{Request, Response},
    keys,
    objects::Object,
    stack::{Edge, NOWHERE, PROBE_BOUND},
    wait::wait_for,
};

use super::abuse::administer;

fn get(edge: &Edge, query: &str) -> Response {
    administer(edge, "GET", &format!("/v1/keys?{query}"), None)
}

fn issue(edge: &Edge, name: &str, email: &str) -> Value {
    let body = json!({ "email": email, "name": name, "tier": "free", "admin_secret": keys::ADMIN_SECRET });
    let issued = Request::post("/v1/keys/issue", &body).send(edge.addr);
    assert_eq!(issued.status, 201, "{}", issued.text());
    issued.json()
}

/// Returns a text of each key on all pages.
fn list(edge: &Edge, query: &str, pointer: &str) -> Vec<String> {
    let (mut found, mut cursor) = (Vec::new(), String::new());
    loop {
        let page = get(edge, &format!("{query}&cursor={cursor}"));
        assert_eq!(page.status, 200, "{query}: {}", page.text());
        let page = page.json();
        let keys = page["keys"].as_array().unwrap();
        found.extend(keys.iter().map(|key| key.pointer(pointer).unwrap().as_str().unwrap().to_owned()));
        match page["cursor"].as_str() {
            Some(next) => next.clone_into(&mut cursor),
            None => return found,
        }
    }
}

#[test]
fn list_is_searched_and_sorted_whatever_the_size_of_its_pages() {
    let edge = Edge::start(NOWHERE);
    let issued = keys::HOLDERS.map(|(name, email)| issue(&edge, name, email));
    for (query, expected) in keys::LISTS {
        for limit in [1, 2, 100] {
            let found = list(&edge, &format!("{query}&limit={limit}"), "/holder/email");
            assert_eq!(found, expected, "{query}, {limit}");
        }
    }
    // Keys of one millisecond are in the order of their ids.
    let mut by_time = issued.map(|key| {
        let [issued_at, id] =
            ["/issued_at", "/id"].map(|pointer| key.pointer(pointer).unwrap().as_str().unwrap());
        (UnixMillis::from_rfc3339(issued_at).unwrap(), id.to_owned())
    });
    by_time.sort();
    let by_time: Vec<String> = by_time.into_iter().map(|(_, id)| id).collect();
    assert_eq!(list(&edge, "sort=issued_at&limit=3", "/id"), by_time);
    let newest_first: Vec<String> = by_time.iter().rev().cloned().collect();
    assert_eq!(list(&edge, "limit=3", "/id"), newest_first);
    for id in &by_time {
        assert_eq!(list(&edge, &format!("q={id}"), "/id"), [id.as_str()]);
        assert!(list(&edge, &format!("q={}", &id[..10]), "/id").contains(id));
        assert!(list(&edge, &format!("q={}", &id[4..]), "/id").is_empty());
    }
}

#[test]
fn cursor_of_another_list_is_422() {
    let edge = Edge::start(NOWHERE);
    for (name, email) in keys::HOLDERS {
        issue(&edge, name, email);
    }
    let first = get(&edge, "sort=name&q=example&limit=1").json();
    let cursor = first["cursor"].as_str().unwrap();
    assert_eq!(get(&edge, &format!("sort=name&q=example&cursor={cursor}")).status, 200);
    for other in ["", "sort=email&q=example", "sort=name", "sort=name&q=example&tier=free"] {
        let refused = get(&edge, &format!("{other}&cursor={cursor}"));
        assert_eq!((refused.status, refused.code().as_str()), (422, "fields-invalid"), "{other}");
    }
    for (query, allowed) in [
        ("sort=tier", "issued_at, -issued_at, name, -name, email, -email"),
        ("query=ada", "cursor, limit, q, email, tier, status and sort"),
    ] {
        let refused = get(&edge, query);
        assert_eq!(refused.status, 422, "{query}");
        assert!(refused.text().contains(allowed), "{query}: {}", refused.text());
    }
}

/// The key list finds the change that the record in KV gets.
#[test]
fn changed_holder_is_found_by_the_new_name_alone() {
    let edge = Edge::start(NOWHERE);
    let id = issue(&edge, "Ada Byron", "ada@example.com")["id"].as_str().unwrap().to_owned();
    assert_eq!(list(&edge, "q=byron", "/id"), [id.as_str()]);
    let change = json!({ "holder": { "name": "Ada Lovelace", "email": "ada@example.com" } });
    let changed = administer(&edge, "PATCH", &format!("/v1/keys/{id}"), Some(&change));
    assert_eq!(changed.status, 200, "{}", changed.text());
    wait_for(PROBE_BOUND, || (list(&edge, "q=lovelace", "/id") == [id.as_str()]).then_some(()));
    assert!(list(&edge, "q=byron", "/id").is_empty());
}

/// The directory fails while keys are issued, more of them than one request copies.
#[test]
fn directory_is_copied_from_kv_when_it_is_read_first() {
    let faults = Faults::start();
    let edge = Edge::start_with_faults(NOWHERE, &faults);
    faults.set(CHANGES, Fate::Fail);
    thread::scope(|scope| {
        for thread in 0..8 {
            let edge = &edge;
            scope.spawn(move || {
                for number in 0..64 {
                    issue(edge, &format!("Ada {thread}-{number}"), "ada@example.com");
                }
            });
        }
    });
    faults.set(CHANGES, Fate::Pass);
    let early = get(&edge, "q=ada%207-63");
    assert_eq!((early.status, early.code().as_str()), (503, "key-store-unavailable"));
    assert_eq!(early.header("retry-after"), Some("5"));
    assert!(early.text().contains("is being filled"), "{}", early.text());
    wait_for(PROBE_BOUND, || (get(&edge, "limit=1").status == 200).then_some(()));
    assert_eq!(list(&edge, "limit=100", "/id").len(), 8 * 64);
    assert_eq!(list(&edge, "q=ada%207-63", "/holder/name"), ["Ada 7-63"]);
}

#[test]
fn directory_is_copied_again_when_it_is_read_a_day_later() {
    let faults = Faults::start();
    let edge = Edge::start_with_faults(NOWHERE, &faults);
    issue(&edge, "Ada", "ada@example.com");
    assert_eq!(list(&edge, "", "/holder/name"), ["Ada"]);
    faults.set_once(CHANGES, Fate::Fail);
    issue(&edge, "Bob", "bob@example.com");
    let object = Object::key_changes(&edge);
    assert_eq!(list(&edge, "", "/holder/name"), ["Ada"]);
    assert_eq!(object.alarm(), None, "the copy is young");

    object.sql("UPDATE copy SET ended = ended - 86400000");
    assert_eq!(list(&edge, "", "/holder/name"), ["Ada"], "a copy is not waited for");
    wait_for(PROBE_BOUND, || (list(&edge, "sort=name", "/holder/name") == ["Ada", "Bob"]).then_some(()));
}

#[test]
fn search_goes_on_with_the_cursor_after_50_000_keys() {
    let faults = Faults::start();
    let edge = Edge::start_with_faults(NOWHERE, &faults);
    let id = issue(&edge, "Ada", "ada@example.com")["id"].as_str().unwrap().to_owned();
    assert_eq!(list(&edge, "q=ada", "/id"), [id.as_str()]);
    Object::key_changes(&edge).sql(
        "WITH RECURSIVE n (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < 60000)
        INSERT INTO keys (id, version, issued_at, name, email, tier, status, j)
        SELECT printf('key_%017d', n), 1, printf('%020d', n), printf('bob %06d', n), '', 'free', 'active', '' FROM n",
    );
    for (order, pages) in [("sort=issued_at", [0, 1]), ("sort=-issued_at", [1, 0]), ("sort=-name", [0, 1])] {
        let first = get(&edge, &format!("{order}&q=ada")).json();
        let next = get(&edge, &format!("{order}&q=ada&cursor={}", first["cursor"].as_str().unwrap())).json();
        let found = [&first, &next].map(|page| page["keys"].as_array().unwrap().len());
        assert_eq!(found, pages, "{order}");
        assert_eq!(next["cursor"], Value::Null, "{order}");
    }
}
