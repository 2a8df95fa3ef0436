//! The check that a server without TLS speaks HTTP/2 by prior knowledge (RFC 9113, section 3.3).

use std::io;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::target::Target;

/// The connection preface of a client, with empty settings.
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00";
/// The type of the first frame of a server.
const SETTINGS: u8 = 4;

/// Sends a preface on its own connection and reads the head of the first frame.
///
/// # Errors
/// Returns an error if the server closes the connection or sends anything but settings. A client
/// learns that from its first calls only, and they all fail.
pub(super) async fn check(target: &Target) -> io::Result<()> {
    let mut stream = TcpStream::connect(target.addr).await?;
    stream.write_all(PREFACE).await?;
    let mut head = [0; 9];
    match stream.read_exact(&mut head).await.map(|_| head) {
        Ok([_, _, _, SETTINGS, ..]) => Ok(()),
        Ok(other) if other.starts_with(b"HTTP/1") => Err(refused("it responds with HTTP/1")),
        Ok(_) => Err(refused("it responds with something else")),
        Err(_closed) => Err(refused("it closes the connection")),
    }
}

fn refused(how: &str) -> io::Error {
    io::Error::other(format!(
        "the server does not speak HTTP/2 without TLS: {how}; expected a server with prior knowledge (h2c), or no --http2"
    ))
}
