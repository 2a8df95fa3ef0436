use biolink::webhooks::Nonce;
use serde_json::{Value, json};
use shared::key::{ApiKey, KeyEntropy, KeyEnv, KeyId, KeyRecord, NamedSecret, VerifiedKey};
use shared::meter::SecretChange;
use shared::response::Response;
use shared::tier::Tier;

use super::*;

const NOW: UnixMillis = UnixMillis(1_763_712_000_000);
const BASE: &str = "https://api.example.com";
const NONCE: Nonce = [7; 24];
/// The example of RFC 7636, appendix B.
const VERIFIER: &str = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
const CHALLENGE: &str = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM";
const REDIRECT: &str = "https://agent.example/back?a=1";

fn keys() -> MacKeys {
    MacKeys::parse("0123456789abcdef0123456789abcdef").unwrap()
}

fn issuer(keys: &MacKeys) -> Issuer<'_> {
    Issuer { base: BASE, keys, now: NOW }
}

fn json(response: &Response) -> Value {
    serde_json::from_str(&response.body).unwrap()
}

fn error_of(error: &OAuthError) -> String {
    let response = error.response();
    assert_eq!(response.header("cache-control"), Some("no-store"));
    json(&response)["error"].as_str().unwrap().to_owned()
}

/// Registers a client with an address. Returns its id.
fn register(uris: &Value) -> Result<String, String> {
    let (keys, body) = (keys(), json!({ "client_name": " An\u{202e}  agent ", "redirect_uris": uris }));
    let registered = Client::register(body.to_string().as_bytes(), issuer(&keys), &NONCE);
    let registered = registered.map_err(|error| error_of(&error))?;
    assert_eq!(registered.status, 201);
    Ok(json(&registered)["client_id"].as_str().unwrap().to_owned())
}

fn client(id: &str) -> Client {
    match ClientId::read(id, &keys()) {
        Some(ClientId::Registered(client)) => client,
        _ => panic!("{id} is not registered"),
    }
}

/// Returns a request of a client for consent, with other parameters in place of the usual ones; an empty one is left out.
fn ask(id: &str, others: &[(&str, &str)]) -> Result<Consent, String> {
    let usual = [
        ("response_type", "code"),
        ("client_id", id),
        ("redirect_uri", REDIRECT),
        ("code_challenge", CHALLENGE),
        ("code_challenge_method", "S256"),
        ("state", "a b&c"),
        ("scope", "tools:qr biolink:write keys unknown"),
        ("resource", "https://api.example.com/mcp"),
    ];
    let own = |name: &str| others.iter().find(|(other, _)| *other == name);
    let pairs = usual.into_iter().map(|(name, value)| (name, own(name).map_or(value, |(_, value)| value)));
    let keys = keys();
    let query = form::with_parameters("", &pairs.collect::<Vec<_>>());
    let form = Form::read(&query[1..]).map_err(|error| error_of(&error))?;
    Consent::read(&form, &client(id), issuer(&keys)).map_err(|error| error_of(&error))
}

/// Returns the sealed request that the view gets.
fn sealed(consent: &Consent) -> String {
    let keys = keys();
    let to = consent.ask(issuer(&keys), &NONCE);
    assert_eq!(to.status, 303);
    let query = to.header("location").unwrap().strip_prefix("/console/connect?").unwrap().to_owned();
    Form::read(&query).unwrap().get("request").unwrap().to_owned()
}

fn holder() -> VerifiedKey {
    ApiKey::mint(KeyEnv::Live, KeyId::new([1; 12]), Tier::Pro, NOW, [9; 16], &keys()).1
}

/// Agrees to a request. Returns the secret, and the parameters with which the browser goes back.
fn approve(request: &str) -> (NamedSecret, Form) {
    let keys = keys();
    let body = json!({ "request": request, "name": "Agent", "scopes": { "tools": ["qr"] } });
    let Ok(Decision::Approve(consent, secret)) = Consent::decide(body.to_string().as_bytes(), issuer(&keys))
    else {
        panic!("not approved")
    };
    let drawn = KeyEntropy { id: [2; 12], secret: [2; 16] };
    let (secret, response) = consent.approve(secret, &holder(), &drawn, &NONCE, issuer(&keys));
    let to = json(&response)["redirect_to"].as_str().unwrap().to_owned();
    let parameters =
        to.strip_prefix("https://agent.example/back?a=1&").unwrap_or_else(|| panic!("{to}")).to_owned();
    (secret, Form::read(&parameters).unwrap())
}

/// Presents a request for a token at a moment.
fn present(parameters: &[(&str, &str)], now: UnixMillis) -> Result<Presented, String> {
    let keys = keys();
    let form = Form::read(&form::with_parameters("", parameters)[1..]).unwrap();
    Presented::read(&form, Issuer { now, ..issuer(&keys) }).map_err(|error| error_of(&error))
}

#[test]
fn code_goes_to_who_has_the_verifier_and_nowhere_else() {
    let id = register(&json!([REDIRECT])).unwrap();
    let other = register(&json!([REDIRECT, "https://other.example/"])).unwrap();
    let (secret, back) = approve(&sealed(&ask(&id, &[]).unwrap()));
    assert_eq!((back.get("state"), back.get("iss"), back.get("error")), (Some("a b&c"), Some(BASE), None));
    let code = back.get("code").unwrap();
    let usual = [
        ("grant_type", "authorization_code"),
        ("code", code),
        ("client_id", &*id),
        ("code_verifier", VERIFIER),
        ("redirect_uri", REDIRECT),
    ];
    let wrong = VERIFIER.replace('d', "e");
    for (name, value, error) in [
        ("code_verifier", &*wrong, "invalid_grant"),
        ("code_verifier", "short", "invalid_grant"),
        ("code_verifier", "", "invalid_request"),
        ("client_id", &*other, "invalid_grant"),
        ("client_id", "", "invalid_request"),
        ("redirect_uri", "https://agent.example/back", "invalid_grant"),
        ("code", &code[1..], "invalid_grant"),
        ("grant_type", "password", "unsupported_grant_type"),
        ("grant_type", "refresh_token", "invalid_request"),
    ] {
        let parameters = usual.map(|(own, usual)| (own, if own == name { value } else { usual }));
        assert_eq!(present(&parameters, NOW).err().as_deref(), Some(error), "{name}={value}");
    }
    let foreign = [usual.as_slice(), &[("resource", "https://evil.example/mcp")]].concat();
    assert_eq!(present(&foreign, NOW).err().as_deref(), Some("invalid_target"));
    assert_eq!(present(&usual, NOW.plus(60_000)).err().as_deref(), Some("invalid_grant"));
    let presented = present(&usual, NOW.plus(59_999)).unwrap();
    let keys = keys();
    let SecretChange::Exchange { id, from, .. } = presented.exchange(&[3; 16], issuer(&keys)) else {
        panic!()
    };
    assert_eq!((id, from, *presented.key()), (secret.id, secret.hash, holder().id));
}

#[test]
fn token_says_its_scopes_and_end_and_is_followed_by_another() {
    let keys = keys();
    let id = register(&json!([REDIRECT])).unwrap();
    let (secret, back) = approve(&sealed(&ask(&id, &[("scope", "")]).unwrap()));
    let code = [
        ("grant_type", "authorization_code"),
        ("code", back.get("code").unwrap()),
        ("client_id", &*id),
        ("code_verifier", VERIFIER),
    ];
    let draw = |number| {
        let minted = ApiKey::mint_named(KeyEnv::Live, holder().id, Tier::Pro, NOW, [number; 16], &keys);
        let secret = NamedSecret {
            hash: minted.1.secret,
            connection: None,
            expires_at: Some(NOW.plus(90_000)),
            ..secret.clone()
        };
        (minted, KeyRecord { secrets: vec![secret], ..KeyRecord::provisional(&holder()) })
    };
    let ((token, verified), record) = draw(3);
    let presented = present(&code, NOW).unwrap();
    let response = presented.respond(&record, (&token, &verified), issuer(&keys), &NONCE).unwrap();
    let first = json(&response);
    assert_eq!((&first["access_token"], &first["token_type"]), (&json!(token.reveal()), &json!("Bearer")));
    assert_eq!((&first["expires_in"], &first["scope"]), (&json!(90), &json!("tools:qr")));
    let refresh = first["refresh_token"].as_str().unwrap();
    let renew = [("grant_type", "refresh_token"), ("refresh_token", refresh), ("client_id", &*id)];
    let SecretChange::Exchange { from, .. } = present(&renew, NOW).unwrap().exchange(&[4; 16], issuer(&keys))
    else {
        panic!()
    };
    assert_eq!(from, verified.secret);
    // Another text was drawn, so what was presented has ended.
    let (_, other) = draw(5);
    let refused = present(&renew, NOW).unwrap().respond(&other, (&token, &verified), issuer(&keys), &NONCE);
    assert_eq!(error_of(&refused.err().unwrap()), "invalid_grant");
    let other = register(&json!(["https://other.example/"])).unwrap();
    let stolen = [("grant_type", "refresh_token"), ("refresh_token", refresh), ("client_id", &*other)];
    assert_eq!(present(&stolen, NOW).err().as_deref(), Some("invalid_grant"));
}

#[test]
fn request_that_is_not_complete_is_refused_before_anybody_is_asked() {
    let id = register(&json!([REDIRECT])).unwrap();
    let long = "a".repeat(1_025);
    for (name, value, error) in [
        ("redirect_uri", "https://agent.example/back", "invalid_request"),
        ("redirect_uri", "https://evil.example/", "invalid_request"),
        ("redirect_uri", "", "invalid_request"),
        ("response_type", "token", "unsupported_response_type"),
        ("response_type", "", "invalid_request"),
        ("code_challenge", "", "invalid_request"),
        ("code_challenge", VERIFIER.get(1..).unwrap(), "invalid_request"),
        ("code_challenge_method", "plain", "invalid_request"),
        ("code_challenge_method", "", "invalid_request"),
        ("resource", "https://api.example.com.evil.example/mcp", "invalid_target"),
        ("resource", "https://api.example.com/v1/qr", "invalid_target"),
        ("state", &*long, "invalid_request"),
    ] {
        assert_eq!(ask(&id, &[(name, value)]).err().as_deref(), Some(error), "{name}={value}");
    }
    for resource in ["", BASE, "https://api.example.com/mcp?toolsets=pages", "https://api.example.com/mcp/"] {
        assert!(ask(&id, &[("resource", resource)]).is_ok(), "{resource}");
    }
    assert!(Form::read("a=1&a=2").is_err() && Form::read("resource=1&resource=2").is_ok());
}

#[test]
fn holder_sees_who_asks_and_gives_no_more_than_an_agent_may_have() {
    let keys = keys();
    let id = register(&json!([REDIRECT])).unwrap();
    let request = sealed(&ask(&id, &[]).unwrap());
    let described = json(&Consent::open(&request, issuer(&keys)).unwrap().describe());
    let client =
        json!({"name": "An agent", "site": null, "redirect_host": "agent.example", "is_local": false});
    let scopes = json!({"tools": ["qr"], "biolink": "write"});
    assert_eq!((&described["client"], &described["scopes"]), (&client, &scopes));
    let late = Issuer { now: NOW.plus(900_000), ..issuer(&keys) };
    assert!(Consent::open(&request, late).is_err());
    let decide = |body: Value| Consent::decide(body.to_string().as_bytes(), issuer(&keys)).map(|_| ());
    let secret = |scopes: Value| json!({ "request": request, "name": "Agent", "scopes": scopes });
    assert_eq!(decide(secret(json!({"tools": ["all"], "biolink": "write"}))), Ok(()));
    for scopes in [json!({"biolink": "admin"}), json!({"keys": true})] {
        assert_eq!(decide(secret(scopes.clone())).map_err(|problem| problem.status()), Err(422), "{scopes}");
    }
    assert_eq!(decide(json!({ "request": request, "deny": true })), Ok(()));
    assert!(decide(json!({ "request": request })).is_err(), "no decision is none");
    assert!(decide(json!({ "request": &request[1..], "deny": true })).is_err());
    let Ok(Decision::Deny(consent)) =
        Consent::decide(json!({ "request": request, "deny": true }).to_string().as_bytes(), issuer(&keys))
    else {
        panic!()
    };
    let to = json(&consent.deny(issuer(&keys)))["redirect_to"].clone();
    let expected = "https://agent.example/back?a=1&error=access%5Fdenied&state=a%20b%26c&iss=https%3A%2F%2Fapi%2Eexample%2Ecom";
    assert_eq!(to, expected);
}

#[test]
fn client_goes_back_over_https_or_to_its_own_machine() {
    for uri in [
        "https://claude.ai/api/mcp/auth_callback",
        "https://a.example:8443/?x=1",
        "http://localhost:3030/callback",
        "http://127.0.0.1/callback",
        "http://[::1]:1/",
    ] {
        assert!(register(&json!([uri])).is_ok(), "{uri}");
    }
    for uri in [
        "",
        "http://agent.example/",
        "http://localhost.evil.example/",
        "https://user@evil.example/",
        "https://claude.ai@evil.example/",
        "https://claude.ai\\@evil.example/",
        "https://a.example/#x",
        "https:///a",
        "https://:443/",
        "javascript:alert(1)",
        "javascript://localhost/%0aalert(1)",
        "data:text/html,x",
        "cursor://callback",
        "/back",
        "https://a.example/ b",
        "https://a.example/\n",
        "https://ä.example/",
        &format!("https://a.example/{}", "a".repeat(500)),
    ] {
        assert_eq!(register(&json!([uri])).err().as_deref(), Some("invalid_redirect_uri"), "{uri}");
    }
    for uris in [
        json!([]),
        json!(null),
        json!([1]),
        json!("https://a.example/"),
        json!(vec!["https://a.example/"; 11]),
    ] {
        assert_eq!(register(&uris).err().as_deref(), Some("invalid_redirect_uri"), "{uris}");
    }
    let local = client(&register(&json!(["http://127.0.0.1:1/back", "https://a.example:1/"])).unwrap());
    for (uri, is_own) in [
        ("http://127.0.0.1:2/back", true),
        ("http://127.0.0.1/back", true),
        ("http://localhost:1/back", false),
        ("http://127.0.0.1:1/back/", false),
        ("https://127.0.0.1:1/back", false),
        ("https://a.example:2/", false),
        ("https://a.example:1/", true),
    ] {
        assert_eq!(local.has_redirect(uri), is_own, "{uri}");
    }
}

#[test]
fn document_speaks_for_its_own_address_alone() {
    let address = "https://agent.example/client.json";
    let document = |name: &str, value: Value| {
        let mut body = json!({ "client_id": address, "client_name": "Agent", "redirect_uris": [REDIRECT] });
        body[name] = value;
        Client::of_document(address, body.to_string().as_bytes()).map_err(|problem| problem.status())
    };
    assert_eq!(document("token_endpoint_auth_method", json!("none")).unwrap().name, "Agent");
    assert_eq!(document("client_name", Value::Null).unwrap().name, "agent.example");
    for (name, value) in [
        ("client_id", json!("https://agent.example/other.json")),
        ("client_id", Value::Null),
        ("redirect_uris", json!(["http://agent.example/"])),
        ("token_endpoint_auth_method", json!("client_secret_basic")),
        ("token_endpoint_auth_method", json!("private_key_jwt")),
    ] {
        assert_eq!(document(name, value.clone()).err(), Some(422), "{name} {value}");
    }
    assert!(Client::of_document(address, b"[]").is_err() && Client::of_document(address, b"{").is_err());
    let read = |text: &str| ClientId::read(text, &keys()).is_some();
    assert!(read(address) && !read("agent") && !read(""));
}

#[test]
fn sealed_values_are_good_for_one_use_only() {
    let keys = keys();
    let id = register(&json!([REDIRECT])).unwrap();
    let request = sealed(&ask(&id, &[]).unwrap());
    let (_, back) = approve(&request);
    let code = back.get("code").unwrap();
    let renew = [("grant_type", "refresh_token"), ("refresh_token", code), ("client_id", &*id)];
    assert_eq!(present(&renew, NOW).err().as_deref(), Some("invalid_grant"), "a code renews nothing");
    for text in [&*id, code, &request] {
        assert!(Grant::of_refresh_token(text, issuer(&keys)).is_none());
    }
    assert!(Consent::open(code, issuer(&keys)).is_err() && ClientId::read(&request, &keys).is_none());
}

#[test]
fn metadata_and_challenge_name_what_is_there() {
    let server = json(&server_metadata(BASE));
    assert_eq!(
        (&server["issuer"], &server["code_challenge_methods_supported"]),
        (&json!(BASE), &json!(["S256"]))
    );
    assert_eq!(server["token_endpoint"], "https://api.example.com/oauth/token");
    let resource = json(&resource_metadata(BASE, true));
    assert_eq!(
        (&resource["resource"], &resource["authorization_servers"]),
        (&json!("https://api.example.com/mcp"), &json!([BASE]))
    );
    assert_eq!(json(&resource_metadata(BASE, false))["resource"], BASE);
    let first = r#"Bearer realm="tools", resource_metadata="https://api.example.com/.well-known/oauth-protected-resource/mcp", scope="tools:all biolink:read biolink:write""#;
    assert_eq!(challenge(BASE, false), first);
    assert_eq!(challenge(BASE, true), format!(r#"{first}, error="invalid_token""#));
}

#[test]
fn description_of_an_error_has_no_character_that_oauth_forbids() {
    let error = OAuthError::new("invalid_request", "a \"b\" \\ c\n\u{e4}");
    assert_eq!(json(&error.response())["error_description"], "a b  c");
}
