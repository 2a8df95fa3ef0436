//! The environments of `wrangler.toml` in workerd, and what a worker says that was deployed without
//! an origin.

use std::time::Duration;

use tests::{http::Request, stack::Edge, wait::wait_for};

const ENVIRONMENTS: [(&str, &str); 2] = [("staging", "utg_test_"), ("production", "utg_live_")];

/// Checks that each request is 500, and that the log says why.
fn assert_not_configured(edge: &Edge, fault: &str) {
    for target in ["/healthz", "/v1/qr/generate", "/docs"] {
        let response = Request::get(target).send(edge.addr);
        assert_eq!((response.status, response.code().as_str()), (500, "internal"), "{target}");
        assert!(!response.text().contains("ORIGIN"), "clients do not see the configuration");
    }
    wait_for(Duration::from_secs(10), || edge.process.output().contains(fault).then_some(()));
}

#[test]
fn environment_without_origin_is_500_and_named_in_the_log() {
    for (environment, _) in ENVIRONMENTS {
        let edge = Edge::start_in(environment, "", &["ALLOW_PRIVATE_FETCH=0"]);
        assert_not_configured(&edge, "ORIGIN_URLS names no origin; expected 1 to 8");
    }
}

/// A deployment whose origin is the proxy of a developer's machine.
#[test]
fn loopback_origin_of_a_deployment_is_500_and_named_in_the_log() {
    let variables = ["ALLOW_PRIVATE_FETCH=0"];
    let edge = Edge::start_in("production", "http://127.0.0.1:8080", &variables);
    assert_not_configured(&edge, "ORIGIN_URLS has `http://127.0.0.1:8080`");
}

/// Issuing needs KV, the objects and all secrets. Its key says which kind it is.
#[test]
fn environment_with_an_origin_issues_its_kind_of_keys() {
    for (environment, prefix) in ENVIRONMENTS {
        let edge = Edge::start_in(environment, "https://origin.invalid", &["ALLOW_PRIVATE_FETCH=0"]);
        let (key, _) = edge.issue("free");
        assert!(key.starts_with(prefix), "{environment}: {key}");
        let usage = Request::get("/v1/keys/me").key(&key).send(edge.addr);
        assert_eq!(usage.status, 200, "{environment}: {}", usage.text());
    }
}
