//! What `wrangler.toml` gives to a deployed worker.

use std::{fs, path::Path};

fn wrangler() -> String {
    fs::read_to_string(Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../wrangler.toml"))).unwrap()
}

/// With this variable the worker calls the loopback interface, and everything without encryption.
#[test]
fn deployed_worker_calls_no_private_address() {
    let text = wrangler();
    assert!(text.contains("[vars]"), "the file has the variables of the worker");
    assert!(!text.contains("ALLOW_PRIVATE_FETCH"), "ALLOW_PRIVATE_FETCH is for development only");
}

/// The platform's own log has the URL, the address and the user agent of each request.
#[test]
fn deployed_worker_keeps_no_invocation_logs() {
    let text = wrangler();
    let logs = text.split("[observability.logs]").nth(1).unwrap();
    assert!(logs.lines().any(|line| line == "invocation_logs = false"), "{logs}");
    assert!(text.lines().any(|line| line.starts_with("ACCESS_LOG_SAMPLE = ")), "successes are sampled");
}

#[test]
fn deployed_worker_has_a_limit_on_cpu_time() {
    let text = wrangler();
    let limits = text.split("[limits]").nth(1).unwrap();
    assert!(limits.lines().nth(1).unwrap().starts_with("cpu_ms = "), "{limits}");
}

/// Without this flag a fetch of a host of the zone would go past Cloudflare's front door.
#[test]
fn deployed_worker_calls_its_zone_through_the_front_door() {
    let text = wrangler();
    let flags = text.lines().find(|line| line.starts_with("compatibility_flags")).unwrap();
    assert!(flags.contains("\"global_fetch_strictly_public\""), "{flags}");
}
