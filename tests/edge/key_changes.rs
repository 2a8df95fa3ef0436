//! The feed of key changes, as a proxy in direct mode reads it.

use std::time::Duration;

use serde_json::{Value, json};
use shared::{
    key::{ApiKey, KeyError, KeyRecord},
    keys_api::{ChangesPage, Cursor},
    origin_token::OriginToken,
    policy::Policy,
    secret::MacKeys,
    tier::Tier,
    time::UnixMillis,
};
use tests::{
    faults::{CHANGES, Fate, Faults, KV_PUT},
    http::{Request, Response},
    keys,
    stack::{Edge, NOWHERE, PROBE_BOUND},
    wait::wait_for,
};

fn now() -> UnixMillis {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    UnixMillis(u64::try_from(since.as_millis()).unwrap())
}

fn token(secret: &str, issued_at: UnixMillis) -> String {
    OriginToken { data_center: "fra".to_owned(), issued_at }.sign(&MacKeys::parse(secret).unwrap())
}

fn get(edge: &Edge, target: &str) -> Response {
    Request::get(target).header("Authorization", &token(keys::GRANT_SECRET, now())).send(edge.addr)
}

fn ask(edge: &Edge, cursor: Option<&Cursor>) -> Response {
    get(edge, &ChangesPage::target(cursor))
}

fn read(edge: &Edge, cursor: Option<&Cursor>) -> ChangesPage {
    let response = ask(edge, cursor);
    assert_eq!(response.status, 200, "{}", response.text());
    ChangesPage::from_json(&response.body).unwrap()
}

fn admin(edge: &Edge, method: &str, path: &str, body: &Value) -> Response {
    let request = Request { method: method.to_owned(), ..Request::post(path, body) };
    request.header("Authorization", &format!("Bearer {}", keys::ADMIN_SECRET)).send(edge.addr)
}

/// Changes a key and waits until the feed has it.
fn change(edge: &Edge, id: &str, what: &str, body: &Value) -> Response {
    let known = version(edge, id);
    let (method, path) = match what {
        "" => ("PATCH", format!("/v1/keys/{id}")),
        _ => ("POST", format!("/v1/keys/{id}/{what}")),
    };
    let response = admin(edge, method, &path, body);
    assert_eq!(response.status, 200, "{}", response.text());
    wait_for(PROBE_BOUND, || (version(edge, id) > known).then_some(()));
    response
}

fn version(edge: &Edge, id: &str) -> u64 {
    let page = read(edge, None);
    page.keys.iter().find(|record| record.id.to_string() == id).map_or(0, |record| record.version)
}

fn issue_with(edge: &Edge, own: &Value) -> Response {
    let mut body = json!({
        "email": "ada@example.com", "name": "Ada", "tier": "pro", "admin_secret": keys::ADMIN_SECRET,
    });
    body.as_object_mut().unwrap().extend(own.as_object().unwrap().clone());
    Request::post("/v1/keys/issue", &body).send(edge.addr)
}

fn ids(page: &ChangesPage) -> Vec<String> {
    page.keys.iter().map(|record| record.id.to_string()).collect()
}

fn judge(record: &KeyRecord, key: &str) -> Result<(), KeyError> {
    record.check(&ApiKey::parse(key).unwrap().verify(&keys::signing()).unwrap(), now())
}

/// Each appears with its newest record. A key whose text says everything does not appear, and a
/// page holds no secret and no holder.
#[test]
fn changed_keys_appear_once_in_the_order_of_their_changes() {
    let edge = Edge::start(NOWHERE);
    let [upgraded, disabled, revoked, rotated, untouched] = [(); 5].map(|()| edge.issue("free"));
    let empty = read(&edge, None);
    assert_eq!((ids(&empty), empty.more), (Vec::new(), false), "a key whose text says it all needs no word");

    change(&edge, &upgraded.1, "", &json!({ "tier": "pro" }));
    change(&edge, &disabled.1, "", &json!({ "disabled": true }));
    change(&edge, &revoked.1, "revoke", &json!({}));
    let fresh = change(&edge, &rotated.1, "rotate", &json!({ "grace_seconds": 0 })).json();
    let before = read(&edge, None);
    change(&edge, &upgraded.1, "", &json!({ "limits": { "minute": 7 } }));

    let response = ask(&edge, None);
    let page = ChangesPage::from_json(&response.body).unwrap();
    assert_eq!(ids(&page), [&disabled.1, &revoked.1, &rotated.1, &upgraded.1].map(String::clone));
    let [off, ended, renewed, lifted] = page.keys.as_slice() else { panic!("{page:?}") };
    assert_eq!(judge(off, &disabled.0), Err(KeyError::Disabled));
    assert_eq!(judge(ended, &revoked.0), Err(KeyError::Revoked));
    assert_eq!(judge(renewed, &rotated.0), Err(KeyError::Invalid));
    assert_eq!(judge(renewed, fresh["key"].as_str().unwrap()), Ok(()));
    assert_eq!(judge(lifted, &upgraded.0), Ok(()));
    let policy = lifted.policy();
    assert_eq!((lifted.version, lifted.tier, policy.minute.get()), (3, Tier::Pro, 7));
    assert_eq!(policy.day, Policy::for_tier(Tier::Pro).day);

    let after = read(&edge, Some(&before.cursor));
    assert_eq!(ids(&after), [upgraded.1], "only what has changed since");
    let rest = read(&edge, Some(&after.cursor));
    assert_eq!((ids(&rest), rest.more, rest.cursor), (Vec::new(), false, after.cursor));

    assert_eq!(response.header("cache-control"), Some("no-store"));
    assert!(response.header("x-request-id").is_some());
    assert!(page.keys.iter().all(|record| record.holder.is_none()));
    let text = response.text();
    for hidden in ["ada@example.com", "\"Ada\"", &untouched.1, &disabled.0[9..40], &rotated.0[9..40]] {
        assert!(!text.contains(hidden), "{hidden}");
    }
}

#[test]
fn key_issued_with_limits_or_expiry_is_in_the_feed_at_once() {
    let edge = Edge::start(NOWHERE);
    issue_with(&edge, &json!({ "biolink_plan": "business" }));
    let limited = issue_with(&edge, &json!({ "limits": { "day": 5 } })).json();
    let ending = issue_with(&edge, &json!({ "expires_at": "2100-01-01T00:00:00Z" })).json();
    let page = read(&edge, None);
    assert_eq!(json!(ids(&page)), json!([limited["id"], ending["id"]]));
    assert_eq!(page.keys[0].policy().day.unwrap().get(), 5);
    assert_eq!(judge(&page.keys[1], ending["key"].as_str().unwrap()), Ok(()));
    let later = UnixMillis::from_rfc3339("2100-01-01T00:00:00Z").unwrap();
    let key = ApiKey::parse(ending["key"].as_str().unwrap()).unwrap().verify(&keys::signing()).unwrap();
    assert_eq!(page.keys[1].check(&key, later), Err(KeyError::Expired));
}

#[test]
fn feed_without_a_fresh_origin_token_is_401() {
    let edge = Edge::shared();
    let (right, now) = (token(keys::GRANT_SECRET, now()), now());
    let (head, last) = right.split_at(right.len() - 1);
    let spoilt = format!("{head}{}", if last == "A" { "B" } else { "A" });
    for header in [
        "".to_owned(),
        format!("Bearer {}", keys::ADMIN_SECRET),
        spoilt,
        token(keys::KEY_SIGNING_SECRET, now),
        token(keys::GRANT_SECRET, now.minus(31_000)),
        token(keys::GRANT_SECRET, now.plus(60_000)),
    ] {
        let request = Request::get("/internal/keys/changes");
        let request = if header.is_empty() { request } else { request.header("Authorization", &header) };
        let response = request.send(edge.addr);
        assert_eq!((response.status, response.code().as_str()), (401, "origin-token-invalid"), "{header}");
        assert!(response.header("www-authenticate").unwrap().starts_with("Bearer"));
        assert_eq!(response.header("cache-control"), Some("no-store"));
    }
    for (method, status) in [("HEAD", 200), ("POST", 405), ("DELETE", 405)] {
        let request = Request::new(method, "/internal/keys/changes").header("Authorization", &right);
        assert_eq!(request.send(edge.addr).status, status, "{method}");
    }
}

#[test]
fn cursor_of_another_feed_restarts_and_invalid_one_is_422() {
    let edge = Edge::start(NOWHERE);
    issue_with(&edge, &json!({ "limits": { "day": 5 } }));
    for query in ["cursor=a%20b", "limit=1001", "page=1"] {
        let response = get(&edge, &format!("/internal/keys/changes?{query}"));
        assert_eq!((response.status, response.code().as_str()), (422, "fields-invalid"), "{query}");
    }
    for foreign in ["1-1", "other"] {
        assert_eq!(read(&edge, Cursor::parse(foreign).as_ref()).keys.len(), 1, "{foreign}");
    }
}

#[test]
fn feed_and_cursors_survive_a_restart() {
    let edge = Edge::start_stored(NOWHERE);
    let (_, id) = edge.issue("free");
    let first = issue_with(&edge, &json!({ "limits": { "day": 5 } })).json();
    let cursor = read(&edge, None).cursor;
    let edge = edge.restart(NOWHERE);
    assert_eq!(json!(ids(&read(&edge, None))), json!([first["id"]]));
    change(&edge, &id, "revoke", &json!({}));
    assert_eq!(ids(&read(&edge, Some(&cursor))), [id]);
}

#[test]
fn feed_pages_follow_each_other_without_a_gap() {
    let edge = Edge::start(NOWHERE);
    let own = json!({ "limits": { "day": 5 } });
    let issue = || issue_with(&edge, &own).json()["id"].as_str().unwrap().to_owned();
    let issued: Vec<String> = (0..7).map(|_| issue()).collect();
    let page = |cursor: Option<&Cursor>| {
        let target = format!(
            "/internal/keys/changes?limit=3&cursor={}",
            cursor.map_or_else(String::new, Cursor::to_string)
        );
        ChangesPage::from_json(&get(&edge, &target).body).unwrap()
    };
    let first = page(None);
    assert_eq!((ids(&first), first.more), (issued[..3].to_vec(), true));
    // A key of the first page that changes meanwhile appears again, after all others.
    change(&edge, &issued[0], "revoke", &json!({}));
    let second = page(Some(&first.cursor));
    assert_eq!((ids(&second), second.more), (issued[3..6].to_vec(), true));
    let third = page(Some(&second.cursor));
    assert_eq!((ids(&third), third.more), (vec![issued[6].clone(), issued[0].clone()], false));
}

/// A revocation holds at the edge meanwhile. A key that needs the feed is neither issued nor
/// stored.
#[test]
fn failed_feed_delays_changes_and_loses_none() {
    let faults = Faults::start();
    let edge = Edge::start_with_faults(NOWHERE, &faults);
    let (key, id) = edge.issue("free");
    let written = faults.count(KV_PUT);
    faults.set(CHANGES, Fate::Fail);

    let response = admin(&edge, "POST", &format!("/v1/keys/{id}/revoke"), &json!({}));
    assert_eq!(response.status, 200, "a change does not wait for the feed: {}", response.text());
    let refused = Request::get("/v1/qr/generate").key(&key).send(edge.addr);
    assert_eq!(refused.code(), "key-revoked", "nor does its effect at the edge");
    let response = ask(&edge, None);
    assert_eq!((response.status, response.code().as_str()), (503, "key-store-unavailable"));
    assert!(response.header("retry-after").is_some());
    // The feed is retried, and KV is not written again for it.
    wait_for(PROBE_BOUND, || (faults.count(CHANGES) >= 3).then_some(()));
    assert_eq!(faults.count(KV_PUT), written + 1);

    let plain = edge.issue("free");
    let special = issue_with(&edge, &json!({ "limits": { "day": 5 } }));
    assert_eq!((special.status, special.code().as_str()), (503, "key-store-unavailable"));
    let listed = admin(&edge, "GET", "/v1/keys", &json!({}));
    assert_eq!((listed.status, listed.code().as_str()), (503, "key-store-unavailable"));

    faults.set(CHANGES, Fate::Pass);
    let listed = admin(&edge, "GET", "/v1/keys", &json!({})).json();
    assert_eq!(
        listed["keys"].as_array().unwrap().len(),
        2,
        "what was not handed out is not stored: {listed}"
    );
    let page = wait_for(PROBE_BOUND, || Some(read(&edge, None)).filter(|page| !page.keys.is_empty()));
    assert_eq!(ids(&page), [id]);
    assert_eq!(judge(&page.keys[0], &key), Err(KeyError::Revoked));
    assert_eq!(version(&edge, &plain.1), 0);
}

/// KV fails throughout. After three failed writes the next retry is eight seconds away, so the feed
/// has the newer change only if that set the alarm anew.
#[test]
fn newer_change_is_noted_before_the_retry_of_an_older_one() {
    let faults = Faults::start();
    let edge = Edge::start_with_faults(NOWHERE, &faults);
    let (_, id) = edge.issue("free");
    faults.set(KV_PUT, Fate::Fail);
    change(&edge, &id, "", &json!({ "tier": "pro" }));
    // The issue wrote once, and three writes failed.
    wait_for(PROBE_BOUND, || (faults.count(KV_PUT) == 4).then_some(()));
    let ended = admin(&edge, "POST", &format!("/v1/keys/{id}/revoke"), &json!({}));
    assert_eq!(ended.status, 200, "{}", ended.text());
    wait_for(Duration::from_secs(5), || (version(&edge, &id) == 3).then_some(()));
    faults.set(KV_PUT, Fate::Pass);
    wait_for(PROBE_BOUND, || {
        let listed = admin(&edge, "GET", "/v1/keys", &json!({})).json();
        (listed["keys"][0]["status"] == "revoked").then_some(())
    });
}

#[test]
fn silent_feed_is_503_and_calls_never_ask_it() {
    let faults = Faults::start();
    let edge = Edge::start_with_faults(NOWHERE, &faults);
    faults.set(CHANGES, Fate::Hang);
    for tier in ["free", "pro"] {
        let (key, _) = edge.issue(tier);
        let entered = faults.count(CHANGES);
        for _ in 0..3 {
            assert_eq!(Request::get("/v1/qr/generate").key(&key).send(edge.addr).code(), "tool-unavailable");
        }
        assert_eq!(Request::get("/v1/keys/me").key(&key).send(edge.addr).status, 200);
        assert_eq!(faults.count(CHANGES), entered);
    }
    assert_eq!(ask(&edge, None).code(), "key-store-unavailable");
    assert_eq!(issue_with(&edge, &json!({ "limits": { "day": 5 } })).code(), "key-store-unavailable");
}
