//! Scenarios for a proxy in direct mode. Books must balance wherever no call is cut off.

use std::thread;

use tests::wait::{PATIENCE, wait_for};

use crate::gateway::DirectGateway;

const BOOKS: [&str; 2] = ["--expect", "books=balanced"];

fn balanced(scenario: &str, rate: &str) {
    DirectGateway::start().passes(scenario, &[&BOOKS[..], &["--rate", rate]].concat());
}

#[test]
fn steady_passes() {
    balanced("steady", "30");
}

#[test]
fn ramp_passes() {
    balanced("ramp", "60");
}

#[test]
fn spike_passes() {
    balanced("spike", "100");
}

#[test]
fn soak_passes() {
    balanced("soak", "30");
}

#[test]
fn user_flow_passes() {
    balanced("user-flow", "10");
}

#[test]
fn burst_passes() {
    balanced("burst", "30");
}

#[test]
fn flood_passes() {
    balanced("flood", "150");
}

#[test]
fn limit_audit_passes() {
    balanced("limit-audit", "100");
}

#[test]
fn million_keys_passes_with_fewer_keys() {
    DirectGateway::start()
        .passes("million-keys", &[&BOOKS[..], &["--rate", "100", "--keys", "20000"]].concat());
}

#[test]
fn mixed_tiers_passes() {
    balanced("mixed-tiers", "50");
}

#[test]
fn uploads_passes() {
    balanced("uploads", "5");
}

#[test]
fn downloads_passes() {
    balanced("downloads", "10");
}

#[test]
fn server_sent_events_passes() {
    // A busy machine makes streams slower than the scenario allows.
    DirectGateway::start().passes("server-sent-events", &[&BOOKS[..], &["--rate", "5"]].concat());
}

#[test]
fn tool_dies_passes() {
    DirectGateway::start().passes("tool-dies", &["--rate", "20"]);
}

#[test]
fn tool_slows_passes() {
    DirectGateway::start().passes("tool-slows", &[&BOOKS[..], &["--rate", "10"]].concat());
}

#[test]
fn tool_flaps_passes() {
    DirectGateway::start().passes("tool-flaps", &["--rate", "20"]);
}

#[test]
fn key_revocation_passes() {
    DirectGateway::start().passes("key-revocation", &["--rate", "20"]);
}

#[test]
fn key_rotation_passes() {
    balanced("key-rotation", "15");
}

#[test]
fn tour_passes() {
    DirectGateway::start().passes("tour", &["--rate", "200"]);
}

#[test]
fn reload_passes() {
    let gateway = DirectGateway::start();
    let hook = format!("reload=kill -HUP {}", gateway.proxy.pid());
    gateway.passes("reload", &[&BOOKS[..], &["--rate", "30", "--hook", &hook]].concat());
}

#[test]
fn upgrade_passes() {
    let place = tempfile::tempdir().unwrap();
    let (socket, asked) = (place.path().join("upgrade.sock"), place.path().join("asked"));
    let gateway =
        DirectGateway::start_with(|config| config.line("server", &format!("upgrade_socket = {socket:?}")));
    let hook = format!("upgrade=touch {}", asked.display());
    thread::scope(|scope| {
        let successor = scope.spawn(|| {
            wait_for(PATIENCE, || asked.exists().then_some(()));
            gateway.config.upgrade()
        });
        gateway.passes("upgrade", &["--rate", "30", "--keys", "2", "--hook", &hook]);
        let output = successor.join().unwrap().output();
        assert!(output.contains("upgrade complete: predecessor="), "{output}");
    });
}
