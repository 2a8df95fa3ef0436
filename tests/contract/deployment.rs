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

/// Without this flag a fetch of a host of the zone would go past Cloudflare's front door.
#[test]
fn deployed_worker_calls_its_zone_through_the_front_door() {
    let text = wrangler();
    let flags = text.lines().find(|line| line.starts_with("compatibility_flags")).unwrap();
    assert!(flags.contains("\"global_fetch_strictly_public\""), "{flags}");
}
