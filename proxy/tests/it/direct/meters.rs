//! Limits that several proxies share, with meters in Redis.

use std::time::{Duration, Instant};

use serde_json::Value;
use shared::tier::Tier;
use shared::tool::Tool;
use tempfile::TempDir;
use tests::{
    Client, FakeEdge, FakeTool, Request, Response, ToolBehavior, keys,
    proxy::{Proxy, ProxyConfig},
    redis::Redis,
    until,
};

use super::call;

/// Proxies of one deployment with their meters in one Redis, and a tool.
pub(super) struct Shared {
    pub(super) proxies: Vec<Proxy>,
    redis: Redis,
    _folder: TempDir,
    _tool: FakeTool,
}

impl Shared {
    pub(super) async fn start(count: usize) -> Self {
        Self::start_with(Redis::start(), count).await
    }

    async fn start_with(redis: Redis, count: usize) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let tool = FakeTool::start(ToolBehavior::Describe).await;
        let admin = format!("admin_secret = {:?}", keys::ADMIN_SECRET);
        // A key without limits in units does not notice.
        let prices = folder.path().join("prices.toml");
        std::fs::write(&prices, "[qr]\ngenerate = 10\n").unwrap();
        let limits = format!("authority = \"valkey\"\nprices = {:?}\n", prices.display().to_string());
        let mut proxies = Vec::new();
        for number in 0..count {
            let config = ProxyConfig::new()
                .direct(&folder.path().join(format!("keys-{number}")))
                .line("keys", &admin)
                .section("limits", &limits)
                .section("valkey", &redis.section())
                .tool(Tool::Qr, &[&tool]);
            proxies.push(config.ready().await);
        }
        Self { proxies, redis, _folder: folder, _tool: tool }
    }

    async fn call(&self, proxy: usize, key: &str) -> Response {
        self.proxies[proxy].send(call(key)).await
    }

    /// Returns the number of calls that were made today or are lent, as a proxy shows it to the holder of the key.
    async fn used(&self, proxy: usize, key: &str) -> u64 {
        let day = day(&self.proxies[proxy], key).await;
        day["used"].as_u64().unwrap() + day["held"].as_u64().unwrap()
    }
}

/// Makes `calls` calls of a key at the same time, spread over proxies. Returns how many were 200, and how many were not decided (503).
async fn decide(proxies: &[Proxy], key: &str, calls: usize) -> (usize, usize) {
    let sent = (0..calls).map(|number| {
        let (to, bytes) = (proxies[number % proxies.len()].listen, call(key).bytes());
        tokio::spawn(async move {
            let mut client = Client::connect(to).await;
            client.write(&bytes).await;
            let status = client.response("GET").await.map(|response| response.status);
            assert!(matches!(status, Some(200 | 429 | 503)), "{status:?}");
            (status == Some(200), status == Some(503))
        })
    });
    let (mut passed, mut undecided) = (0, 0);
    for sent in sent.collect::<Vec<_>>() {
        let (is_passed, is_undecided) = sent.await.unwrap();
        passed += usize::from(is_passed);
        undecided += usize::from(is_undecided);
    }
    (passed, undecided)
}

/// The same. Returns only how many were 200.
async fn pass(proxies: &[Proxy], key: &str, calls: usize) -> usize {
    decide(proxies, key, calls).await.0
}

/// Makes 400 calls of a key at the same time, and further ones until its day is used up: what a proxy holds of
/// a lease when its calls are over passes with its next ones. No further call passes. What a proxy is lent too late for a call,
/// which is 503 then, and a lease whose report comes too late count as spent, so a slow machine may pass fewer.
async fn assert_exact(proxies: &[Proxy], key: &str, limit: usize) {
    let start = Instant::now();
    let (mut passed, mut undecided) = decide(proxies, key, 400).await;
    for round in 0.. {
        let (more, late) = decide(proxies, key, 4 * proxies.len()).await;
        (passed, undecided) = (passed + more, undecided + late);
        if more == 0 && (passed >= limit || day(&proxies[0], key).await["used"] == limit) {
            break;
        }
        assert!(round < 500, "{passed} of {limit}");
    }
    let is_lease_over = start.elapsed() > Duration::from_secs(9);
    assert!(
        passed == limit || passed < limit && (is_lease_over || passed + undecided >= limit),
        "{passed} of {limit}, {undecided} not decided, {} proxies",
        proxies.len()
    );
}

/// Returns the usage of today, as a proxy shows it to the holder of the key.
async fn day(proxy: &Proxy, key: &str) -> Value {
    let me = proxy.send(Request::new("GET", "/v1/keys/me").header("X-API-Key", key)).await;
    assert_eq!(me.status, 200, "{me:?}");
    me.json()["usage"]["day"].clone()
}

/// The fields of a key that passes exactly 100 calls however slow this machine is: its day is no
/// longer than its minute, and it is refused while its meter does not respond in time.
const EXACT: &str = r#""tier":"pro","limits":{"minute":100,"day":100},"when_meter_unreachable":"refuse""#;

pub(super) async fn issue(proxy: &Proxy, fields: &str) -> Value {
    let body = format!(r#"{{"email":"a@example.com","name":"A",{fields}}}"#);
    let request = Request::new("POST", "/v1/keys/issue")
        .header("Authorization", &format!("Bearer {}", keys::ADMIN_SECRET))
        .header("Content-Type", "application/json")
        .body(body);
    let issued = proxy.send(request).await;
    assert_eq!(issued.status, 201, "{issued:?}");
    issued.json()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn proxies_with_one_authority_pass_exactly_one_limit() {
    let shared = Shared::start(8).await;
    for count in [2, 4, 8] {
        let key = issue(&shared.proxies[0], EXACT).await;
        let key = key["key"].as_str().unwrap();
        assert_exact(&shared.proxies[..count], key, 100).await;
        assert_eq!(shared.used(0, key).await, 100);
    }
    let free = issue(&shared.proxies[0], r#""tier":"free","limits":{"minute":10,"day":10}"#).await;
    assert_exact(&shared.proxies, free["key"].as_str().unwrap(), 10).await;
}

/// Each call costs ten units.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn proxies_with_one_authority_spend_exactly_one_budget() {
    let shared = Shared::start(4).await;
    let fields = r#""tier":"pro","limits":{"units":{"day":125}},"when_meter_unreachable":"refuse""#;
    let key = issue(&shared.proxies[0], fields).await;
    let key = key["key"].as_str().unwrap();
    assert_eq!(pass(&shared.proxies, key, 40).await, 12);
    let me = Request::new("GET", "/v1/keys/me").header("X-API-Key", key);
    let units = shared.proxies[1].send(me).await.json()["usage"]["units"]["day"].clone();
    assert_eq!((units["used"].as_u64(), units["remaining"].as_u64()), (Some(120), Some(5)));
}

#[tokio::test]
async fn usage_and_revocation_hold_at_every_proxy() {
    let shared = Shared::start(2).await;
    let issued = issue(&shared.proxies[0], r#""tier":"pro","limits":{"minute":3}"#).await;
    let (key, id) = (issued["key"].as_str().unwrap(), issued["id"].as_str().unwrap());
    let first = shared.call(1, key).await;
    assert_eq!((first.status, first.header("ratelimit-policy").unwrap().contains("q=3;w=60")), (200, true));
    assert_eq!(shared.call(0, key).await.status, 200);
    assert_eq!((shared.used(0, key).await, shared.used(1, key).await), (2, 2));
    let bearer = format!("Bearer {}", keys::ADMIN_SECRET);
    let revoke = Request::new("POST", &format!("/v1/keys/{id}/revoke")).header("Authorization", &bearer);
    assert_eq!(shared.proxies[0].send(revoke).await.status, 200);
    until("the other proxy refuses the key", || async { shared.call(1, key).await.status == 401 }).await;
}

#[tokio::test]
async fn call_without_authority_is_503_for_free_and_degraded_for_paid_keys() {
    let mut shared = Shared::start(1).await;
    let ((free, _), (pro, _)) = (keys::fresh(Tier::Free), keys::fresh(Tier::Pro));
    assert_eq!((shared.call(0, &free).await.status, shared.call(0, &pro).await.status), (200, 200));
    shared.redis.kill();
    let refused = shared.call(0, &free).await;
    assert_eq!((refused.status, refused.json()["code"].as_str()), (503, Some("meter-unavailable")));
    assert!(refused.header("retry-after").is_some());
    // Half of a quarter minute for each of two proxies: the other half is for one that comes.
    let mut degraded = 0;
    for _ in 0..30 {
        let response = shared.call(0, &pro).await;
        match response.status {
            200 => degraded += usize::from(response.header("x-gateway-degraded") == Some("meter")),
            status => assert_eq!(status, 503, "{response:?}"),
        }
    }
    assert!((1..=25).contains(&degraded), "{degraded}");
    shared.redis.restart();
    until("the authority is back", || async { shared.call(0, &free).await.status == 200 }).await;
}

#[tokio::test]
async fn authority_that_stalls_is_left_and_serves_again() {
    let shared = Shared::start(1).await;
    let ((free, _), (pro, _)) = (keys::fresh(Tier::Free), keys::fresh(Tier::Pro));
    assert_eq!((shared.call(0, &free).await.status, shared.call(0, &pro).await.status), (200, 200));
    shared.redis.signal("STOP");
    let refused = shared.call(0, &free).await;
    assert_eq!((refused.status, refused.json()["code"].as_str()), (503, Some("meter-unavailable")));
    let mut degraded = 0;
    for _ in 0..30 {
        let response = shared.call(0, &pro).await;
        degraded += usize::from(response.header("x-gateway-degraded") == Some("meter"));
    }
    assert!((1..=25).contains(&degraded), "{degraded}");
    shared.redis.signal("CONT");
    until("the authority is back", || async { shared.call(0, &free).await.status == 200 }).await;
}

#[tokio::test]
async fn authority_over_tls_serves_a_user_of_its_access_control_list() {
    let shared = Shared::start_with(Redis::start_secured(), 2).await;
    let (free, _) = keys::fresh(Tier::Free);
    assert_eq!(pass(&shared.proxies, &free, 40).await, 10);
    assert_eq!(shared.used(1, &free).await, 10);
}

/// What a proxy holds of a key is there for the others as soon as it shuts down.
#[tokio::test]
async fn proxy_that_shuts_down_returns_what_it_holds() {
    let mut shared = Shared::start(2).await;
    let pro = issue(&shared.proxies[1], EXACT).await;
    let pro = pro["key"].as_str().unwrap();
    let passed = pass(&shared.proxies[..1], pro, 30).await;
    let mut first = shared.proxies.remove(0);
    first.signal("TERM");
    assert!(first.exited().await.success());
    let used = shared.used(0, pro).await;
    assert_eq!(usize::try_from(used).unwrap(), passed, "nothing is held");
}

/// The state of meters is gone, and keys older than an hour have no record anywhere.
#[tokio::test]
async fn authority_that_lost_everything_serves_old_keys() {
    let mut shared = Shared::start(1).await;
    let old = shared::time::UnixMillis(keys::now().0 - 7_200_000);
    let (key, _) = keys::issued_at(Tier::Pro, old);
    assert_eq!(shared.call(0, &key).await.status, 200);
    shared.redis.kill();
    shared.redis.restart();
    until("the authority is back", || async { shared.call(0, &key).await.status == 200 }).await;
    assert!(shared.used(0, &key).await >= 1);
}

/// What a killed proxy held is lost to the key for a minute, and is not given away twice.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn killed_proxy_leaves_no_call_over_the_limit() {
    let mut shared = Shared::start(2).await;
    let pro = issue(&shared.proxies[1], EXACT).await;
    let pro = pro["key"].as_str().unwrap();
    let before = pass(&shared.proxies[..1], pro, 30).await;
    assert!(before > 0);
    shared.proxies[0].signal("KILL");
    shared.proxies[0].exited().await;
    let after = pass(&shared.proxies[1..], pro, 200).await;
    assert!(before + after <= 100, "{before} {after}");
}

/// A master that is cut off still serves one proxy, and a promoted replica the other. Each admits what
/// its copy of the meter has left.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_masters_pass_what_was_left_once_each() {
    let cut_off = Shared::start(1).await;
    let key = issue(&cut_off.proxies[0], EXACT).await;
    let key = key["key"].as_str().unwrap();
    // The first call brings no lease, which the copy would take for spent.
    assert_eq!(cut_off.call(0, key).await.status, 200);
    let promoted = Shared::start_with(cut_off.redis.split(), 1).await;
    for side in [&cut_off, &promoted] {
        let after = pass(&side.proxies, key, 200).await;
        assert!((1..=99).contains(&after), "{after}");
    }
}

/// The meters are those of the edge: its own isolates would ask the same ones.
#[tokio::test]
async fn proxies_share_the_meters_of_an_edge() {
    let (edge, folder) = (FakeEdge::start(Vec::new()).await, tempfile::tempdir().unwrap());
    let tool = FakeTool::start(ToolBehavior::Describe).await;
    let mut proxies = Vec::new();
    for number in 0..2 {
        let config = ProxyConfig::new()
            .direct(&folder.path().join(format!("keys-{number}")))
            .line("keys", &format!("changes = \"http://{}\"\nchanges_every = \"100ms\"", edge.address))
            .section("limits", "authority = \"edge\"\n")
            .tool(Tool::Qr, &[&tool]);
        proxies.push(config.ready().await);
    }
    let (free, _) = keys::fresh(Tier::Free);
    assert_eq!(pass(&proxies, &free, 40).await, 10);
    let (other, _) = keys::fresh(Tier::Free);
    edge.fail(true);
    let refused = proxies[0].send(call(&other)).await;
    assert_eq!((refused.status, refused.json()["code"].as_str()), (503, Some("meter-unavailable")));
    edge.fail(false);
    until("the edge is back", || async { proxies[0].send(call(&other)).await.status == 200 }).await;
}
