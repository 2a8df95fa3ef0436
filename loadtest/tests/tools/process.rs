//! The `loadtest tools` process: ready line, ports and signals.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};

use serde_json::Value;

/// A running process.
struct ToolsProcess {
    child: Child,
    addresses: Value,
}

impl ToolsProcess {
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

impl Drop for ToolsProcess {
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
fn ready_line_has_addresses_that_accept() {
    let tools = ToolsProcess::start("0");
    assert_eq!(tools.addresses["tools"].as_object().unwrap().len(), 17);
    for tool in shared::tool::Tool::ALL {
        TcpStream::connect(tools.addr(&format!("/tools/{tool}"))).unwrap();
    }
    TcpStream::connect(tools.addr("/control")).unwrap();
}

/// Returns the first of 18 consecutive ports that are currently free.
fn free_ports(from: u16) -> u16 {
    let is_free = |port| TcpListener::bind(("127.0.0.1", port)).is_ok();
    (from..from + 5_000).step_by(18).find(|&first| (first..first + 18).all(is_free)).unwrap()
}

#[test]
fn ports_are_in_alphabetical_order_then_control_api() {
    let first = free_ports(20_000);
    let tools = ToolsProcess::start(&first.to_string());
    for (tool, port) in shared::tool::Tool::ALL.into_iter().zip(first..) {
        assert_eq!(tools.addr(&format!("/tools/{tool}")).port(), port);
    }
    assert_eq!(tools.addr("/control").port(), first + 17);
}

#[test]
fn busy_port_is_error_with_address_and_tool() {
    for (offset, name) in [(0, "biolink"), (16, "yt"), (17, "the control API")] {
        let first = free_ports(25_000);
        let taken = TcpListener::bind(("127.0.0.1", first + offset)).unwrap();
        let output = command(&first.to_string()).output().unwrap();
        let message = String::from_utf8(output.stderr).unwrap();
        let expected = format!("loadtest: cannot listen on {} for {name}: ", taken.local_addr().unwrap());
        assert!(message.starts_with(&expected), "{message}");
        assert_eq!((output.status.code(), output.stdout.len()), (Some(1), 0));
    }
}

/// Returns the number of calls that reached `qr`.
fn calls_of_qr(tools: &ToolsProcess) -> u64 {
    let mut stream = TcpStream::connect(tools.addr("/control")).unwrap();
    stream.write_all(b"GET /qr HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n").unwrap();
    let mut response = String::new();
    stream.read_to_string(&mut response).unwrap();
    let (_head, body) = response.split_once("\r\n\r\n").unwrap();
    serde_json::from_str::<Value>(body).unwrap()["calls"].as_u64().unwrap()
}

/// The call takes a minute, so a process that waited for it would send its response.
#[test]
fn signal_exits_without_waiting_for_call_in_flight() {
    for signal in ["-TERM", "-INT"] {
        let mut tools = ToolsProcess::start("0");
        let mut call = TcpStream::connect(tools.addr("/tools/qr")).unwrap();
        call.write_all(b"GET /slow?ms=60000 HTTP/1.1\r\nhost: x\r\n\r\n").unwrap();
        while calls_of_qr(&tools) == 0 {}
        assert!(
            Command::new("kill").args([signal, &tools.child.id().to_string()]).status().unwrap().success()
        );
        assert!(tools.child.wait().unwrap().success(), "{signal}");
        let mut response = Vec::new();
        // The exit closes or resets the connection.
        let _closed = call.read_to_end(&mut response);
        assert!(response.is_empty(), "{signal}: {}", String::from_utf8_lossy(&response));
    }
}
