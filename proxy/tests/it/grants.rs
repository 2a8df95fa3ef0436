//! Grants: a call is served once, and only if the edge has signed it.

use shared::{key::KeyId, proof::Proof, request_id::RequestId, secret::MacKeys, tier::Tier, tool::Tool};

use tests::{
    Client, FakeTool, Request, Signer, ToolBehavior,
    grant::{call, post, request_id_of},
    keys::GRANT_SECRET,
    proxy::{Proxy, ProxyConfig},
    redis::Redis,
    until,
};

async fn qr() -> (FakeTool, ProxyConfig) {
    let tool = FakeTool::start(ToolBehavior::Describe).await;
    let config = ProxyConfig::new().tool(Tool::Qr, &[&tool]);
    (tool, config)
}

#[tokio::test]
async fn granted_call_reaches_its_tool() {
    let (_tool, config) = qr().await;
    let proxy = config.ready().await;
    let response = proxy.send(post("/v1/qr/generate?a=%20b&c", r#"{"url":"x"}"#)).await;
    assert_eq!(response.status, 200, "{response:?}");
    let seen = response.json();
    assert_eq!(seen["method"], "POST");
    assert_eq!(seen["target"], "/generate?a=%20b&c");
    assert_eq!(seen["body"], r#"{"url":"x"}"#);
    assert_eq!(seen["headers"]["x-gateway-key-id"], KeyId::new([5; 12]).to_string());
    assert_eq!(seen["headers"]["x-gateway-tier"], "pro");
    let request_id = response.header("x-request-id").unwrap();
    assert_eq!(seen["headers"]["x-request-id"], request_id, "the tool and the client see one request id");
    assert_ne!(request_id, "of-the-tool");
    assert_eq!(response.header("x-gateway-problem"), None, "a tool cannot set it");
    assert_eq!(response.header("x-tool"), Some("yes"));
}

#[tokio::test]
async fn response_carries_the_proof_of_its_grant() {
    let (_tool, config) = qr().await;
    let proxy = config.ready().await;
    let signer = Signer::default();
    let text = || Request::new("POST", "/v1/qr/generate").header("Content-Type", "text/plain").body(b"x");
    for (request, status) in [(Request::new("GET", "/v1/qr/generate"), 200), (text(), 415)] {
        let grant = signer.grant(&request);
        let response = proxy.send(request.clone().header("x-gateway-grant", &grant)).await;
        assert_eq!(response.status, status, "{response:?}");
        assert!(signer.is_proven(&grant, &request, response.header("x-gateway-proof")), "{response:?}");
        let proofs = response.headers.iter().filter(|(name, _)| name == "x-gateway-proof");
        assert_eq!(proofs.count(), 1, "a tool's own is dropped");
        let again = proxy.send(request.header("x-gateway-grant", &grant)).await;
        assert_eq!((again.status, again.header("x-gateway-proof")), (401, None), "replayed");
    }
    let ungranted = proxy.send(Request::new("GET", "/v1/qr/generate")).await;
    assert_eq!((ungranted.status, ungranted.header("x-gateway-proof")), (401, None));
}

#[tokio::test]
async fn probe_that_names_a_request_is_proven() {
    let (_tool, config) = qr().await;
    let proxy = config.ready().await;
    let keys = MacKeys::parse(GRANT_SECRET).unwrap();
    for target in ["/healthz", "/v1/status"] {
        let id = RequestId([9; 16]);
        let response = proxy.send(Request::new("GET", target).header("x-request-id", &id.to_string())).await;
        let proof = response.header("x-gateway-proof").unwrap();
        assert!(Proof::verify_probe(proof, id, "test", &keys), "{target}");
        for id in [None, Some(""), Some("no-id")] {
            let plain = Request::new("GET", target);
            let request = id.map_or_else(|| plain.clone(), |id| plain.clone().header("x-request-id", id));
            let response = proxy.send(request).await;
            assert_eq!((response.status, response.header("x-gateway-proof")), (200, None), "{target} {id:?}");
        }
    }
}

#[tokio::test]
async fn call_without_a_valid_grant_is_401_grant_invalid() {
    let (tool, config) = qr().await;
    let proxy = config.ready().await;
    let request = || Request::new("GET", "/v1/qr/generate");
    let signed = |signer: Signer| signer.granted(request());
    let good = Signer::default();
    let other_call = good.grant(&Request::new("GET", "/v1/qr/generate?size=9"));
    let mut torn = good.grant(&request());
    torn.replace_range(40..41, if &torn[40..41] == "A" { "B" } else { "A" });
    for (why, request) in [
        ("missing", request()),
        ("empty", request().header("x-gateway-grant", "")),
        ("garbage", request().header("x-gateway-grant", &"A".repeat(96))),
        ("changed", request().header("x-gateway-grant", &torn)),
        ("of another call", request().header("x-gateway-grant", &other_call)),
        ("of another secret", signed(Signer { secret: "f".repeat(40), ..good.clone() })),
        ("of another data center", signed(Signer { data_center: "fra".to_owned(), ..good.clone() })),
        ("too old", signed(Signer { age_ms: 31_000, ..good.clone() })),
        ("of the future", signed(Signer { age_ms: -31_000, ..good.clone() })),
    ] {
        let response = proxy.send(request).await;
        assert_eq!((response.status, response.problem().as_str()), (401, "grant-invalid"), "{why}");
        assert_eq!(response.header("www-authenticate"), Some(r#"Grant realm="origin""#), "{why}");
    }
    assert_eq!(tool.calls(), 0);
    let aged = |age_ms| signed(Signer { age_ms, ..good.clone() });
    assert_eq!(proxy.send(aged(1_000)).await.status, 200);
    assert_eq!(proxy.send(aged(-28_000)).await.status, 200);
}

/// The reasons are those of what was done to the grant. Only who could sign it learns more than that it is
/// not signed.
#[tokio::test]
async fn refused_grant_has_its_reason_for_operators() {
    let (_tool, config) = qr().await;
    let proxy = config.ready().await;
    let request = || Request::new("GET", "/v1/qr/generate");
    let good = Signer::default();
    let signed = |signer: Signer| signer.granted(request());
    let edge = |name: &str, request: Request| request.header("x-gateway-data-center", name);
    let fra = Signer { data_center: "fra".to_owned(), ..good.clone() };
    let other = Signer { secret: "f".repeat(40), ..good.clone() };
    let used = signed(good.clone());
    assert_eq!(proxy.send(used.clone()).await.status, 200);
    let of_other_call = good.grant(&Request::new("GET", "/v1/qr/generate?size=9"));
    for (expected, request) in [
        ("missing", request()),
        ("malformed", request().header("x-gateway-grant", "AAAA")),
        ("secret", edge("test", signed(other))),
        ("data_center", edge("fra", signed(fra.clone()))),
        ("secret", signed(fra)),
        ("request", request().header("x-gateway-grant", &of_other_call)),
        ("clock", signed(Signer { age_ms: -60_000, ..good.clone() })),
        ("expired", signed(Signer { age_ms: 60_000, ..good.clone() })),
        ("replayed", used),
        ("forgotten", signed(Signer { age_ms: 20_000, ..good.clone() })),
    ] {
        let grant = request.headers.iter().find(|(name, _)| name.eq_ignore_ascii_case("x-gateway-grant"));
        let id = grant.and_then(|(_, text)| request_id_of(text));
        let before = proxy.metric(&refused(expected)).await.unwrap();
        let response = proxy.send(request).await;
        assert_eq!((response.status, response.problem().as_str()), (401, "grant-invalid"), "{expected}");
        let told = response.header("x-gateway-grant-refusal").unwrap();
        assert_eq!(told.split(' ').next(), Some(expected), "{told}");
        assert_eq!(proxy.metric(&refused(expected)).await, Some(before + 1.0));
        // The line of the access log names the proxy's id and the edge's.
        let own = response.header("x-request-id").unwrap().to_owned();
        let line = until_line(&proxy, &own).await;
        assert_eq!(line["grant_refusal"], expected, "{line}");
        assert_eq!(line["edge_request_id"].as_str(), id.as_deref(), "{line}");
        let is_logged = proxy.output().contains(&format!("grant refused: reason={told}"));
        assert!(is_logged || expected == "secret" || expected == "expired", "{expected}");
    }
    let output = proxy.output();
    assert!(output.contains(" edge_says=fra request_id=") && output.contains(" data_center=test tool=qr"));
}

fn refused(reason: &str) -> String {
    format!("utg_grants_refused_total{{reason=\"{reason}\"}}")
}

/// Waits for the line of a request in the access log.
async fn until_line(proxy: &Proxy, id: &str) -> serde_json::Value {
    let find = || {
        let output = proxy.output();
        let mut lines =
            output.lines().filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok());
        lines.find(|line| line["request_id"] == id)
    };
    until("its line", || async { find().is_some() }).await;
    find().unwrap()
}

#[tokio::test]
async fn replayed_grant_is_401_grant_invalid() {
    let (tool, config) = qr().await;
    let proxy = config.ready().await;
    let request = call("GET", "/v1/qr/generate");
    assert_eq!(proxy.send(request.clone()).await.status, 200);
    for _ in 0..3 {
        assert_eq!(proxy.send(request.clone()).await.problem(), "grant-invalid");
    }
    assert_eq!(tool.calls(), 1);
}

#[tokio::test]
async fn parallel_copies_of_a_grant_are_served_once() {
    let (tool, config) = qr().await;
    let proxy = config.ready().await;
    let request = call("GET", "/v1/qr/generate");
    let mut copies = tokio::task::JoinSet::new();
    for _ in 0..32 {
        let (request, listen) = (request.clone(), proxy.listen);
        copies.spawn(async move { Client::send_once(listen, &request).await.unwrap().status });
    }
    let statuses = copies.join_all().await;
    assert_eq!(statuses.iter().filter(|&&status| status == 200).count(), 1, "{statuses:?}");
    assert_eq!(tool.calls(), 1);
}

#[tokio::test]
async fn grant_from_before_the_start_is_401_grant_invalid() {
    let (tool, config) = qr().await;
    let proxy = config.ready().await;
    // A process that was killed before this one may have used it.
    let older = Signer { age_ms: 20_000, ..Signer::default() };
    let response = proxy.send(older.granted(Request::new("GET", "/v1/qr/generate"))).await;
    assert_eq!((response.problem().as_str(), tool.calls()), ("grant-invalid", 0));
    assert_eq!(proxy.send(call("GET", "/v1/qr/generate")).await.status, 200);
}

#[tokio::test]
async fn grant_used_at_a_proxy_of_the_data_center_is_401_at_the_others() {
    let (tool, config) = qr().await;
    let redis = Redis::start();
    let config = config.line("grants", "replay_store = \"valkey\"").section("valkey", &redis.section());
    let (mut a, b) = (config.ready().await, config.ready().await);
    for proxy in [&a, &b] {
        proxy.logs("used grants available").await;
    }
    let older = Signer { age_ms: 20_000, ..Signer::default() };
    let grants = [
        call("GET", "/v1/qr/generate"),
        post("/v1/qr/generate", "{}"),
        older.granted(Request::new("GET", "/v1/qr/generate")),
    ];
    for grant in &grants {
        assert_eq!(a.send(grant.clone()).await.status, 200);
        assert_eq!(b.send(grant.clone()).await.problem(), "grant-invalid");
    }
    a.signal("KILL");
    a.exited().await;
    let a = config.ready().await;
    a.logs("used grants available").await;
    for grant in &grants {
        assert_eq!(a.send(grant.clone()).await.problem(), "grant-invalid");
    }
    assert_eq!(tool.calls(), 3);
}

#[tokio::test]
async fn request_that_one_data_center_used_is_served_at_the_next() {
    let (tool, config) = qr().await;
    let redis = Redis::start();
    let config = config.line("grants", "replay_store = \"valkey\"").section("valkey", &redis.section());
    // The edge sends a call that its first origin refused to the next one under the same request id.
    for (id, method) in [([1; 16], "GET"), ([2; 16], "POST")] {
        let before = tool.calls();
        for (data_center, calls) in [("fra", 1), ("fra-2", 2), ("ams", 3)] {
            let section = format!(
                "listen = \"127.0.0.1:0\"\nadmin = \"127.0.0.1:0\"\ndata_center = \"{data_center}\"\n"
            );
            let proxy = config.clone().section("server", &section).ready().await;
            proxy.logs("used grants available").await;
            let request_id = Some(RequestId(id));
            let signer = Signer { data_center: data_center.to_owned(), request_id, ..Signer::default() };
            let grant = signer.granted(Request::new(method, "/v1/qr/generate"));
            assert_eq!(proxy.send(grant.clone()).await.status, 200, "{method} {data_center}");
            assert_eq!(proxy.send(grant).await.problem(), "grant-invalid", "{method} {data_center}");
            assert_eq!(tool.calls() - before, calls, "{method} {data_center}");
        }
    }
}

#[tokio::test]
async fn store_of_used_grants_that_fails_leaves_each_proxy_its_own_memory() {
    let (tool, config) = qr().await;
    let mut redis = Redis::start();
    let config = config.line("grants", "replay_store = \"valkey\"").section("valkey", &redis.section());
    let (a, b) = (config.ready().await, config.ready().await);
    for proxy in [&a, &b] {
        proxy.logs("used grants available").await;
    }
    let older = Signer { age_ms: 20_000, ..Signer::default() };
    for stop in ["STOP", "KILL"] {
        let before = tool.calls();
        redis.signal(stop);
        let grant = call("GET", "/v1/qr/generate");
        assert_eq!(a.send(grant.clone()).await.status, 200, "{stop}");
        assert_eq!(a.send(grant.clone()).await.problem(), "grant-invalid", "{stop}");
        a.logs("used grants unavailable").await;
        let forgotten = older.granted(Request::new("GET", "/v1/qr/generate"));
        assert_eq!(a.send(forgotten).await.problem(), "grant-invalid", "{stop}");
        assert_eq!(tool.calls(), before + 1, "{stop}");
        match stop {
            "STOP" => redis.signal("CONT"),
            _ => redis.restart(),
        }
        until("used grants are shared again", || async {
            let grant = call("GET", "/v1/qr/generate");
            let first = a.send(grant.clone()).await.status;
            first == 200 && b.send(grant).await.status == 401
        })
        .await;
    }
    assert!(a.metric("utg_replay_unconfirmed_total").await.unwrap() >= 2.0);
}

#[tokio::test]
async fn full_replay_cache_is_503_tool_overloaded() {
    let (_tool, config) = qr().await;
    let proxy = config.replay_capacity(1_000).ready().await;
    let mut refused = None;
    for _ in 0..3_000 {
        let response = proxy.send(call("GET", "/v1/qr/generate")).await;
        if response.status != 200 {
            refused = Some(response);
            break;
        }
    }
    let refused = refused.expect("a refusal");
    assert_eq!((refused.status, refused.problem().as_str()), (503, "tool-overloaded"));
    assert!(refused.header("retry-after").is_some());
}

#[tokio::test]
async fn grant_of_either_configured_secret_is_valid() {
    let (_tool, config) = qr().await;
    let old = "old-old-old-old-old-old-old-old-old-old";
    let new = "new-new-new-new-new-new-new-new-new-new";
    let proxy = config.grant_secret(&format!("2:{new},1:{old}")).ready().await;
    for secret in [format!("2:{new}"), format!("1:{old}")] {
        let signer = Signer { secret, tier: Tier::Free, ..Signer::default() };
        let response = proxy.send(signer.granted(Request::new("GET", "/v1/qr/generate"))).await;
        assert_eq!(response.json()["headers"]["x-gateway-tier"], "free");
    }
}

#[tokio::test]
async fn flood_without_grants_is_429_and_granted_calls_pass() {
    let (_tool, config) = qr().await;
    let proxy = config.line("clients", "refusals_per_second = 20").ready().await;
    let mut stopped = 0;
    for _ in 0..200 {
        let response = proxy.send(Request::new("GET", "/v1/qr/generate")).await;
        if response.status == 429 {
            assert_eq!(response.problem(), "too-many-requests");
            assert_eq!(response.header("retry-after"), Some("1"));
            stopped += 1;
        }
    }
    assert!(stopped > 0);
    assert_eq!(proxy.send(call("GET", "/v1/qr/generate")).await.status, 200);
}
