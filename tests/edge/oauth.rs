//! OAuth for agents of other people's servers: from the 401 of `/mcp` to a token that is renewed and ends.

use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};
use shared::time::UnixMillis;
use tests::{
    http::{Request, Response},
    receiver::{Receiver, ReceiverBehavior},
    stack::{Edge, NOWHERE, PROBE_BOUND, Stack},
    wait::wait_for,
};

/// The example of RFC 7636, appendix B.
const CHALLENGE: &str = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM";
const VERIFIER: &str = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
const REDIRECT: &str = "https://agent.example/back";

/// An agent that runs elsewhere.
struct Agent<'a> {
    edge: &'a Edge,
    id: String,
}

/// What an agent has after an exchange.
struct Tokens {
    access: String,
    refresh: String,
}

fn encoded(pairs: &[(&str, &str)]) -> String {
    let escape = |text: &str| -> String { text.bytes().map(|byte| format!("%{byte:02X}")).collect() };
    pairs.iter().map(|(name, value)| format!("{name}={}", escape(value))).collect::<Vec<_>>().join("&")
}

/// Returns the parameters of an address.
fn parameter(address: &str, name: &str) -> Option<String> {
    let (_, query) = address.split_once('?')?;
    let value = query.split('&').find_map(|pair| pair.strip_prefix(&format!("{name}=")))?;
    let mut bytes = Vec::new();
    let mut rest = value.bytes();
    while let Some(byte) = rest.next() {
        if byte == b'%' {
            let hex = [rest.next().unwrap(), rest.next().unwrap()];
            bytes.push(u8::from_str_radix(std::str::from_utf8(&hex).unwrap(), 16).unwrap());
        } else {
            bytes.push(byte);
        }
    }
    Some(String::from_utf8(bytes).unwrap())
}

fn form(edge: &Edge, path: &str, pairs: &[(&str, &str)]) -> Response {
    let request = Request::new("POST", path).header("content-type", "application/x-www-form-urlencoded");
    request.body(encoded(pairs)).send(edge.addr)
}

/// Returns `error` of a refusal, which RFC 6749 demands.
fn error(response: &Response) -> String {
    assert_eq!(response.header("content-type"), Some("application/json"), "{}", response.text());
    assert_eq!(response.header("cache-control"), Some("no-store"));
    response.json()["error"].as_str().unwrap_or_default().to_owned()
}

/// Sends a message of MCP with a bearer token.
fn message(edge: &Edge, token: Option<&str>, method: &str, params: &Value) -> Response {
    let body = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
    let request = Request::post("/mcp", &body).header("accept", "application/json, text/event-stream");
    match token {
        Some(token) => request.header("authorization", &format!("Bearer {token}")).send(edge.addr),
        None => request.send(edge.addr),
    }
}

fn ping(edge: &Edge, token: &str) -> u16 {
    message(edge, Some(token), "ping", &json!({})).status
}

impl<'a> Agent<'a> {
    fn register(edge: &'a Edge) -> Self {
        let body = json!({ "client_name": "Agent", "redirect_uris": [REDIRECT], "token_endpoint_auth_method": "client_secret_post" });
        let registered = Request::post("/oauth/register", &body).send(edge.addr);
        assert_eq!(registered.status, 201, "{}", registered.text());
        assert_eq!(registered.json()["token_endpoint_auth_method"], "none");
        Self { edge, id: registered.json()["client_id"].as_str().unwrap().to_owned() }
    }

    /// Opens the address at which the agent asks, with other parameters in place of the usual ones.
    fn open(&self, others: &[(&str, &str)]) -> Response {
        let resource = format!("http://{}/mcp", self.edge.addr);
        let usual = [
            ("response_type", "code"),
            ("client_id", &*self.id),
            ("redirect_uri", REDIRECT),
            ("code_challenge", CHALLENGE),
            ("code_challenge_method", "S256"),
            ("state", "s t"),
            ("scope", "tools:all biolink:read"),
            ("resource", &*resource),
        ];
        let own = |name: &str| others.iter().find(|(other, _)| *other == name);
        let pairs = usual.map(|(name, value)| (name, own(name).map_or(value, |(_, value)| *value)));
        let target = format!("/oauth/authorize?{}", encoded(&pairs));
        Request::get(&target).header("accept", "text/html").send(self.edge.addr)
    }

    /// Returns the request that the view of the console gets.
    fn ask(&self) -> String {
        let asked = self.open(&[]);
        assert_eq!(asked.status, 303, "{}", asked.text());
        let to = asked.header("location").unwrap();
        assert!(to.starts_with("/console/connect?request="), "{to}");
        parameter(to, "request").unwrap()
    }

    /// Lets a holder agree. Returns the code.
    fn agree(&self, key: &str, scopes: &Value, expires_at: &Value) -> String {
        let body =
            json!({ "request": self.ask(), "name": "Agent", "scopes": scopes, "expires_at": expires_at });
        let agreed = Request::post("/oauth/consent", &body).key(key).send(self.edge.addr);
        assert_eq!(agreed.status, 200, "{}", agreed.text());
        let to = agreed.json()["redirect_to"].as_str().unwrap().to_owned();
        assert!(to.starts_with(&format!("{REDIRECT}?")), "{to}");
        assert_eq!(parameter(&to, "state").as_deref(), Some("s t"));
        assert_eq!(parameter(&to, "iss"), Some(format!("http://{}", self.edge.addr)));
        parameter(&to, "code").unwrap()
    }

    fn exchange(&self, code: &str, verifier: &str) -> Response {
        let pairs = [
            ("grant_type", "authorization_code"),
            ("code", code),
            ("client_id", &*self.id),
            ("redirect_uri", REDIRECT),
            ("code_verifier", verifier),
        ];
        form(self.edge, "/oauth/token", &pairs)
    }

    fn renew(&self, refresh: &str) -> Response {
        let pairs = [("grant_type", "refresh_token"), ("refresh_token", refresh), ("client_id", &*self.id)];
        form(self.edge, "/oauth/token", &pairs)
    }

    /// Connects the agent to a key with these scopes.
    fn connect(&self, key: &str, scopes: &Value) -> Tokens {
        tokens(&self.exchange(&self.agree(key, scopes, &Value::Null), VERIFIER))
    }
}

fn tokens(response: &Response) -> Tokens {
    assert_eq!(response.status, 200, "{}", response.text());
    assert_eq!(response.header("cache-control"), Some("no-store"));
    let body = response.json();
    assert_eq!((&body["token_type"], &body["expires_in"]), (&json!("Bearer"), &json!(3_600)));
    let text = |name: &str| body[name].as_str().unwrap().to_owned();
    Tokens { access: text("access_token"), refresh: text("refresh_token") }
}

fn secrets(edge: &Edge, key: &str) -> Vec<Value> {
    let listed = Request::get("/v1/keys/me/secrets").key(key).send(edge.addr);
    listed.json()["secrets"].as_array().unwrap().clone()
}

#[test]
fn agent_finds_its_way_from_the_401_of_mcp_to_a_token() {
    let stack = Stack::shared();
    let edge = &stack.edge;
    let base = format!("http://{}", edge.addr);
    let refused = message(edge, None, "ping", &json!({}));
    let challenge = refused.header("www-authenticate").unwrap().to_owned();
    let metadata = challenge.split("resource_metadata=\"").nth(1).unwrap().split('"').next().unwrap();
    assert_eq!((refused.status, challenge.contains("error=")), (401, false), "{challenge}");
    let read = |url: &str| Request::get(url.strip_prefix(&base).unwrap()).send(edge.addr).json();
    let resource = read(metadata);
    assert_eq!(resource["resource"], format!("{base}/mcp"));
    assert_eq!(read(&format!("{base}/.well-known/oauth-protected-resource"))["resource"], base);
    let server = read(&format!(
        "{}/.well-known/oauth-authorization-server",
        resource["authorization_servers"][0].as_str().unwrap()
    ));
    assert_eq!(
        (&server["issuer"], &server["token_endpoint"]),
        (&json!(base), &json!(format!("{base}/oauth/token")))
    );

    let (key, id) = edge.issue("free");
    let agent = Agent::register(edge);
    let asked = Request::get(&format!("/oauth/consent?request={}", agent.ask())).send(edge.addr).json();
    assert_eq!(
        (&asked["client"]["name"], &asked["client"]["redirect_host"]),
        (&json!("Agent"), &json!("agent.example"))
    );
    assert_eq!(asked["scopes"], json!({ "tools": ["all"], "biolink": "read" }));
    let Tokens { access, .. } = agent.connect(&key, &json!({ "tools": ["idea"] }));
    assert!(access.starts_with("utg_live_"));
    assert_eq!(ping(edge, &access), 200);
    let call = |tool: &str| {
        message(
            edge,
            Some(&access),
            "tools/call",
            &json!({ "name": "call_tool", "arguments": { "tool": tool, "action": "generate" } }),
        )
        .json()
    };
    assert_ne!(call("idea")["result"]["isError"], true, "{}", call("idea"));
    assert_eq!(call("qr")["result"]["structuredContent"]["code"], "scope-missing");
    let listed = secrets(edge, &key);
    assert_eq!(
        (listed.len(), &listed[0]["name"], &listed[0]["scopes"]["tools"]),
        (1, &json!("Agent"), &json!(["idea"]))
    );
    wait_for(PROBE_BOUND, || {
        let calls = Request::get("/v1/usage/calls").key(&key).send(edge.addr).json();
        let mut calls = calls["calls"].as_array().unwrap().iter();
        calls.any(|call| call["tool"] == "idea" && call["secret_id"] == listed[0]["id"]).then_some(())
    });
    assert_eq!(Request::get("/v1/keys/me").key(&access).send(edge.addr).json()["id"], id);

    let path = format!("/v1/keys/me/secrets/{}", listed[0]["id"].as_str().unwrap());
    assert_eq!(Request::new("DELETE", &path).key(&key).send(edge.addr).status, 204);
    let ended = message(edge, Some(&access), "ping", &json!({}));
    assert!(ended.header("www-authenticate").unwrap().contains("error=\"invalid_token\""));
    assert_eq!((ended.status, ended.code().as_str()), (401, "key-invalid"));
}

#[test]
fn code_is_good_once_and_its_reuse_ends_the_connection() {
    let stack = Stack::shared();
    let (key, _) = stack.edge.issue("free");
    let agent = Agent::register(&stack.edge);
    let code = agent.agree(&key, &json!({ "tools": ["all"] }), &Value::Null);
    let wrong = VERIFIER.replace('d', "e");
    assert_eq!(error(&agent.exchange(&code, &wrong)), "invalid_grant");
    let other = Agent::register(&stack.edge);
    assert_eq!(error(&other.exchange(&code, VERIFIER)), "invalid_grant", "a code of another client");
    let Tokens { access, refresh } = tokens(&agent.exchange(&code, VERIFIER));
    assert_eq!(ping(&stack.edge, &access), 200);
    for _ in 0..2 {
        let again = agent.exchange(&code, VERIFIER);
        assert_eq!((again.status, error(&again).as_str()), (400, "invalid_grant"));
        assert_eq!((ping(&stack.edge, &access), secrets(&stack.edge, &key).len()), (401, 0));
    }
    assert_eq!(error(&agent.renew(&refresh)), "invalid_grant");
}

#[test]
fn refresh_token_is_replaced_and_its_reuse_ends_the_connection() {
    let stack = Stack::shared();
    let (key, _) = stack.edge.issue("free");
    let agent = Agent::register(&stack.edge);
    let first = agent.connect(&key, &json!({ "tools": ["all"] }));
    let second = tokens(&agent.renew(&first.refresh));
    assert!(second.access != first.access && second.refresh != first.refresh);
    assert_eq!(
        (ping(&stack.edge, &second.access), ping(&stack.edge, &first.access)),
        (200, 200),
        "calls under way"
    );
    let third = tokens(&agent.renew(&second.refresh));
    assert_eq!((ping(&stack.edge, &third.access), ping(&stack.edge, &first.access)), (200, 401));
    let stolen = agent.renew(&first.refresh);
    assert_eq!((stolen.status, error(&stolen).as_str()), (400, "invalid_grant"));
    assert_eq!((ping(&stack.edge, &third.access), ping(&stack.edge, &second.access)), (401, 401));
    assert_eq!(error(&agent.renew(&third.refresh)), "invalid_grant", "nobody knows who the thief is");
    assert_eq!(secrets(&stack.edge, &key).len(), 0);
}

#[test]
fn two_renewals_at_the_same_time_leave_no_two_tokens() {
    let stack = Stack::shared();
    let (key, _) = stack.edge.issue("free");
    let agent = Agent::register(&stack.edge);
    let first = agent.connect(&key, &json!({ "tools": ["all"] }));
    let responses = std::thread::scope(|scope| {
        let threads = [(); 2].map(|()| scope.spawn(|| agent.renew(&first.refresh)));
        threads.map(|thread| thread.join().unwrap())
    });
    let renewed = responses.iter().filter(|response| response.status == 200).count();
    assert!(renewed <= 1, "{renewed}");
    assert_eq!(secrets(&stack.edge, &key).len(), 0);
}

#[test]
fn request_that_is_wrong_sends_nobody_anywhere() {
    let stack = Stack::shared();
    let agent = Agent::register(&stack.edge);
    for (name, value) in [
        ("client_id", "unknown"),
        ("client_id", "https://127.0.0.1/client.json"),
        ("redirect_uri", "https://evil.example/back"),
        ("redirect_uri", "https://agent.example/back/../x"),
        ("response_type", "token"),
        ("code_challenge_method", "plain"),
        ("code_challenge", "short"),
        ("resource", "https://evil.example/mcp"),
    ] {
        let refused = agent.open(&[(name, value)]);
        assert_eq!((refused.status, refused.header("location")), (422, None), "{name}={value}");
        assert_eq!(refused.header("content-type"), Some("text/html; charset=utf-8"), "{name}={value}");
    }
    for (body, error_name) in [
        (json!({ "redirect_uris": ["http://evil.example/"] }), "invalid_redirect_uri"),
        (json!({ "redirect_uris": ["javascript:alert(1)"] }), "invalid_redirect_uri"),
        (json!([]), "invalid_client_metadata"),
    ] {
        let refused = Request::post("/oauth/register", &body).send(stack.edge.addr);
        assert_eq!((refused.status, error(&refused).as_str()), (400, error_name), "{body}");
    }
    for pairs in
        [&[][..], &[("grant_type", "authorization_code")], &[("grant_type", "a"), ("grant_type", "b")]]
    {
        assert_eq!(error(&form(&stack.edge, "/oauth/token", pairs)), "invalid_request", "{pairs:?}");
    }
    assert_eq!(
        error(&form(&stack.edge, "/oauth/token", &[("grant_type", "password")])),
        "unsupported_grant_type"
    );
    let body = Request::post("/oauth/token", &json!({})).send(stack.edge.addr);
    assert_eq!((body.status, error(&body).as_str()), (400, "invalid_request"));
}

#[test]
fn consent_needs_the_key_and_gives_no_more_than_it_has() {
    let stack = Stack::shared();
    let edge = &stack.edge;
    let (key, _) = edge.issue("free");
    let agent = Agent::register(edge);
    let decide = |key: Option<&str>, body: &Value| {
        let request = Request::post("/oauth/consent", body);
        key.map_or_else(|| request.clone(), |key| request.clone().key(key)).send(edge.addr)
    };
    let request = agent.ask();
    let with = |scopes: Value| json!({ "request": request, "name": "Agent", "scopes": scopes });
    let missing = decide(None, &with(json!({ "tools": ["all"] })));
    assert_eq!((missing.status, missing.code().as_str()), (401, "key-missing"));
    for scopes in [json!({ "keys": true }), json!({ "biolink": "admin" })] {
        let refused = decide(Some(&key), &with(scopes.clone()));
        assert_eq!((refused.status, refused.code().as_str()), (422, "fields-invalid"), "{scopes}");
    }
    let narrow = json!({ "name": "narrow", "scopes": { "tools": ["idea"], "keys": true } });
    let narrow =
        Request::post("/v1/keys/me/secrets", &narrow).key(&key).send(edge.addr).json()["key"].clone();
    let beyond = decide(narrow.as_str(), &with(json!({ "tools": ["qr"] })));
    assert_eq!((beyond.status, beyond.code().as_str()), (403, "scope-missing"));
    // A browser that is signed in sends the key all the same.
    let signed_in = Request::new("PUT", "/console/session").key(&key).send(edge.addr);
    let cookie = signed_in.header("set-cookie").unwrap().split(';').next().unwrap().to_owned();
    let scripted =
        Request::post("/oauth/consent", &with(json!({ "tools": ["all"] }))).header("cookie", &cookie);
    let scripted =
        scripted.header("sec-fetch-site", "same-origin").header("sec-fetch-dest", "empty").send(edge.addr);
    assert_eq!((scripted.status, scripted.code().as_str()), (401, "key-missing"));
    let denied = decide(None, &json!({ "request": request, "deny": true }));
    let to = denied.json()["redirect_to"].as_str().unwrap().to_owned();
    assert_eq!((parameter(&to, "error").as_deref(), parameter(&to, "code")), (Some("access_denied"), None));
    let changed = decide(Some(&key), &json!({ "request": format!("{request}A"), "deny": true }));
    assert_eq!((changed.status, changed.code().as_str()), (422, "fields-invalid"));
}

#[test]
fn connection_ends_at_its_end_and_by_the_agent_itself() {
    let stack = Stack::shared();
    let (key, _) = stack.edge.issue("free");
    let agent = Agent::register(&stack.edge);
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap();
    let soon = UnixMillis(u64::try_from(now.as_millis()).unwrap()).plus(90_000).to_rfc3339();
    let response = agent.exchange(&agent.agree(&key, &json!({ "tools": ["all"] }), &json!(soon)), VERIFIER);
    assert!((1..=90).contains(&response.json()["expires_in"].as_u64().unwrap()), "{}", response.text());
    let own = agent.connect(&key, &json!({ "tools": ["all"] }));
    let revoke = |token: &str| {
        form(&stack.edge, "/oauth/revoke", &[("token", token), ("client_id", &agent.id)]).status
    };
    assert_eq!((revoke("nothing"), revoke(&own.refresh), revoke(&own.refresh)), (200, 200, 200));
    assert_eq!(ping(&stack.edge, &own.access), 401);
    assert_eq!(secrets(&stack.edge, &key).len(), 1, "the other one stays");
}

#[test]
fn client_is_read_from_its_metadata_document() {
    let stack = Stack::shared();
    let host = Receiver::start();
    let (key, _) = stack.edge.issue("free");
    let document = |path: &str, id: &str| {
        let body =
            json!({ "client_id": id, "client_name": "Claude", "redirect_uris": [REDIRECT] }).to_string();
        let response = format!(
            "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
            body.len()
        );
        host.set(ReceiverBehavior::Send(response.into_bytes()));
        Agent { edge: &stack.edge, id: host.url(path) }
    };
    let agent = document("/client.json", &host.url("/client.json"));
    let asked = Request::get(&format!("/oauth/consent?request={}", agent.ask())).send(stack.edge.addr).json();
    let site = host.addr.ip().to_string();
    assert_eq!((&asked["client"]["name"], &asked["client"]["site"]), (&json!("Claude"), &json!(site)));
    let tokens = agent.connect(&key, &json!({ "tools": ["all"] }));
    assert_eq!(
        (ping(&stack.edge, &tokens.access), host.count()),
        (200, 1),
        "the document is kept for a while"
    );
    let foreign = document("/other.json", &host.url("/client.json"));
    assert_eq!(foreign.open(&[]).status, 422);
    host.set(ReceiverBehavior::Respond("302 Found", vec![format!("location: {}", host.url("/client.json"))]));
    let redirected = Agent { edge: &stack.edge, id: host.url("/moved.json") };
    assert_eq!(redirected.open(&[]).status, 422);
}

/// Returns the result of a run that begins and ends in one minute, as counters do.
fn within_a_minute<T>(mut run: impl FnMut(u8) -> T) -> T {
    let minute = || SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs() / 60;
    let once = |nth| {
        let begun = minute();
        Some(run(nth)).filter(|_| minute() == begun)
    };
    (0..5).find_map(once).unwrap_or_else(|| panic!("no run stayed within a minute"))
}

#[test]
fn isolate_takes_thirty_registrations_and_fetches_a_minute_from_a_network() {
    let (edge, host) = (Edge::start(NOWHERE), Receiver::start());
    let from = |request: Request, address: &str| request.header("cf-connecting-ip", address).send(edge.addr);
    let register = |address: &str| {
        let body = json!({ "client_name": "Agent", "redirect_uris": [REDIRECT] });
        from(Request::post("/oauth/register", &body), address)
    };
    let (taken, refused, fetch, elsewhere) = within_a_minute(|nth| {
        let taken: Vec<_> = (1..=30).map(|own| register(&format!("198.51.{nth}.{own}")).status).collect();
        let address = format!("198.51.{nth}.31");
        let document = encoded(&[("client_id", &host.url("/client.json"))]);
        let fetch = from(Request::get(&format!("/oauth/authorize?{document}")), &address);
        (taken, register(&address), fetch, register(&format!("203.0.{nth}.1")).status)
    });
    assert_eq!((taken, elsewhere), (vec![201; 30], 201));
    for refused in [refused, fetch] {
        assert_eq!(
            (refused.status, refused.code().as_str()),
            (429, "too-many-requests"),
            "{}",
            refused.text()
        );
        assert_eq!(refused.header("retry-after"), Some("60"));
    }
    assert_eq!(host.count(), 0, "nothing is fetched");
}

#[test]
fn isolate_takes_thirty_exchanges_a_minute_from_the_agents_of_a_key() {
    let stack = Stack::shared();
    let (responses, ended, key) = within_a_minute(|_| {
        let (key, _) = stack.edge.issue("free");
        let agent = Agent::register(&stack.edge);
        // The code is the first exchange, its refresh token the second.
        let used = agent.connect(&key, &json!({ "tools": ["all"] })).refresh;
        tokens(&agent.renew(&used));
        let responses: Vec<_> = (2..31).map(|_| agent.renew(&used)).collect();
        let ended = [("token", &*used), ("client_id", &*agent.id)];
        (responses, form(&stack.edge, "/oauth/revoke", &ended), key)
    });
    let (refused, replayed) = responses.split_last().unwrap();
    for response in replayed {
        assert_eq!((response.status, error(response).as_str()), (400, "invalid_grant"));
    }
    for response in [refused, &ended] {
        assert_eq!((response.status, error(response).as_str()), (429, "temporarily_unavailable"));
    }
    let own = json!({ "name": "own", "scopes": { "tools": ["qr"] } });
    let own = Request::post("/v1/keys/me/secrets", &own).key(&key).send(stack.edge.addr);
    assert_eq!(own.status, 201, "the holder's changes have a count of their own");
}
