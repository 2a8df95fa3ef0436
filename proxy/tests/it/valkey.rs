//! Servers of each kind, with a user who may do what `conf/README.md` says and no more, through a
//! failover.

mod probe;

use std::time::{Duration, Instant};

use serde_json::Value;
use shared::{tier::Tier, tool::Tool};
use tempfile::TempDir;
use tests::{
    FakeTool, Request, ToolBehavior, grant, keys,
    proxy::{Proxy, ProxyConfig},
    redis::{Deployment, Kind},
    until,
};

/// Two proxies in direct mode with their meters in the same servers, and two behind an edge with their
/// used grants there.
struct Gateways {
    direct: Vec<Proxy>,
    behind_edge: Vec<Proxy>,
    tool: FakeTool,
    _state: TempDir,
}

impl Gateways {
    async fn start(valkey: &Deployment) -> Self {
        let (state, tool) = (tempfile::tempdir().unwrap(), FakeTool::start(ToolBehavior::Describe).await);
        let mut gateways = Self { direct: Vec::new(), behind_edge: Vec::new(), tool, _state: state };
        for number in 0..2 {
            let config = ProxyConfig::new()
                .direct(&gateways._state.path().join(format!("keys-{number}")))
                .line("keys", &format!("admin_secret = {:?}", keys::ADMIN_SECRET))
                .section("limits", "authority = \"valkey\"\n")
                .section("valkey", &valkey.section())
                .tool(Tool::Qr, &[&gateways.tool]);
            gateways.direct.push(config.ready().await);
            let config = ProxyConfig::new()
                .line("grants", "replay_store = \"valkey\"")
                .section("valkey", &valkey.section())
                .tool(Tool::Qr, &[&gateways.tool]);
            gateways.behind_edge.push(config.ready().await);
        }
        for proxy in &gateways.behind_edge {
            proxy.logs("used grants available").await;
        }
        gateways
    }

    /// Issues a key of a tier with this limit of calls a minute and a day. It is refused while its meter
    /// does not respond.
    async fn issue(&self, tier: &str, limit: u64) -> String {
        let body = format!(
            r#"{{"email":"a@example.com","name":"A","tier":"{tier}","limits":{{"minute":{limit},"day":{limit}}},"when_meter_unreachable":"refuse"}}"#
        );
        let request = Request::new("POST", "/v1/keys/issue")
            .header("Authorization", &format!("Bearer {}", keys::ADMIN_SECRET))
            .header("Content-Type", "application/json")
            .body(body);
        let issued = self.direct[0].send(request).await;
        assert_eq!(issued.status, 201, "{issued:?}");
        issued.json()["key"].as_str().unwrap().to_owned()
    }

    /// Makes calls of a key one after the other, at each proxy in turn. Returns their statuses.
    async fn call(&self, key: &str, calls: usize) -> Vec<u16> {
        let mut statuses = Vec::new();
        for number in 0..calls {
            let request = Request::new("GET", "/v1/qr/generate").header("X-API-Key", key);
            statuses.push(self.direct[number % 2].send(request).await.status);
        }
        statuses
    }

    /// Waits until each proxy serves calls of so many new keys that each primary of a cluster has some.
    async fn wait_until_served(&self) {
        for proxy in &self.direct {
            for _ in 0..12 {
                until("a call is served", || async {
                    let (key, _) = keys::fresh(Tier::Free);
                    let request = Request::new("GET", "/v1/qr/generate").header("X-API-Key", &key);
                    proxy.send(request).await.status == 200
                })
                .await;
            }
        }
    }

    /// Calls with a key until its day is used up, also what proxies still hold of it. Returns the number of
    /// calls that reached the tool.
    async fn use_up(&self, key: &str, limit: u64) -> usize {
        let before = self.tool.calls();
        until("the day of the key is used up", || async {
            let passed = self.call(key, 8).await.contains(&200);
            !passed && self.day(key).await.is_some_and(|day| day["used"] == limit)
        })
        .await;
        self.tool.calls() - before
    }

    /// Returns the usage of today, as each proxy shows it to the holder of the key, which does not count.
    /// `None` if a proxy gets no response from the meter.
    async fn day(&self, key: &str) -> Option<Value> {
        let mut day = None;
        for proxy in &self.direct {
            let me = proxy.send(Request::new("GET", "/v1/keys/me").header("X-API-Key", key)).await;
            day = Some(me.json()["usage"]["day"].take()).filter(|_| me.status == 200);
            day.as_ref()?;
        }
        day
    }

    /// Asserts that a grant is good for one call at all proxies together.
    async fn assert_grants_are_shared(&self) {
        until("a grant that was used at one proxy is known at the other", || async {
            let (used, grant) = (self.tool.calls(), grant::call("GET", "/v1/qr/generate"));
            assert_eq!(self.behind_edge[0].send(grant.clone()).await.status, 200);
            let again = self.behind_edge[1].send(grant).await;
            again.status == 401 && self.tool.calls() == used + 1
        })
        .await;
    }
}

/// Asserts that keys are served exactly up to their limits and grants once, before and after a failover,
/// and that the servers have denied nothing.
async fn assert_served_through_failover(kind: Kind) {
    let mut valkey = Deployment::start(kind);
    let gateways = Gateways::start(&valkey).await;
    let (free, paid) = (gateways.issue("free", 10).await, gateways.issue("pro", 100).await);
    assert_eq!(gateways.call(&free, 4).await, [200; 4]);
    assert_eq!(gateways.call(&paid, 30).await, [200; 30]);
    assert_eq!(gateways.tool.calls(), 34);
    gateways.assert_grants_are_shared().await;
    assert_eq!(valkey.denied(), [""; 0]);

    valkey.fail_over();
    gateways.wait_until_served().await;
    // Each call of a Free key asks its meter. What a busy machine's servers reply to too late is counted.
    let statuses = gateways.call(&free, 8).await;
    match statuses.contains(&503) {
        true => assert!(statuses.iter().filter(|&&status| status == 200).count() <= 6, "{statuses:?}"),
        false => assert_eq!(statuses, [200, 200, 200, 200, 200, 200, 429, 429]),
    }
    // What a proxy held meanwhile counts as spent if it came back too late.
    let rest = gateways.use_up(&paid, 100).await;
    assert!(rest <= 70, "{rest}");
    let (fresh, start) = (gateways.issue("pro", 100).await, Instant::now());
    let passed = gateways.use_up(&fresh, 100).await;
    let is_lease_over = start.elapsed() > Duration::from_secs(9);
    assert!(passed == 100 || passed < 100 && is_lease_over, "{passed} in {:?}", start.elapsed());
    gateways.assert_grants_are_shared().await;
    assert_eq!(valkey.denied(), [""; 0]);
}

#[tokio::test]
async fn documented_user_of_a_server_passes_a_failover() {
    assert_served_through_failover(Kind::Single).await;
}

#[tokio::test]
async fn documented_user_behind_sentinel_passes_a_failover() {
    assert_served_through_failover(Kind::Sentinel).await;
}

#[tokio::test]
async fn documented_user_of_a_cluster_passes_a_failover() {
    assert_served_through_failover(Kind::Cluster).await;
}

/// While a slot is on its way, its primary sends who asks for a value that it does not have any more to
/// another one.
#[tokio::test]
async fn documented_user_of_a_cluster_passes_a_slot_migration() {
    let valkey = Deployment::start(Kind::Cluster);
    let gateways = Gateways::start(&valkey).await;
    let (key, id) = keys::fresh(Tier::Free);
    valkey.begin_migration(&format!("utg:{{{id}}}:meter"));
    assert_eq!(gateways.call(&key, 12).await[..10], [200; 10]);
    assert_eq!(gateways.call(&key, 2).await, [429; 2]);
    assert_eq!((gateways.tool.calls(), valkey.denied()), (10, Vec::new()));
}

#[tokio::test]
async fn names_of_a_holder_stay_at_the_proxy_that_issued_the_key() {
    let valkey = Deployment::start(Kind::Single);
    let gateways = Gateways::start(&valkey).await;
    let key = gateways.issue("free", 10).await;
    let proxy = &gateways.direct[0];
    let secret = Request::new("POST", "/v1/keys/me/secrets")
        .header("X-API-Key", &key)
        .header("Content-Type", "application/json")
        .body(r#"{"name":"Nightly build","scopes":{"tools":["qr"]}}"#.to_owned());
    assert_eq!(proxy.send(secret).await.status, 201);
    assert_eq!(gateways.call(&key, 4).await, [200; 4]);

    let names = valkey.send(0, &["KEYS", "*"]);
    let meters: Vec<_> = names.iter().filter(|name| name.ends_with(":meter")).collect();
    assert_eq!(meters.len(), 1, "{names:?}");
    let value = valkey.send(0, &["GET", meters[0]]).concat();
    assert!(value.contains("\"secrets\""), "the record is there: {value}");
    for name in ["a@example.com", "\"A\"", "Nightly build"] {
        assert!(!value.contains(name), "{name}: {value}");
    }
    let me = proxy.send(Request::new("GET", "/v1/keys/me").header("X-API-Key", &key)).await;
    assert_eq!(me.json()["holder"]["email"], "a@example.com", "{me:?}");
    let path = format!("/v1/keys/{}", me.json()["id"].as_str().unwrap());
    let shown = Request::new("GET", &path).header("Authorization", &format!("Bearer {}", keys::ADMIN_SECRET));
    let shown = proxy.send(shown).await;
    assert_eq!(shown.json()["secrets"][0]["name"], "Nightly build", "{shown:?}");
}
