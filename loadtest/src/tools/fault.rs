//! Faults on the wire, written directly to the socket because no HTTP library would produce them.

use std::io;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use thiserror::Error;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time;

/// A fault and its scope.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fault {
    /// The kind of fault.
    pub kind: FaultKind,
    /// True if the fault also applies to `/healthz`.
    #[serde(default)]
    pub probes: bool,
}

/// A kind of fault. It takes the place of the response, after the request head was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FaultKind {
    /// Resets the connection without sending a byte.
    Reset,
    /// Sends the head of a 200 response with `Content-Length: 1000`, then resets the connection.
    ResetAfterHeaders,
    /// Sends the same head and 500 bytes, then closes the connection with a FIN.
    HalfResponse,
    /// Sends bytes that are not HTTP, then closes the connection.
    Garbage,
    /// Sends nothing and keeps the connection open until the client closes it.
    Hang,
    /// Sends a head with a `Content-Length` of 1 MiB, then one byte every 200 ms.
    SlowBody,
    /// Sends a 200 response with 256 header lines of 1 KiB each.
    HugeHeaders,
}

/// The error of a service that makes its connection inject a fault.
#[derive(Debug, Error)]
#[error("inject fault: {0:?}")]
pub(super) struct InjectFaultError(pub(super) FaultKind);

/// The response head of faults that truncate the body.
const HEAD_OF_1000: &[u8] = b"HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ncontent-length: 1000\r\n\r\n";
/// The pause between the bytes of a slow body.
const SLOW_BODY_PAUSE: Duration = Duration::from_millis(200);
/// The timeout of a lingering close.
const LINGER_TIMEOUT: Duration = Duration::from_secs(5);

impl FaultKind {
    /// Returns true if the request body must be read first, because closing a socket with unread
    /// data resets it.
    pub(super) const fn reads_body(self) -> bool {
        match self {
            Self::Reset | Self::Hang => false,
            Self::ResetAfterHeaders
            | Self::HalfResponse
            | Self::Garbage
            | Self::SlowBody
            | Self::HugeHeaders => true,
        }
    }

    /// Injects the fault into a connection whose request was read. Returns when the connection is
    /// finished.
    pub(super) async fn inject(self, mut stream: TcpStream) -> io::Result<()> {
        match self {
            Self::Reset => reset(stream),
            Self::ResetAfterHeaders => {
                stream.write_all(HEAD_OF_1000).await?;
                reset(stream)
            }
            Self::HalfResponse => {
                stream.write_all(HEAD_OF_1000).await?;
                close_after(stream, &[b'.'; 500]).await
            }
            Self::Garbage => close_after(stream, b"\x00\xff\x16\x03 this is not HTTP\r\n\r\n").await,
            Self::Hang => read_until_closed(&mut stream).await,
            Self::SlowBody => send_slowly(stream).await,
            Self::HugeHeaders => close_after(stream, huge_head().as_bytes()).await,
        }
    }
}

fn reset(stream: TcpStream) -> io::Result<()> {
    stream.set_zero_linger()
}

/// Sends the last bytes, closes the write half, and waits for the client to close (lingering
/// close).
async fn close_after(mut stream: TcpStream, last: &[u8]) -> io::Result<()> {
    stream.write_all(last).await?;
    stream.shutdown().await?;
    time::timeout(LINGER_TIMEOUT, read_until_closed(&mut stream)).await.unwrap_or(Ok(()))
}

async fn read_until_closed(stream: &mut TcpStream) -> io::Result<()> {
    let mut ignored = [0; 4096];
    while stream.read(&mut ignored).await? > 0 {}
    Ok(())
}

async fn send_slowly(mut stream: TcpStream) -> io::Result<()> {
    const LENGTH: usize = 1 << 20;
    let head = format!("HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ncontent-length: {LENGTH}\r\n\r\n");
    stream.write_all(head.as_bytes()).await?;
    for _ in 0..LENGTH {
        stream.write_all(b".").await?;
        time::sleep(SLOW_BODY_PAUSE).await;
    }
    Ok(())
}

/// Returns a response head with 256 header lines of 1 KiB each.
fn huge_head() -> String {
    let filler = "x".repeat(1024 - "x-filler-000: \r\n".len());
    let lines: String = (0..256).map(|line| format!("x-filler-{line:03}: {filler}\r\n")).collect();
    format!("HTTP/1.1 200 OK\r\ncontent-length: 0\r\n{lines}\r\n")
}
