//! The PROXY protocol, versions 1 and 2: a load balancer announces the address of the client before its
//! first byte (haproxy.org, proxy-protocol.txt).

use std::io;
use std::net::{IpAddr, SocketAddr};

use pingora::protocols::Stream;
use ppp::{v1, v2};
use thiserror::Error;
use tokio::io::AsyncReadExt as _;
use tokio::net::TcpStream;

use crate::socket::Socket;

/// The bytes that both versions have at least.
const SHORTEST: usize = 12;
/// Those of version 2 before its addresses.
const FIXED: usize = 16;
/// Maximum length of a header of version 1.
const LONGEST_TEXT: usize = 107;
/// Maximum length of a header of version 2 here. Load balancers send a few hundred bytes.
const LONGEST: usize = 4_096;

/// The reason why a connection is closed before its first request.
#[derive(Debug, Error)]
pub(crate) enum ProxyHeaderError {
    /// The peer closed the connection without a byte, as health checks of load balancers do.
    #[error("closed without a byte")]
    Closed,
    /// The first bytes are no header.
    #[error("no PROXY header of version 1 or 2")]
    Missing,
    /// The header is longer than any that is accepted.
    #[error("the header has {0} bytes: expected at most {LONGEST}")]
    TooLong(usize),
    /// The connection failed or ended within the header.
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// Reads the header of a connection, and nothing after it. Returns the connection with the address that
/// the header announces, or with its own if the load balancer speaks for itself.
///
/// # Errors
/// Returns an error if the connection does not begin with a header.
pub(crate) async fn read(stream: Stream) -> Result<Stream, ProxyHeaderError> {
    let missing = |_| ProxyHeaderError::Missing;
    let mut socket = stream.into_any().downcast::<Socket>().map_err(missing)?;
    if let Some(client) = announced(socket.tcp()).await? {
        socket.set_peer(client);
    }
    Ok(socket)
}

async fn announced(stream: &mut TcpStream) -> Result<Option<SocketAddr>, ProxyHeaderError> {
    let mut header = vec![0; SHORTEST];
    match stream.read(&mut header).await? {
        0 => return Err(ProxyHeaderError::Closed),
        read => fill(stream, &mut header, read, SHORTEST).await?,
    }
    if header == v2::PROTOCOL_PREFIX {
        fill(stream, &mut header, SHORTEST, FIXED).await?;
        let length = header.last_chunk().map_or(0, |length| usize::from(u16::from_be_bytes(*length)));
        let whole = FIXED + length;
        if whole > LONGEST {
            return Err(ProxyHeaderError::TooLong(whole));
        }
        fill(stream, &mut header, FIXED, whole).await?;
        return of_binary(&header);
    }
    if !header.starts_with(v1::PROTOCOL_PREFIX.as_bytes()) {
        return Err(ProxyHeaderError::Missing);
    }
    // Byte by byte, so that none of the request is read.
    while !header.ends_with(b"\r\n") {
        let read = header.len();
        if read == LONGEST_TEXT {
            return Err(ProxyHeaderError::Missing);
        }
        fill(stream, &mut header, read, read + 1).await?;
    }
    of_text(&header)
}

/// Reads until the header, of which `from` bytes are there, has `to` bytes.
async fn fill(stream: &mut TcpStream, header: &mut Vec<u8>, from: usize, to: usize) -> io::Result<()> {
    header.resize(to, 0);
    stream.read_exact(header.get_mut(from..).unwrap_or_default()).await.map(drop)
}

fn of_text(header: &[u8]) -> Result<Option<SocketAddr>, ProxyHeaderError> {
    let header = v1::Header::try_from(header).map_err(|_invalid| ProxyHeaderError::Missing)?;
    Ok(match header.addresses {
        v1::Addresses::Tcp4(at) => Some(client(at.source_address, at.source_port)),
        v1::Addresses::Tcp6(at) => Some(client(at.source_address, at.source_port)),
        v1::Addresses::Unknown => None,
    })
}

fn of_binary(header: &[u8]) -> Result<Option<SocketAddr>, ProxyHeaderError> {
    let header = v2::Header::try_from(header).map_err(|_invalid| ProxyHeaderError::Missing)?;
    Ok(match (header.command, header.addresses) {
        (v2::Command::Local, _) | (_, v2::Addresses::Unspecified | v2::Addresses::Unix(_)) => None,
        (v2::Command::Proxy, v2::Addresses::IPv4(at)) => Some(client(at.source_address, at.source_port)),
        (v2::Command::Proxy, v2::Addresses::IPv6(at)) => Some(client(at.source_address, at.source_port)),
    })
}

fn client(address: impl Into<IpAddr>, port: u16) -> SocketAddr {
    SocketAddr::new(address.into().to_canonical(), port)
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::AsyncWriteExt as _;
    use tokio::net::TcpListener;

    /// What a peer that sends these bytes and closes announces, and the bytes after the header.
    async fn sent(bytes: &[u8]) -> (Result<Option<SocketAddr>, String>, Vec<u8>) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let mut peer = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
        peer.write_all(bytes).await.unwrap();
        drop(peer);
        let (mut stream, _) = listener.accept().await.unwrap();
        let found = announced(&mut stream).await.map_err(|error| error.to_string());
        let mut rest = Vec::new();
        // A header that is refused is followed by a reset.
        let _read = stream.read_to_end(&mut rest).await;
        (found, rest)
    }

    /// Version 2 with an IPv4 client, 203.0.113.7:4660, and a value of another type, after the figures of the
    /// specification.
    fn binary(version_and_command: u8, tail: &[u8]) -> Vec<u8> {
        let mut header = b"\r\n\r\n\0\r\nQUIT\n".to_vec();
        header.extend([version_and_command, 0x11]);
        header.extend(u16::try_from(12 + tail.len()).unwrap().to_be_bytes());
        header.extend([203, 0, 113, 7, 192, 0, 2, 1, 0x12, 0x34, 0x01, 0xbb]);
        header.extend(tail);
        header
    }

    #[tokio::test]
    async fn header_announces_the_client_and_leaves_the_request() {
        let client = |text: &str| Some(text.parse::<SocketAddr>().unwrap());
        let cases: [(Vec<u8>, _); 7] = [
            (b"PROXY TCP4 203.0.113.7 192.0.2.1 4660 443\r\n".to_vec(), client("203.0.113.7:4660")),
            (b"PROXY TCP6 2001:db8::7 2001:db8::1 4660 443\r\n".to_vec(), client("[2001:db8::7]:4660")),
            (b"PROXY TCP6 ::ffff:203.0.113.7 2001:db8::1 1 2\r\n".to_vec(), client("203.0.113.7:1")),
            (b"PROXY UNKNOWN\r\n".to_vec(), None),
            (binary(0x21, &[]), client("203.0.113.7:4660")),
            (binary(0x21, &[0x04, 0, 3, 1, 2, 3]), client("203.0.113.7:4660")),
            (binary(0x20, &[]), None),
        ];
        for (header, expected) in cases {
            let request = b"GET / HTTP/1.1\r\n\r\n";
            let (found, rest) = sent(&[&header, &request[..]].concat()).await;
            assert_eq!(found.unwrap(), expected, "{}", header.escape_ascii());
            assert_eq!(rest, request);
        }
    }

    #[tokio::test]
    async fn anything_else_is_refused() {
        let mut long = b"\r\n\r\n\0\r\nQUIT\n\x21\x11".to_vec();
        long.extend(u16::MAX.to_be_bytes());
        let missing = "no PROXY header of version 1 or 2";
        let cases: [(Vec<u8>, &str); 7] = [
            (Vec::new(), "closed without a byte"),
            (b"GET / HTTP/1.1\r\n\r\n".to_vec(), missing),
            (b"PROXY TCP4 203.0.113.7 192.0.2.1 4660 \r\n".to_vec(), missing),
            ([b"PROXY TCP4 ".as_slice(), &[b'1'; 200]].concat(), missing),
            (binary(0x31, &[]), missing),
            (long, "the header has 65551 bytes: expected at most 4096"),
            (b"PROXY TCP4 203".to_vec(), "early eof"),
        ];
        for (bytes, expected) in cases {
            assert_eq!(sent(&bytes).await.0.unwrap_err(), expected, "{}", bytes.escape_ascii());
        }
    }
}
