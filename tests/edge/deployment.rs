//! The environments of `wrangler.toml` in workerd, and what a worker says that was deployed without
//! an origin.

use std::{fs, os::unix::fs::symlink, path::Path, process::Command, time::Duration};

use tests::{
    http::Request,
    process::{node, root},
    stack::{Edge, NOWHERE},
    wait::wait_for,
};

const ENVIRONMENTS: [(&str, &str); 2] = [("staging", "utg_test_"), ("production", "utg_live_")];

/// Checks that each request is 500, and that the log says why.
fn assert_not_configured(edge: &Edge, fault: &str) {
    for target in ["/healthz", "/v1/qr/generate", "/docs"] {
        let response = Request::get(target).send(edge.addr);
        assert_eq!((response.status, response.code().as_str()), (500, "internal"), "{target}");
        assert!(!response.text().contains("ORIGIN"), "clients do not see the configuration");
    }
    wait_for(Duration::from_secs(10), || edge.output().contains(fault).then_some(()));
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

/// Here Cloudflare's own workers serve the assets, as in a deployment. They redirect some names, and
/// would respond to requests themselves if they were asked first.
#[test]
fn environment_serves_every_asset_with_the_headers_of_the_worker() {
    for (environment, _) in ENVIRONMENTS {
        let edge = Edge::start_in(environment, "https://origin.invalid", &["ALLOW_PRIVATE_FETCH=0"]);
        for path in ["/", "/docs", "/openapi.json", "/biolink/openapi.json", "/problems/key-missing"] {
            let response = Request::get(path).send(edge.addr);
            assert_eq!(response.status, 200, "{environment} {path}: {}", response.text());
            assert!(response.header("x-request-id").is_some(), "{environment} {path}");
            assert!(!response.text().contains("server.invalid"), "{environment} {path}");
        }
        for file in ["/docs.html", "/biolink.json"] {
            let response = Request::get(file).send(edge.addr);
            assert_eq!(response.status, 404, "{environment} {file}");
            assert!(response.header("x-request-id").is_some(), "{environment} {file}");
        }
    }
}

/// Runs a script of the checkout, and returns what it prints.
fn run(arguments: &[&str]) -> String {
    let ran = Command::new(node()).args(arguments).current_dir(root()).output().unwrap();
    let (output, errors) = (String::from_utf8_lossy(&ran.stdout), String::from_utf8_lossy(&ran.stderr));
    assert!(ran.status.success(), "{arguments:?}: {output}{errors}");
    output.into_owned()
}

/// Returns the folder in which wrangler finds a worker's state: it looks below `v3`.
fn persisted(state: &Path) -> String {
    symlink(".", state.join("v3")).unwrap();
    state.display().to_string()
}

fn local(state: &str) -> [&str; 5] {
    ["--env", "", "--local", "--persist-to", state]
}

/// A wrong `--env` or a forgotten `--remote` finds another namespace, which is empty.
#[test]
fn backup_of_no_keys_is_an_error_and_leaves_the_last_one() {
    let (state, backup) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let (path, file) =
        (backup.path().join("keys.json"), backup.path().join("keys.json").display().to_string());
    fs::write(&path, "the last backup").unwrap();
    let back_up = |more: &[&str]| {
        let state = state.path().display().to_string();
        let arguments =
            [&["scripts/backup-keys.mjs", file.as_str()], more, local(&state).as_slice()].concat();
        Command::new(node()).args(arguments).current_dir(root()).output().unwrap()
    };
    let ran = back_up(&[]);
    let told = String::from_utf8_lossy(&ran.stderr).into_owned();
    assert!(ran.status.code() == Some(1) && told.contains("no keys in this namespace"), "{ran:?}");
    assert!(!String::from_utf8_lossy(&ran.stdout).contains("ok "), "{ran:?}");
    assert_eq!(fs::read_to_string(&path).unwrap(), "the last backup");
    assert!(back_up(&["--allow-empty"]).status.success());
    assert_eq!(fs::read_to_string(&path).unwrap(), "[]\n");
}

/// The records of a lost account, put into an empty one with the same secrets.
#[test]
fn restored_records_make_keys_of_a_backup_valid() {
    let edge = Edge::start_stored(NOWHERE);
    let (key, _) = edge.issue("pro");
    let (_, second) = edge.issue("free");
    let (backup, fresh) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let file = backup.path().join("keys.json").display().to_string();
    let said =
        run(&[&["scripts/backup-keys.mjs", &file], local(&persisted(edge.state())).as_slice()].concat());
    assert!(said.contains("2 keys in"), "{said}");
    let stored = fs::read_to_string(&file).unwrap();
    assert!(stored.contains(&second) && !stored.contains(&key), "records, and no key");

    let put = ["node_modules/.bin/wrangler", "kv", "bulk", "put", &file, "--binding", "KEYS"];
    run(&[put.as_slice(), local(&persisted(fresh.path())).as_slice()].concat());
    let restored = Edge::start_at(NOWHERE, fresh);
    let usage = Request::get("/v1/keys/me").key(&key).send(restored.addr);
    assert_eq!((usage.status, &usage.json()["tier"]), (200, &"pro".into()), "{}", usage.text());
}
