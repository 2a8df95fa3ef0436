//! Opens connections to upstreams, with TLS if it is on.

use std::io;
use std::time::Duration;

use pingora::protocols::Stream;
use pingora::{Error, ErrorType, Result};
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::clock;
use crate::connect::ConnectTarget;
use crate::record::DialTimes;
use crate::socket::Socket;
use crate::tls::{Connector, HandshakeError, SecureStream};

/// Opens a connection, with TLS if it is on. Returns it with the times of its steps.
pub(crate) async fn connect(target: &ConnectTarget) -> Result<(Stream, DialTimes)> {
    #[cfg(test)]
    if let Some(dialed) = crate::fake_stream::dial(target.options.timeout) {
        let begun = clock::instant();
        let stream = dialed.await.map_err(connect_error)?;
        return Ok((stream, DialTimes { begun, connected: clock::instant(), secured: None }));
    }
    let (stream, mut times) = connect_tcp(target).await?;
    // With Nagle's algorithm, the last piece of a body waits for an acknowledgment, which the peer
    // may delay.
    stream.set_nodelay(true).map_err(connect_error)?;
    let socket = Socket::new(stream, target.address);
    // Not Pingora's TLS: it keeps no cause of a failure, and panics if an authority of the system
    // is unreadable.
    match &target.options.connector {
        None => Ok((Box::new(socket), times)),
        // Boxed, so that calls without TLS hold no memory for it.
        Some(connector) => {
            // One timeout for both steps. With one each, an upstream could take twice as long.
            let left = target.options.timeout.saturating_sub(clock::instant().duration_since(times.begun));
            let stream = Box::pin(secure(Box::new(socket), connector, left)).await?;
            times.secured = Some(clock::instant());
            Ok((stream, times))
        }
    }
}

/// Opens a TCP connection. Returns it with the times of its steps.
async fn connect_tcp(target: &ConnectTarget) -> Result<(TcpStream, DialTimes)> {
    let begun = clock::instant();
    let connected = timeout(target.options.timeout, TcpStream::connect(target.address)).await;
    let stream = connected.unwrap_or_else(|_elapsed| Err(io::ErrorKind::TimedOut.into()));
    let stream = stream.map_err(connect_error)?;
    Ok((stream, DialTimes { begun, connected: clock::instant(), secured: None }))
}

/// Returns the error of a connection attempt that this error of the operating system has ended.
fn connect_error(error: io::Error) -> Box<Error> {
    let kind = match error.kind() {
        io::ErrorKind::ConnectionRefused => ErrorType::ConnectRefused,
        io::ErrorKind::TimedOut => ErrorType::ConnectTimedout,
        io::ErrorKind::HostUnreachable | io::ErrorKind::NetworkUnreachable => ErrorType::ConnectNoRoute,
        _ => ErrorType::ConnectError,
    };
    Error::because(kind, "the connection is not established", error)
}

async fn secure(stream: Stream, connector: &Connector, time: Duration) -> Result<Stream> {
    let failed = match timeout(time, connector.secure(stream)).await {
        Ok(Ok(stream)) => return Ok(Box::new(SecureStream::new(stream.into()))),
        Ok(Err(error)) => match HandshakeError::of(&error) {
            HandshakeError::Certificate => ErrorType::InvalidCert,
            HandshakeError::Protocol => ErrorType::TLSHandshakeFailure,
            HandshakeError::Closed => ErrorType::ConnectionClosed,
        },
        Err(_elapsed) => ErrorType::TLSHandshakeTimedout,
    };
    Err(Error::new_up(failed))
}
