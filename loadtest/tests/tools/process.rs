//! The binary itself: its ready line, its ports, its end.

use std::io::{BufRead, BufReader};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

struct Tools {
    child: Child,
    addresses: Value,
}

impl Tools {
    fn start(port: &str) -> Self {
        let mut child = command(port).stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let addresses = serde_json::from_str(&line).unwrap();
        Self { child, addresses }
    }

    fn addr(&self, pointer: &str) -> SocketAddr {
        self.addresses.pointer(pointer).unwrap().as_str().unwrap().parse().unwrap()
    }
}

impl Drop for Tools {
    fn drop(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

fn command(port: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_loadtest"));
    command.args(["tools", "--port", port]);
    command
}

#[test]
fn the_ready_line_names_addresses_that_all_accept() {
    let tools = Tools::start("0");
    assert_eq!(tools.addresses["tools"].as_object().unwrap().len(), 17);
    for tool in shared::tool::Tool::ALL {
        TcpStream::connect(tools.addr(&format!("/tools/{tool}"))).unwrap();
    }
    TcpStream::connect(tools.addr("/control")).unwrap();
}

/// The first of 18 ports in a row that are free at this moment.
fn free_row(from: u16) -> u16 {
    let is_free = |port| TcpListener::bind(("127.0.0.1", port)).is_ok();
    (from..from + 5_000).step_by(18).find(|&first| (first..first + 18).all(is_free)).unwrap()
}

#[test]
fn tools_take_ports_in_alphabetical_order_and_the_control_api_the_next() {
    let first = free_row(20_000);
    let tools = Tools::start(&first.to_string());
    for (tool, port) in shared::tool::Tool::ALL.into_iter().zip(first..) {
        assert_eq!(tools.addr(&format!("/tools/{tool}")).port(), port);
    }
    assert_eq!(tools.addr("/control").port(), first + 17);
}

#[test]
fn a_busy_port_is_named_with_who_wanted_it() {
    for (offset, who) in [(0, "biolink"), (16, "yt"), (17, "the control API")] {
        let first = free_row(25_000);
        let taken = TcpListener::bind(("127.0.0.1", first + offset)).unwrap();
        let output = command(&first.to_string()).output().unwrap();
        let message = String::from_utf8(output.stderr).unwrap();
        let expected = format!("loadtest: cannot listen on {} for {who}: ", taken.local_addr().unwrap());
        assert!(message.starts_with(&expected), "{message}");
        assert_eq!((output.status.code(), output.stdout.len()), (Some(1), 0));
    }
}

#[test]
fn sigterm_and_sigint_end_it_at_once_even_with_a_call_in_flight() {
    for signal in ["-TERM", "-INT"] {
        let mut tools = Tools::start("0");
        let mut call = TcpStream::connect(tools.addr("/tools/qr")).unwrap();
        std::io::Write::write_all(&mut call, b"GET /slow?ms=60000 HTTP/1.1\r\nhost: x\r\n\r\n").unwrap();
        let sent = Instant::now();
        assert!(
            Command::new("kill").args([signal, &tools.child.id().to_string()]).status().unwrap().success()
        );
        assert!(tools.child.wait().unwrap().success(), "{signal}");
        assert!(sent.elapsed() < Duration::from_secs(2), "{signal} took {:?}", sent.elapsed());
    }
}
