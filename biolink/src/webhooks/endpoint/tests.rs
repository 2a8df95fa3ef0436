use std::collections::BTreeMap;

use proptest::prelude::*;
use shared::{json, problem::Problem, request_id::RequestId};

use super::*;
use crate::{
    fetch_url::FetchPolicy,
    webhooks::{EncryptionKeys, WebhookSecret},
};

const NOW: UnixMillis = UnixMillis(1_800_000_000_000);
const HOUR: u64 = 3_600_000;
const DAY: u64 = 24 * HOUR;
const BODY: &str = r#"{"url":"https://Shop.example/hook","events":["click","page_published"]}"#;

fn policy() -> FetchPolicy {
    FetchPolicy::new(["https://api.example.com"], false)
}

fn create(body: &str) -> Result<EndpointInput, Problem> {
    EndpointInput::create(body.as_bytes(), &policy(), &[PageId::new([1; 12])])
}

fn patch(endpoint: &Endpoint, body: &str) -> Result<EndpointInput, Problem> {
    EndpointInput::patch(endpoint, &BTreeMap::new(), body.as_bytes(), &policy(), &[PageId::new([1; 12])])
}

fn sealed(byte: u8) -> SealedSecret {
    let keys = EncryptionKeys::parse("0123456789abcdef0123456789abcdef").unwrap();
    keys.seal(&WebhookSecret::generate([byte; 24]), "key_ada", &[byte; 24])
}

fn endpoint() -> Endpoint {
    Endpoint::new(EndpointId::new([7; 12]), create(BODY).unwrap(), sealed(1), NOW)
}

fn rendered<T: std::fmt::Debug>(result: Result<T, Problem>) -> String {
    result.unwrap_err().render(&RequestId([0; 16])).body
}

const fn response(status: u16) -> AttemptResult {
    AttemptResult::Response { status, retry_after_ms: None }
}

#[test]
fn new_endpoint_has_defaults_and_is_read_as_it_was_stored() {
    let endpoint = endpoint();
    assert_eq!(endpoint.url.as_deref(), Some("https://shop.example/hook"));
    assert_eq!((endpoint.enabled, endpoint.mode, &endpoint.pages), (true, Mode::Single, &None));
    let text = serde_json::to_string(&endpoint).unwrap();
    assert_eq!(json::from_str(&text), Ok(endpoint));
}

#[test]
fn every_error_of_a_body_is_named() {
    let page = PageId::new([1; 12]);
    let body = format!(
        r#"{{"url":"http://10.0.0.1/","events":["clicks"],"page_ids":["{page}","{page}"],"enabled":1,"mode":"fast",
            "headers":{{"Host":"x","Webhook-Id":"x","Content-Type":"x","a b":"x","X-Ok":"line\nline"}},
            "secret":"whsec_short","metadata":{{"a":1}},"throttle_rate":5,"desciption":"x"}}"#
    );
    let body = rendered(create(&body));
    for pointer in [
        "#/url",
        "#/events",
        "#/page_ids",
        "#/enabled",
        "#/mode",
        "#/headers/Host",
        "#/headers/Webhook-Id",
        "#/headers/Content-Type",
        "#/headers/a?b",
        "#/headers/X-Ok",
        "#/secret",
        "#/metadata",
        "#/throttle_rate",
        "#/desciption",
    ] {
        assert!(body.contains(&format!("\"{pointer}\"")), "{pointer}: {body}");
    }
    assert!(body.contains("did you mean `description`?"), "{body}");
    let body = rendered(create(r#"{"events":[],"page_ids":[]}"#));
    assert!(body.contains("#/url") && body.contains("#/events") && body.contains("#/page_ids"), "{body}");
    let six = r#"{"url":"https://a.example/","events":["click"],"headers":{"a":"","b":"","c":"","d":"","e":"","f":""}}"#;
    assert!(rendered(create(six)).contains("has 6 headers; at most 5"));
}

#[test]
fn header_that_the_gateway_sets_is_refused() {
    for name in ["cookie", "TE", "User-Agent", "webhook-attempt", "cf-ray", "Transfer-Encoding", ""] {
        let body = format!(r#"{{"url":"https://a.example/","events":["click"],"headers":{{"{name}":"x"}}}}"#);
        assert!(rendered(create(&body)).contains("#/headers"), "{name}");
    }
    let body = r#"{"url":"https://a.example/","events":["click"],"headers":{"Authorization":" Bearer x "}}"#;
    let headers = create(body).unwrap().headers;
    assert_eq!(
        headers.into_iter().collect::<Vec<_>>(),
        [("authorization".to_owned(), "Bearer x".to_owned())]
    );
}

#[test]
fn headers_are_stored_and_shown_without_their_values() {
    let body = r#"{"url":"https://a.example/","events":["click"],"headers":{"authorization":"Bearer hush"}}"#;
    let mut endpoint = Endpoint::new(EndpointId::new([7; 12]), create(body).unwrap(), sealed(1), NOW);
    let keys = EncryptionKeys::parse("0123456789abcdef0123456789abcdef").unwrap();
    let headers = create(body).unwrap().headers;
    endpoint.seal_headers(headers.clone(), &keys, "key_ada", &[3; 24]);
    let stored = serde_json::to_string(&endpoint).unwrap();
    let shown = endpoint.describe(NOW);
    assert!(!stored.contains("hush") && !shown.to_string().contains("hush"), "{stored} {shown}");
    assert_eq!((&shown["header_names"], shown.get("headers")), (&serde_json::json!(["authorization"]), None));
    let read: Endpoint = json::from_str(&stored).unwrap();
    assert_eq!(read.unseal_headers(&keys, "key_ada"), Ok(headers));
    assert!(read.unseal_headers(&keys, "key_bob").is_err(), "they belong to an account");
}

#[test]
fn patch_changes_what_it_names() {
    let mut changed = endpoint();
    let input =
        patch(&changed, r#"{"events":["qr_scan"],"description":"CRM","headers":{"x-a":"1"}}"#).unwrap();
    let headers = input.headers.clone();
    changed.update(input, NOW.plus(1));
    assert_eq!(changed.url, endpoint().url);
    assert_eq!(changed.kinds.iter().collect::<Vec<_>>(), [WebhookKind::QrScan]);
    assert_eq!((changed.description.as_str(), changed.updated_at), ("CRM", NOW.plus(1)));
    let body = br#"{"headers":{"x-a":null,"x-b":"2"},"description":null}"#;
    let input = EndpointInput::patch(&changed, &headers, body, &policy(), &[PageId::new([1; 12])]).unwrap();
    assert_eq!(input.headers.keys().collect::<Vec<_>>(), ["x-b"]);
    assert_eq!(input.description, "");
    let error = rendered(patch(&changed, r#"{"secret":"whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"}"#));
    assert!(error.contains("#/secret"), "{error}");
    changed.update(patch(&changed, r#"{"url":"https://b.example/"}"#).unwrap(), NOW);
    assert_eq!(changed.url.as_deref(), Some("https://b.example/"));
}

/// Whoever may change a webhook, and not read its headers, had them sent to their own host.
#[test]
fn headers_go_to_another_host_only_if_they_are_sent_again() {
    let headers =
        BTreeMap::from([("authorization", "hush"), ("x-tenant", "7")].map(|(k, v)| (k.into(), v.into())));
    let patched = |endpoint: &Endpoint, body: &str| {
        EndpointInput::patch(endpoint, &headers, body.as_bytes(), &policy(), &[PageId::new([1; 12])])
    };
    let own = endpoint();
    let mut unaddressed = endpoint();
    unaddressed.update(patch(&unaddressed, r#"{"url":null}"#).unwrap(), NOW);
    for (endpoint, body, missing) in [
        (&own, r#"{"url":"https://evil.example/"}"#, "authorization, x-tenant"),
        (&own, r#"{"url":"https://evil.example/","headers":{"Authorization":"other"}}"#, "lacks x-tenant"),
        (&own, r#"{"url":"https://shop.example:8443/"}"#, "authorization, x-tenant"),
        (&unaddressed, r#"{"url":"https://shop.example/crm"}"#, "authorization, x-tenant"),
    ] {
        let error = rendered(patched(endpoint, body));
        assert!(error.contains("#/headers") && error.contains(missing), "{body}: {error}");
    }
    for (body, kept) in [
        (r#"{"url":"https://shop.example/other?a=1"}"#, 2),
        (r#"{"url":null}"#, 2),
        (r#"{"url":"https://evil.example/","headers":null}"#, 0),
        (r#"{"url":"https://evil.example/","headers":{"X-Tenant":null,"authorization":"other"}}"#, 1),
    ] {
        assert_eq!(patched(&own, body).unwrap().headers.len(), kept, "{body}");
    }
}

#[test]
fn endpoint_without_an_address_has_events_logged_and_gets_no_request() {
    let mut endpoint = endpoint();
    endpoint.update(patch(&endpoint, r#"{"url":null}"#).unwrap(), NOW);
    assert!(endpoint.is_active() && !endpoint.is_receiver() && endpoint.subscription().is_some());
    assert_eq!(endpoint.describe(NOW)["url"], serde_json::Value::Null);
    assert!(create(r#"{"url":null,"events":["click"]}"#).is_ok());
    let error = rendered(create(r#"{"events":["click"]}"#));
    assert!(error.contains("#/url"), "an address that was forgotten is no wish: {error}");
}

#[test]
fn description_can_be_sent_back() {
    let endpoint = endpoint();
    let body = endpoint.describe(NOW).to_string();
    let mut same = endpoint.clone();
    same.update(patch(&endpoint, &body).unwrap(), NOW);
    assert_eq!(Endpoint { updated_at: NOW, ..same }, endpoint);
}

#[test]
fn enabling_or_moving_an_endpoint_forgets_its_failures() {
    for body in [r#"{"enabled":true}"#, r#"{"enabled":true,"url":"https://b.example/"}"#] {
        let mut gone = endpoint();
        assert_eq!(
            gone.record_attempt(response(410), 9, NOW),
            EndpointChange::Disabled(DisabledReason::Gone)
        );
        let page = PageId::new([1; 12]);
        assert!(
            !gone.is_active()
                && gone.subscription().is_none()
                && !gone.wants(WebhookKind::Click, Some(&page))
        );
        // Another change leaves it disabled.
        let input = patch(&gone, r#"{"description":"x"}"#).unwrap();
        gone.update(input, NOW);
        assert!(!gone.is_active());
        let input = patch(&gone, body).unwrap();
        gone.update(input, NOW);
        assert!(gone.is_active() && gone.wants(WebhookKind::Click, Some(&page)), "{body}");
        assert_eq!(gone.health.consecutive_failures, 0);
    }
}

#[test]
fn endpoint_wants_its_kinds_of_its_pages() {
    let (ada, bob) = (PageId::new([1; 12]), PageId::new([2; 12]));
    let mut of_ada = endpoint();
    let input = patch(&of_ada, &format!(r#"{{"page_ids":["{ada}"]}}"#)).unwrap();
    of_ada.update(input, NOW);
    assert!(of_ada.wants(WebhookKind::Click, Some(&ada)));
    assert!(!of_ada.wants(WebhookKind::Click, Some(&bob)) && !of_ada.wants(WebhookKind::QrScan, Some(&ada)));
    assert_eq!(of_ada.subscription().and_then(|subscription| subscription.pages), Some(vec![ada]));
}

#[test]
fn page_of_another_account_is_refused() {
    let (ada, bob) = (PageId::new([1; 12]), PageId::new([2; 12]));
    let ids =
        |ids: &[PageId]| serde_json::json!({"url": null, "events": ["click"], "page_ids": ids}).to_string();
    let refused = rendered(create(&ids(&[ada, bob])));
    assert!(refused.contains("#/page_ids") && refused.contains(&bob.to_string()), "{refused}");
    let mut endpoint = endpoint();
    endpoint.update(create(&ids(&[ada])).unwrap(), NOW);
    let kept = EndpointInput::patch(&endpoint, &BTreeMap::new(), br#"{"description":"a"}"#, &policy(), &[]);
    assert_eq!(kept.unwrap().pages, Some(vec![ada]), "a page that was deleted since may stay");
}

#[test]
fn attempts_change_health_and_statistics() {
    let mut endpoint = endpoint();
    for _ in 0..4 {
        assert_eq!(endpoint.record_attempt(response(500), 9, NOW), EndpointChange::None);
    }
    assert_eq!(endpoint.record_attempt(response(500), 9, NOW), EndpointChange::Failing);
    assert!(endpoint.health.is_open());
    assert_eq!(endpoint.record_attempt(response(204), 9, NOW), EndpointChange::Recovered);
    assert_eq!(endpoint.record_attempt(response(204), 9, NOW), EndpointChange::None);
    let statistics = &endpoint.statistics;
    assert_eq!((statistics.successful_attempts, statistics.failed_attempts), (2, 5));
    for hours in [0, 13] {
        endpoint.record_attempt(AttemptResult::TimedOut, 15_000, NOW.plus(hours * HOUR));
    }
    let change = endpoint.record_attempt(AttemptResult::TimedOut, 15_000, NOW.plus(5 * DAY));
    assert_eq!(change, EndpointChange::Disabled(DisabledReason::Failing));
}

#[test]
fn description_warns_and_has_no_secret() {
    let mut endpoint = endpoint();
    endpoint.record_attempt(response(500), 9, NOW);
    assert_eq!(endpoint.describe(NOW)["warnings"], serde_json::json!([]));
    let later = NOW.plus(4 * DAY);
    let shown = endpoint.describe(later);
    assert_eq!(shown["warnings"][0]["percent"], 70);
    assert_eq!(shown["health"]["failure_budget_used_percent"], 80);
    assert_eq!((&shown["status"], &shown["events"][0]), (&"enabled".into(), &"click".into()));
    let stored = serde_json::to_string(&endpoint.secrets[0].secret).unwrap();
    assert!(!shown.to_string().contains("whsec_") && !shown.to_string().contains(stored.trim_matches('"')));
    let secret = WebhookSecret::generate([1; 24]);
    assert_eq!(endpoint.describe_created(&BTreeMap::new(), Some(&secret), NOW)["secret"], secret.reveal());
    assert_eq!(endpoint.describe_created(&BTreeMap::new(), None, NOW)["secret"], serde_json::Value::Null);
    assert_eq!(endpoint.describe_secret(&secret, NOW)["secret"], secret.reveal());
    let statistics = endpoint.describe_statistics(3, 0);
    assert_eq!((&statistics["pending"], &statistics["attempts"]["failed"]), (&3.into(), &1.into()));
}

#[test]
fn rotated_secret_signs_until_its_grace_period_ends() {
    let mut endpoint = endpoint();
    endpoint.rotate(sealed(2), 60, NOW).unwrap();
    let live = |endpoint: &Endpoint, at| endpoint.live_secrets(at).cloned().collect::<Vec<_>>();
    assert_eq!(live(&endpoint, NOW.plus(59_999)), [sealed(2), sealed(1)]);
    assert_eq!(live(&endpoint, NOW.plus(60_000)), [sealed(2)]);
    assert_eq!(endpoint.describe(NOW)["secret_expirations"].as_array().map(Vec::len), Some(1));
    endpoint.rotate(sealed(3), 3_600, NOW).unwrap();
    assert_eq!(live(&endpoint, NOW), [sealed(3), sealed(2), sealed(1)]);
    assert!(rendered(endpoint.rotate(sealed(4), 60, NOW)).contains("3 secrets are live"));
    assert_eq!(
        live(&endpoint, NOW.plus(60_000)),
        [sealed(3), sealed(2)],
        "no rotation extends a grace period"
    );
    endpoint.rotate(sealed(4), 0, NOW).unwrap();
    assert_eq!((live(&endpoint, NOW), endpoint.secrets.len()), (vec![sealed(4)], 1));
}

#[test]
fn rotation_body_may_be_empty() {
    assert_eq!(RotationInput::read(b""), Ok(RotationInput { grace_s: 86_400, secret: None }));
    let body = br#"{"grace_period_seconds":604800,"secret":"whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"}"#;
    let input = RotationInput::read(body).unwrap();
    assert_eq!((input.grace_s, input.secret.is_some()), (604_800, true));
    let error = rendered(RotationInput::read(br#"{"grace_period_seconds":604801,"secret":"x","grace":1}"#));
    for pointer in ["#/grace_period_seconds", "#/secret", "#/grace"] {
        assert!(error.contains(&format!("\"{pointer}\"")), "{error}");
    }
}

#[test]
fn test_names_a_kind() {
    assert_eq!(read_test(br#"{"type":"qr_scan"}"#), Ok(WebhookKind::QrScan));
    for body in [r#"{}"#, r#"{"type":"scan"}"#] {
        assert!(rendered(read_test(body.as_bytes())).contains("#/type"), "{body}");
    }
}

proptest! {
    #[test]
    fn any_body_is_read_or_refused(body in ".{0,60}", value in r#"("[a-z]{0,5}"|[0-9]{1,3}|null|\[\]|\{\}|\["x"\])"#, name in "url|events|page_ids|enabled|mode|headers|metadata|secret|description") {
        prop_assert!(create(&body).is_err());
        let endpoint = endpoint();
        if let Ok(input) = patch(&endpoint, &format!(r#"{{"{name}":{value}}}"#)) {
            prop_assert!(!input.kinds.is_empty());
        }
    }
}
