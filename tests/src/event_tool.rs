//! A tool that streams events when a test says so.

use std::net::SocketAddr;

use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
    sync::watch,
};

use crate::runtime::{RUNTIME, listen};

const HEAD: &str = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n";

/// A tool that responds with a stream of events to every call but a probe. The test sends the events.
pub struct EventTool {
    pub address: SocketAddr,
    /// The number of events so far.
    events: watch::Sender<u64>,
}

impl EventTool {
    /// Starts it.
    pub fn start() -> Self {
        let ((listener, address), events) = (listen(), watch::Sender::new(0));
        let source = events.clone();
        RUNTIME.spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(serve(stream, source.subscribe()));
            }
        });
        Self { address, events }
    }

    /// Sends the next event to everybody. Returns its text.
    pub fn send(&self) -> String {
        self.events.send_modify(|events| *events += 1);
        event(*self.events.borrow())
    }
}

fn event(number: u64) -> String {
    format!("data: {number}\n\n")
}

/// Serves one connection until it is closed.
async fn serve(mut stream: TcpStream, mut events: watch::Receiver<u64>) {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        match stream.read_u8().await {
            Ok(byte) => head.push(byte),
            Err(_closed) => return,
        }
    }
    if head.starts_with(b"GET /healthz ") {
        let _sent =
            stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n").await;
        return;
    }
    let mut sent = *events.borrow_and_update();
    if stream.write_all(HEAD.as_bytes()).await.is_err() {
        return;
    }
    while events.changed().await.is_ok() {
        let now = *events.borrow_and_update();
        for number in sent + 1..=now {
            let event = event(number);
            let chunk = format!("{:x}\r\n{event}\r\n", event.len());
            if stream.write_all(chunk.as_bytes()).await.is_err() {
                return;
            }
        }
        sent = now;
    }
}
