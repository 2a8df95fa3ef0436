//! What can go wrong on the wire: written to the socket past any HTTP library, since none would say it.

use std::fmt;
use std::io;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time;

/// A fault and what it strikes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fault {
    /// What goes wrong.
    pub kind: Kind,
    /// Whether it strikes `/healthz` as well, or calls only.
    #[serde(default)]
    pub probes: bool,
}

/// What a faulty tool does instead of answering, once it has read the head of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// Resets the connection without a byte.
    Reset,
    /// Sends the head of a 200 that promises 1,000 bytes, then resets the connection.
    ResetAfterHeaders,
    /// Sends the head and half of the 1,000 bytes it promised, then closes the connection in order.
    HalfResponse,
    /// Sends bytes that are not HTTP, then closes the connection.
    Garbage,
    /// Sends nothing, for as long as the other side waits.
    Hang,
    /// Sends a head that promises 1 MiB, then one byte every 200 ms.
    SlowBody,
    /// Sends a 200 with 256 header lines of 1 KiB each.
    HugeHeaders,
}

/// Tells the connection that the request it has just read is to meet this fault.
#[derive(Debug)]
pub(super) struct FaultDue(pub(super) Kind);

impl fmt::Display for FaultDue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "fault due: {:?}", self.0)
    }
}

impl std::error::Error for FaultDue {}

/// What every fault with a head promises; the content is as plain as can be.
const HEAD_OF_1000: &[u8] = b"HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ncontent-length: 1000\r\n\r\n";
const DRIP: Duration = Duration::from_millis(200);
/// How long a connection that was closed in order waits for the other side to close it too.
const LINGER: Duration = Duration::from_secs(5);

impl Kind {
    /// Whether the request's body is read first. Unread, it would turn an orderly close into a reset.
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

    /// Does it to a connection whose request has been read; returns when the connection is done with.
    pub(super) async fn strike(self, mut stream: TcpStream) -> io::Result<()> {
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
            Self::SlowBody => drip(stream).await,
            Self::HugeHeaders => close_after(stream, huge_head().as_bytes()).await,
        }
    }
}

fn reset(stream: TcpStream) -> io::Result<()> {
    stream.set_zero_linger()
}

async fn close_after(mut stream: TcpStream, last: &[u8]) -> io::Result<()> {
    stream.write_all(last).await?;
    stream.shutdown().await?;
    time::timeout(LINGER, read_until_closed(&mut stream)).await.unwrap_or(Ok(()))
}

async fn read_until_closed(stream: &mut TcpStream) -> io::Result<()> {
    let mut ignored = [0; 4096];
    while stream.read(&mut ignored).await? > 0 {}
    Ok(())
}

async fn drip(mut stream: TcpStream) -> io::Result<()> {
    const LENGTH: usize = 1 << 20;
    let head = format!("HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ncontent-length: {LENGTH}\r\n\r\n");
    stream.write_all(head.as_bytes()).await?;
    for _ in 0..LENGTH {
        stream.write_all(b".").await?;
        time::sleep(DRIP).await;
    }
    Ok(())
}

fn huge_head() -> String {
    let filler = "x".repeat(1024 - "x-filler-000: \r\n".len());
    let lines: String = (0..256).map(|line| format!("x-filler-{line:03}: {filler}\r\n")).collect();
    format!("HTTP/1.1 200 OK\r\ncontent-length: 0\r\n{lines}\r\n")
}
