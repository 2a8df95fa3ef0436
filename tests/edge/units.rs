//! Budgets in units: prices, reservations, and what comes back.

use serde_json::{Value, json};
use tests::{
    http::{Connection, Request, Response},
    keys,
    origin::{Origin, OriginBehavior, http_response},
    stack::Edge,
};

const PRICES: &str = r#"PRICES={"pdf":{"merge":{"at_most":60},"split":10}}"#;

/// An edge with prices, in front of an origin whose responses all report seven units.
struct World {
    edge: Edge,
    _origin: Origin,
    key: String,
    id: String,
}

impl World {
    /// Starts it, with a key that may spend 100 units a day.
    fn start() -> Self {
        let response = http_response("200 OK", &["X-Usage-Units: 7"], "done");
        let origin = Origin::start(OriginBehavior::Respond(response));
        let edge = Edge::start_with(&origin.url(), &[PRICES]);
        let body = json!({
            "email": "ada@example.com", "name": "Ada", "tier": "pro", "limits": { "units": { "day": 100 } },
            "admin_secret": keys::ADMIN_SECRET,
        });
        let issued = Request::post("/v1/keys/issue", &body).send(edge.addr);
        assert_eq!(issued.status, 201, "{}", issued.text());
        let issued = issued.json();
        assert_eq!(issued["limits"]["units"], json!({ "minute": null, "day": 100, "month": null }));
        let text = |name: &str| issued[name].as_str().unwrap().to_owned();
        Self { edge, _origin: origin, key: text("key"), id: text("id") }
    }

    fn call(&self, path: &str) -> Response {
        Request::get(path).key(&self.key).send(self.edge.addr)
    }

    fn units_today(&self) -> Value {
        let me = self.call("/v1/keys/me");
        assert_eq!(me.status, 200, "{}", me.text());
        me.json()["usage"]["units"]["day"].clone()
    }
}

/// A proxy holds back what a tool has none of.
#[test]
fn upload_cut_before_its_tool_has_any_costs_nothing() {
    let world = World::start();
    for (piece, used) in [(5, 0), (100 << 10, 60)] {
        for (framing, begun) in [
            ("Content-Length: 200000", "a".repeat(piece)),
            ("Transfer-Encoding: chunked", format!("{piece:x}\r\n{}\r\n", "a".repeat(piece))),
        ] {
            let world = if used == 0 { &world } else { &World::start() };
            let mut client = Connection::connect(world.edge.addr);
            let head = format!(
                "POST /v1/pdf/merge HTTP/1.1\r\nHost: localhost\r\nX-API-Key: {}\r\nContent-Type: application/json\r\n{framing}\r\n\r\n",
                world.key
            );
            assert!(client.write(head.as_bytes()) && client.write(begun.as_bytes()));
            client.close_half();
            assert_eq!(client.response("POST").unwrap().status, 400);
            assert_eq!(world.units_today()["used"], used, "{framing}, {piece} bytes");
        }
    }
}

fn left(response: &Response) -> &str {
    let quotas = response.header("ratelimit").unwrap();
    let of_units = quotas.split(", ").find(|quota| quota.starts_with("\"units-day\"")).unwrap();
    of_units.split(';').nth(1).unwrap()
}

#[test]
fn call_that_could_exceed_the_budget_is_429_before_it_costs_anything() {
    let world = World::start();
    for used in (0..42).step_by(7) {
        let response = world.call("/v1/pdf/merge");
        assert_eq!(response.status, 200, "{used}: {}", response.text());
        assert_eq!(left(&response), format!("r={}", 100 - used - 60));
        assert!(response.header("ratelimit-policy").unwrap().ends_with(r#""units-day";q=100;w=86400"#));
    }
    let refused = world.call("/v1/pdf/merge");
    assert_eq!((refused.status, refused.code().as_str()), (429, "quota-exceeded"));
    assert_eq!(refused.json()["violated-policies"], json!(["units-day"]));
    assert_eq!(left(&refused), "r=58");
    assert!(refused.header("retry-after").is_some());
    assert_eq!(world.call("/v1/pdf/split").status, 200, "a fixed price stands");
    assert_eq!(world.call("/v1/qr/create").status, 200, "no price");
    let today = world.units_today();
    assert_eq!((&today["limit"], &today["used"], &today["remaining"]), (&json!(100), &json!(52), &json!(48)));
    let change = json!({ "limits": { "units": { "day": 50 } } });
    let changed = Request::new("PATCH", &format!("/v1/keys/{}", world.id))
        .header("Authorization", &format!("Bearer {}", keys::ADMIN_SECRET))
        .header("Content-Type", "application/json")
        .body(change.to_string())
        .send(world.edge.addr);
    assert_eq!(changed.status, 200, "{}", changed.text());
    assert_eq!(changed.json()["limits"]["units"]["day"], 50);
}

#[test]
fn half_of_the_budget_is_an_alert_about_units() {
    let world = World::start();
    for _ in 0..5 {
        assert_eq!(world.call("/v1/pdf/split").status, 200);
    }
    let listed = world.call("/v1/keys/me/alerts").json();
    let quota = &listed["alerts"][0]["data"]["quota"];
    let members = ["name", "unit", "limit", "used", "percent"].map(|name| quota[name].clone());
    assert_eq!(json!(members), json!(["units-day", "units", 100, 50, 50]));
    assert_eq!(listed["alerts"].as_array().map(Vec::len), Some(1));
}
