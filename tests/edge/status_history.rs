//! The status over 90 days and the incidents: the object that keeps them, the page, and the feed.

use serde_json::{Value, json};
use shared::tool::Tool;
use tests::{
    ProxyConfig,
    faults::{Fate, Faults, STATUS_HISTORY},
    http::{Request, Response},
    keys,
    objects::Object,
    stack::{Edge, NOWHERE, Tools},
};

use super::pages::until;
use super::world::World;

fn get(edge: &Edge, path: &str) -> Response {
    Request::get(path).send(edge.addr)
}

/// Returns the availability of a tool today.
fn today(edge: &Edge, tool: Tool) -> Value {
    let history = get(edge, "/v1/status/history");
    assert_eq!(history.status, 200, "{}", history.text());
    let history = history.json();
    let tools = history["tools"].as_array().unwrap();
    let found = tools.iter().find(|one| one["tool"] == tool.as_str()).unwrap();
    let days = found["days"].as_array().unwrap();
    assert_eq!(days.len(), 90);
    days[89].clone()
}

fn admin(edge: &Edge, method: &str, path: &str, body: &Value) -> Response {
    let request = Request { method: method.to_owned(), ..Request::post(path, body) };
    request.header("Authorization", &format!("Bearer {}", keys::ADMIN_SECRET)).send(edge.addr)
}

fn incident() -> Value {
    json!({ "title": "Slow <b>", "impact": "minor", "tools": ["flip"], "message": "We look into it." })
}

/// Whatever reports and reads there are in a minute, it counts once.
#[test]
fn stopped_tool_lowers_the_availability_of_the_day_once_a_minute() {
    let (tools, faults) = (Tools::start(), Faults::start());
    let proxy = ProxyConfig::for_tools(&tools).start_and_wait();
    let edge = Edge::start_with_faults(&proxy.url(), &faults);
    let object = Object::status_history(&edge);
    assert_eq!(get(&edge, "/status").status, 200, "the first read begins the history");
    until(|| today(&edge, Tool::Flip) == 1.0);
    until(|| object.alarm().is_some());
    tools.stop(Tool::Flip);
    until(|| get(&edge, "/v1/status").json()["status"] == "degraded");
    // As if the sample of a minute ago were the only one.
    object.sql("UPDATE day SET j = json_set(j, '$.last', NULL, '$.tools.flip', json('{\"known\":1,\"available\":1}'))");
    for _ in 0..5 {
        object.run_alarm();
    }
    let row = object.sql(
        "SELECT json_extract(j, '$.tools.flip.known'), json_extract(j, '$.tools.flip.available') FROM day",
    );
    let [known, available] = [0, 1].map(|column| row[0][column].as_u64().unwrap());
    // A minute may have ended meanwhile.
    assert!((2..=3).contains(&known) && available == 1, "{known} {available}");
    object.restart();
    until(|| today(&edge, Tool::Flip).as_f64().unwrap() < 1.0);
    assert_eq!(today(&edge, Tool::Qr), 1.0);
    let page = get(&edge, "/status").text();
    assert!(page.contains("1 of 17 tools is not available") && page.contains("flip in 90 days: "), "{page}");
}

#[test]
fn history_without_an_origin_is_of_tools_that_are_away() {
    let faults = Faults::start();
    let edge = Edge::start_with_faults(NOWHERE, &faults);
    until(|| today(&edge, Tool::Qr) == 0.0);
}

#[test]
fn incident_is_on_the_page_and_in_the_feed_until_it_is_deleted() {
    let World { edge, .. } = &World::start();
    let send = |body: &Value| {
        let request = Request::post("/v1/status/incidents", body).header("Idempotency-Key", "a");
        request.header("Authorization", &format!("Bearer {}", keys::ADMIN_SECRET)).send(edge.addr)
    };
    let created = send(&incident());
    assert_eq!(created.status, 201, "{}", created.text());
    let id = created.json()["id"].as_str().unwrap().to_owned();
    let path = format!("/v1/status/incidents/{id}");
    assert_eq!(created.header("location"), Some(path.as_str()));
    assert_eq!(send(&incident()).json(), created.json(), "it was sent again");
    let other = send(&json!({ "title": "Other", "impact": "minor", "message": "a" }));
    assert_eq!((other.status, other.code().as_str()), (422, "idempotency-key-reused"));

    let resolved = json!({ "state": "resolved", "message": "A server was replaced." });
    assert_eq!(admin(edge, "POST", &format!("{path}/updates"), &resolved).status, 200);
    Object::status_history(edge).restart();
    let listed = get(edge, "/v1/status/incidents").json();
    assert_eq!(listed["incidents"].as_array().unwrap().len(), 1, "{listed}");
    assert_eq!(
        (&listed["incidents"][0]["id"], &listed["incidents"][0]["state"]),
        (&json!(id), &json!("resolved"))
    );
    assert_eq!(get(edge, &path).json(), listed["incidents"][0]);
    let page = get(edge, "/status").text();
    assert!(page.contains(&format!("id=\"{id}\"")) && page.contains("Slow &lt;b&gt;"), "{page}");
    let feed = get(edge, "/status.atom");
    assert_eq!((feed.status, feed.header("content-type")), (200, Some("application/atom+xml")));
    assert!(feed.text().contains("<title>Resolved: Slow &lt;b&gt;</title>"), "{}", feed.text());

    assert_eq!(admin(edge, "DELETE", &path, &json!({})).status, 204);
    let gone = get(edge, &path);
    assert_eq!((gone.status, gone.code().as_str()), (404, "incident-unknown"));
    assert!(!get(edge, "/status.atom").text().contains(&id));
}

#[test]
fn incident_needs_the_admin_secret_and_a_whole_body() {
    let edge = &Edge::shared();
    let bare = Request::post("/v1/status/incidents", &incident()).send(edge.addr);
    assert_eq!((bare.status, bare.code().as_str()), (401, "admin-required"));
    let faulty = admin(edge, "POST", "/v1/status/incidents", &json!({ "impact": "big" }));
    assert_eq!((faulty.status, faulty.code().as_str()), (422, "fields-invalid"));
    let unknown = admin(edge, "DELETE", "/v1/status/incidents/inc_00000000000000000", &json!({}));
    assert_eq!((unknown.status, unknown.code().as_str()), (404, "incident-unknown"));
    let malformed = get(edge, "/v1/status/incidents/inc_1");
    assert_eq!((malformed.status, malformed.code().as_str()), (404, "route-unknown"));
}

#[test]
fn object_that_is_away_takes_only_the_history_off_the_page() {
    for fate in [Fate::Fail, Fate::Hang] {
        let World { edge, faults } = &World::start();
        faults.set(STATUS_HISTORY, fate);
        let page = get(edge, "/status");
        assert_eq!(page.status, 200);
        let text = page.text();
        assert!(
            text.contains("All tools are available.")
                && text.contains("History and incidents cannot be read")
        );
        let history = get(edge, "/v1/status/history");
        assert_eq!((history.status, history.code().as_str()), (503, "status-unavailable"), "{fate:?}");
        let uses = faults.count(STATUS_HISTORY);
        let (key, _) = edge.issue("free");
        assert_eq!(Request::get("/v1/idea/generate").key(&key).send(edge.addr).status, 200);
        assert_eq!(faults.count(STATUS_HISTORY), uses, "no call asks it");
        faults.set(STATUS_HISTORY, Fate::Pass);
        until(|| get(edge, "/status").text().contains("idea in 90 days: "));
    }
}
