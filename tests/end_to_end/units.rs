//! Budgets in units that the edge and proxies share, with one file of prices.

use std::{fs, process::Command, thread, time::Duration};

use serde_json::{Value, json};
use shared::tool::Tool;
use tempfile::TempDir;
use tests::{
    FakeTool, Proxy, ToolBehavior,
    http::{Request, Response},
    keys::ADMIN_SECRET,
    process::binary,
    proxy::ProxyConfig,
    stack::Edge,
    wait::wait_for,
};

/// Units return with the next request of the place, or within five seconds.
const WITHIN: Duration = Duration::from_secs(20);
const PRICES: &str = "[qr]\ngenerate = { at_most = 60 }\nread = 10\n";

/// An edge in front of a proxy, and two proxies in direct mode. Responses of the tool report seven units.
struct World {
    edge: Edge,
    direct: [Proxy; 2],
    _behind: Proxy,
    _folder: TempDir,
}

impl World {
    fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("prices.toml");
        fs::write(&file, PRICES).unwrap();
        let printed = Command::new(binary("proxy")).arg("--print-prices").arg(&file).output().unwrap();
        let variable = format!("PRICES={}", String::from_utf8(printed.stdout).unwrap().trim());
        let response = b"HTTP/1.1 200 OK\r\nX-Usage-Units: 7\r\nContent-Length: 0\r\n\r\n";
        let nowhere = "127.0.0.1:0".parse().unwrap();
        let tool = FakeTool::start_at(nowhere, ToolBehavior::Respond(response.to_vec()));
        let behind = ProxyConfig::new().tool(Tool::Qr, &[&tool]).start_and_wait();
        let edge = Edge::start_with(&format!("test={}", behind.url()), &[&variable]);
        let changes = format!("changes = \"http://{}\"", edge.addr);
        let limits = format!("authority = \"edge\"\nprices = {:?}\n", file.display().to_string());
        let direct = ["a", "b"].map(|name| {
            let config = ProxyConfig::new().direct(&folder.path().join(name)).tool(Tool::Qr, &[&tool]);
            config.line("keys", &changes).section("limits", &limits).start_and_wait()
        });
        Self { edge, direct, _behind: behind, _folder: folder }
    }

    /// Issues a key that may spend so many units a day.
    fn issue(&self, day: u32) -> String {
        let body = json!({
            "email": "ada@example.com", "name": "Ada", "tier": "pro", "admin_secret": ADMIN_SECRET,
            "limits": { "units": { "day": day } },
        });
        let issued = Request::post("/v1/keys/issue", &body).send(self.edge.addr);
        assert_eq!(issued.status, 201, "{}", issued.text());
        issued.json()["key"].as_str().unwrap().to_owned()
    }

    /// Sends a request to one of the three places.
    fn send(&self, place: usize, path: &str, key: &str) -> Response {
        let places = [self.edge.addr, self.direct[0].listen, self.direct[1].listen];
        Request::get(path).key(key).send(places[place % places.len()])
    }

    fn units_today(&self, place: usize, key: &str) -> Value {
        self.send(place, "/v1/keys/me", key).json()["usage"]["units"]["day"].clone()
    }
}

#[test]
fn edge_and_proxies_spend_exactly_one_budget() {
    let world = World::start();
    let key = world.issue(125);
    let statuses: Vec<_> = thread::scope(|scope| {
        let call = |place| world.send(place, "/v1/qr/read", &key).status;
        let calls: Vec<_> = (0..30).map(|place| scope.spawn(move || call(place))).collect();
        calls.into_iter().map(|call| call.join().unwrap()).collect()
    });
    assert_eq!(statuses.iter().filter(|status| **status == 200).count(), 12, "{statuses:?}");
    assert!(statuses.iter().all(|status| matches!(status, 200 | 429)), "{statuses:?}");
    for place in 0..3 {
        assert_eq!(world.send(place, "/v1/qr/read", &key).status, 429, "{place}");
        assert_eq!(world.units_today(place, &key)["remaining"], 5, "{place}");
    }
}

/// What one place has reserved and not spent is there for the others.
#[test]
fn units_that_a_response_did_not_cost_return_to_every_place() {
    let world = World::start();
    let key = world.issue(80);
    for place in 0..3 {
        let response = world.send(place, "/v1/qr/generate", &key);
        assert_eq!(response.status, 200, "{place}: {}", response.text());
        let used = json!(7 * (place + 1));
        wait_for(WITHIN, || (world.units_today(place + 1, &key)["used"] == used).then_some(()));
    }
    assert_eq!(world.send(0, "/v1/qr/generate", &key).status, 429, "59 are left of a call of at most 60");
    assert_eq!(world.send(1, "/v1/qr/read", &key).status, 200);
    wait_for(WITHIN, || world.edge.output().contains("\"units\":7").then_some(()));
    for proxy in &world.direct {
        wait_for(WITHIN, || proxy.output().contains("\"units\":7").then_some(()));
    }
}
