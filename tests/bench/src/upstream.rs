//! The upstream behind every peer. It does as little work as possible, so that the proxies are the
//! bottleneck.

use std::io;
use std::net::SocketAddr;
use std::sync::LazyLock;
use std::time::{Duration, Instant};

use memchr::memmem;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::sleep;

use crate::message::content_length;

/// The action with a response of [`LARGE_BODY`] bytes.
pub(crate) const LARGE_ACTION: &str = "big";
/// The action with a stream of [`TIMED_EVENTS`] events, [`TIMED_PAUSE`] apart.
pub(crate) const TIMED_ACTION: &str = "timed-events";
pub(crate) const TIMED_EVENTS: usize = 50;
const TIMED_PAUSE: Duration = Duration::from_millis(10);
/// The action with a stream of events that are a second apart, without an end.
pub(crate) const SLOW_ACTION: &str = "slow-events";
const SLOW_PAUSE: Duration = Duration::from_secs(1);
/// The begin of an event. Its nanoseconds follow, in this number of digits.
pub(crate) const EVENT: &[u8] = b"data: ";
pub(crate) const DIGITS: usize = 20;
/// The size of a large body: 1 MiB.
pub(crate) const LARGE_BODY: usize = 1 << 20;

const SMALL: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 97\r\n\r\n\
    {\"status\":\"done\",\"result\":\"the answer of a tool that has nothing to think about\",\"took_ms\":0.00}\n";

/// Listens on a free loopback port, serves every request on the current runtime, and returns the
/// address.
pub(crate) async fn start() -> io::Result<SocketAddr> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            // The proxy causes broken connections, and the load generator reports them.
            tokio::spawn(async move { drop(serve(stream).await) });
        }
    });
    Ok(address)
}

async fn serve(mut stream: TcpStream) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let mut bytes = vec![0; 64 << 10];
    let mut held = 0;
    let large = format!("HTTP/1.1 200 OK\r\nContent-Length: {LARGE_BODY}\r\n\r\n{}", "x".repeat(LARGE_BODY))
        .into_bytes();
    loop {
        let Some(end) = memmem::find(bytes.get(..held).unwrap_or_default(), b"\r\n\r\n") else {
            match stream.read(bytes.get_mut(held..).unwrap_or_default()).await? {
                0 => return Ok(()),
                read => held += read,
            }
            continue;
        };
        let head = bytes.get(..end).unwrap_or_default();
        let has = |action: &str| memmem::find(first_line(head), action.as_bytes()).is_some();
        if has(TIMED_ACTION) {
            return send_events(&mut stream, TIMED_EVENTS, TIMED_PAUSE).await;
        }
        if has(SLOW_ACTION) {
            return send_events(&mut stream, usize::MAX, SLOW_PAUSE).await;
        }
        let is_large = has(LARGE_ACTION);
        let mut body = content_length(head).unwrap_or(0);
        let received = held - end - 4;
        if received > body {
            bytes.copy_within(end + 4 + body..held, 0);
            held = received - body;
            body = 0;
        } else {
            body -= received;
            held = 0;
        }
        while body > 0 {
            let read = stream.read(&mut bytes).await?;
            if read == 0 {
                return Ok(());
            }
            body = body.saturating_sub(read);
        }
        stream.write_all(if is_large { &large } else { SMALL }).await?;
    }
}

/// Responds with events, each with the moment at which it is sent.
async fn send_events(stream: &mut TcpStream, count: usize, pause: Duration) -> io::Result<()> {
    let head = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n";
    stream.write_all(head).await?;
    for _ in 0..count {
        stream.write_all(format!("data: {:020}\n\n", nanos()).as_bytes()).await?;
        sleep(pause).await;
    }
    Ok(())
}

/// Returns the nanoseconds since the first call.
pub(crate) fn nanos() -> u64 {
    static START: LazyLock<Instant> = LazyLock::new(Instant::now);
    u64::try_from(START.elapsed().as_nanos()).unwrap_or(u64::MAX)
}

fn first_line(head: &[u8]) -> &[u8] {
    head.split(|&byte| byte == b'\r').next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::SMALL;

    #[test]
    fn small_response_has_announced_length() {
        let body = SMALL.windows(4).position(|four| four == b"\r\n\r\n").unwrap() + 4;
        assert_eq!(SMALL.len() - body, 97);
    }
}
