//! The ports of `make run`.

use std::{
    net::{SocketAddr, TcpListener},
    process::{Command, Output},
};

use tests::process::{node, root};

/// Chooses ports with the edge's usual one in use, and the others above it.
fn choose(busy: SocketAddr, ports: &str) -> Output {
    let first = busy.port();
    let port = |above: u16| (first + above).to_string();
    Command::new(node())
        .arg("scripts/run/choose-ports.mjs")
        .current_dir(root())
        .env("PORTS", ports)
        .env("EDGE_PORT", port(0))
        .env("PROXY_PORT", port(1))
        .env("ADMIN_PORT", port(2))
        .env("TOOLS_PORT", port(3))
        .output()
        .unwrap()
}

/// Returns a listener that leaves room for the other ports above its own.
fn listener() -> (TcpListener, SocketAddr) {
    loop {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let addr = listener.local_addr().unwrap();
        if addr.port() < 60_000 {
            return (listener, addr);
        }
    }
}

#[test]
fn port_in_use_is_named_before_anything_is_built() {
    let (_listener, busy) = listener();
    let output = choose(busy, "");
    let error = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{error}");
    assert!(error.contains(&format!("port {}, for the edge, is in use", busy.port())), "{error}");
    assert!(error.contains("PORTS=free") && output.stdout.is_empty(), "{error}");
}

#[test]
fn ports_free_takes_others_for_each_part() {
    let (_listener, busy) = listener();
    let output = choose(busy, "free");
    let lines = String::from_utf8(output.stdout).unwrap();
    let port = |name: &str| -> u16 {
        let line = lines.lines().find_map(|line| line.strip_prefix(&format!("export {name}=")));
        line.unwrap_or_else(|| panic!("{name}: {lines}")).parse().unwrap()
    };
    let single = ["EDGE_PORT", "PROXY_PORT", "ADMIN_PORT"].map(port);
    assert!(!single.contains(&busy.port()), "{lines}");
    // The tools and their control have 18 ports in a row.
    let tools = port("TOOLS_PORT")..port("TOOLS_PORT") + 18;
    assert!(single.iter().all(|port| !tools.contains(port)), "{lines}");
    assert!(single[0] != single[1] && single[1] != single[2] && single[0] != single[2], "{lines}");
}

#[test]
fn unknown_way_to_choose_ports_is_error() {
    let (_listener, busy) = listener();
    let output = choose(busy, "any");
    let error = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(error.contains("unknown PORTS=any: expected free"), "{error}");
}
