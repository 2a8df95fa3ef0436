//! The past calls of a key.

use serde_json::{Value, json};
use tests::{http::Request, objects::Object, stack::Edge};

use super::world::World;

fn read(edge: &Edge, key: &str, query: &str) -> Value {
    let response = Request::get(&format!("/v1/usage?{query}")).key(key).send(edge.addr);
    assert_eq!(response.status, 200, "{}", response.text());
    response.json()
}

fn calls(history: &Value) -> Vec<u64> {
    history["data"].as_array().unwrap().iter().map(|row| row["calls"].as_u64().unwrap()).collect()
}

fn call(edge: &Edge, key: &str, times: usize) {
    for _ in 0..times {
        assert_eq!(Request::get("/v1/idea/generate").key(key).send(edge.addr).status, 200);
    }
}

/// The stored state is moved back by an hour, as if it were an hour later now.
#[test]
fn hour_that_ends_is_kept_by_the_meter() {
    let World { edge, .. } = &World::start();
    let (key, id) = edge.issue("free");
    call(edge, &key, 3);
    let meter = Object::meter(edge, &id);
    meter.sql("UPDATE state SET j = json_set(j, '$.hour', json_extract(j, '$.hour') - 1)");
    meter.restart();
    call(edge, &key, 2);
    let hours = read(edge, &key, "group_by=hour&interval=3h");
    // In the first hour of a day, the hour before is yesterday's, and all calls of the state are today's.
    let is_first = hours["data"][2]["start"].as_str().unwrap().ends_with("T00:00:00Z");
    let second = if is_first { 5 } else { 2 };
    assert_eq!(calls(&hours)[1..], [3, second], "{hours}");
    assert_eq!(hours["data"][2]["by_tool"], json!({ "idea": second }));
    assert_eq!(meter.sql("SELECT count(*) FROM hours"), [[json!(1)]]);
    assert_eq!(calls(&read(edge, &key, "interval=1d")), [5], "a day is what was charged on it");
    let statuses = read(edge, &key, "interval=1d&group_by=status");
    assert_eq!(statuses["data"], json!([{ "status": 200, "calls": 5 }]));
}

#[test]
fn history_is_free_and_comes_as_a_table_too() {
    let edge = Edge::shared();
    let (key, _) = edge.issue("free");
    let response = Request::get("/v1/usage?format=csv&interval=1d").key(&key).send(edge.addr);
    assert_eq!(
        (response.status, response.header("content-type")),
        (200, Some("text/csv; charset=utf-8; header=present"))
    );
    assert!(response.text().starts_with("day,calls\r\n") && response.text().ends_with("T00:00:00Z,0\r\n"));
    assert!(response.header("ratelimit").is_some_and(|quota| quota.contains("\"minute\";r=10")));
    let wrong = Request::get("/v1/usage?interval=1y").key(&key).send(edge.addr);
    assert_eq!((wrong.status, wrong.code().as_str()), (422, "fields-invalid"));
    assert_eq!(Request::get("/v1/usage").send(edge.addr).code(), "key-missing");
}

#[test]
fn calls_are_counted_by_secret() {
    let World { edge, .. } = &World::start();
    let (key, _) = edge.issue("free");
    let body = json!({ "name": "CI", "scopes": { "tools": ["idea"] } });
    let made = Request::post("/v1/keys/me/secrets", &body).key(&key).send(edge.addr);
    assert_eq!(made.status, 201, "{}", made.text());
    let (id, named) = (made.json()["id"].clone(), made.json()["key"].as_str().unwrap().to_owned());
    call(edge, &key, 2);
    call(edge, &named, 3);
    let secrets = read(edge, &key, "interval=1d&group_by=secret");
    let expected = json!([{ "secret": null, "calls": 2 }, { "secret": id, "calls": 3 }]);
    assert_eq!((&secrets["data"], &secrets["calls"]), (&expected, &json!(5)));
}
