//! The verdict on a gateway that refuses.

use serde_json::json;
use tests::{
    http::Request,
    keys::ADMIN_SECRET,
    wait::{PATIENCE, wait_for},
};

use crate::gateway::DirectGateway;

#[test]
fn run_with_expired_key_exits_3() {
    let gateway = DirectGateway::start();
    let soon = tests::keys::now().plus(1_500).to_rfc3339();
    let body = json!({"email": "ada@example.com", "name": "Ada", "tier": "pro", "admin_secret": ADMIN_SECRET, "expires_at": soon});
    let response = Request::post("/v1/keys/issue", &body).send(gateway.proxy.listen);
    assert_eq!(response.status, 201, "{}", response.text());
    let key = response.json()["key"].as_str().unwrap().to_owned();
    let own = || Request::get("/v1/keys/me").key(&key).send(gateway.proxy.listen);
    wait_for(PATIENCE, || (own().status == 401).then_some(()));
    let file = gateway.folder.path().join("key");
    std::fs::write(&file, &key).unwrap();
    let options = ["--key-file", file.to_str().unwrap(), "--duration", "1s", "--allow", "4xx"];
    let output = gateway.run("steady", &options);
    let stdout = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(3), "{stdout}");
    assert!(stdout.contains("50 of 50: 50 × 401 key-expired"), "{stdout}");
}

/// Keys that were issued for a run do not outlive it.
#[test]
fn issued_keys_are_revoked_at_the_end() {
    let gateway = DirectGateway::start();
    gateway.passes("steady", &["--duration", "1s", "--rate", "10", "--keys", "3"]);
    let request = Request::get("/v1/keys").header("Authorization", &format!("Bearer {ADMIN_SECRET}"));
    let listed = request.send(gateway.proxy.listen).json();
    let keys = listed["keys"].as_array().unwrap();
    assert_eq!(keys.len(), 3, "{listed:#}");
    assert!(keys.iter().all(|key| key["status"] == "revoked"), "{listed:#}");
}

/// A pool gets as many keys as the rate needs.
#[test]
fn keys_are_added_for_a_rate_above_their_limits() {
    let gateway = DirectGateway::start();
    let scenario = gateway.folder.path().join("small.toml");
    let keys =
        "name = \"small\"\nextends = [\"steady\"]\n[[keys]]\nname = \"main\"\ntier = \"pro\"\nminute = 10\n";
    std::fs::write(&scenario, keys).unwrap();
    let scenario = scenario.to_str().unwrap();
    let load = ["--duration", "2s", "--rate", "50", "--expect", "success=100%"];
    gateway.passes(scenario, &load);
    let request = Request::get("/v1/keys").header("Authorization", &format!("Bearer {ADMIN_SECRET}"));
    let listed = request.send(gateway.proxy.listen).json();
    // A hundred calls with 80 % of ten each.
    assert_eq!(listed["keys"].as_array().unwrap().len(), 13, "{listed:#}");

    let output = gateway.run(scenario, &[&load[..], &["--keys", "2"]].concat());
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{stderr}");
    assert!(stderr.contains("the load has 100 calls in a minute: expected at least 13 keys"), "{stderr}");
}

/// The gateway names the limits of given keys.
#[test]
fn run_with_too_few_given_keys_names_the_number_needed() {
    let gateway = DirectGateway::start();
    let body =
        json!({"email": "ada@example.com", "name": "Ada", "tier": "pro", "admin_secret": ADMIN_SECRET});
    let response = Request::post("/v1/keys/issue", &body).send(gateway.proxy.listen);
    let file = gateway.folder.path().join("key");
    std::fs::write(&file, response.json()["key"].as_str().unwrap()).unwrap();
    let options = ["--key-file", file.to_str().unwrap(), "--duration", "10s", "--rate", "20"];
    let output = gateway.run("steady", &options);
    let (stdout, stderr) =
        (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap());
    assert_eq!(output.status.code(), Some(1), "{stdout}{stderr}");
    assert!(stderr.contains("1 of 100 calls a minute") && stderr.contains("at least 3 keys"), "{stderr}");
}
