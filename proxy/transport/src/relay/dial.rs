//! Opens connections to upstreams, with TLS if it is on.

use std::io;
use std::time::{Duration, Instant};

use pingora::protocols::Stream;
use pingora::{Error, ErrorType, Result};
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::connect::ConnectTarget;
use crate::record::DialTimes;
use crate::socket::Socket;
use crate::tls::{Connector, HandshakeError, SecureStream};

/// Opens a connection, with TLS if it is on. Returns it with the times of its steps.
pub(crate) async fn connect(target: &ConnectTarget) -> Result<(Stream, DialTimes)> {
    #[cfg(test)]
    if let Some(connected) = crate::sim::connect(target).await {
        return connected;
    }
    let (stream, mut times) = connect_tcp(target).await?;
    stream.set_nodelay(true).map_err(connect_error)?;
    let socket = Socket::new(stream, target.address);
    // Not Pingora's TLS: it keeps no cause of a failure, and panics if an authority of the system
    // is unreadable.
    match &target.options.connector {
        None => Ok((Box::new(socket), times)),
        // Boxed, so that calls without TLS hold no memory for it.
        Some(connector) => {
            let left = target.options.timeout.saturating_sub(times.begun.elapsed());
            let stream = Box::pin(secure(Box::new(socket), connector, left)).await?;
            times.secured = Some(Instant::now());
            Ok((stream, times))
        }
    }
}

/// Opens a TCP connection. Returns it with the times of its steps.
pub(crate) async fn connect_tcp(target: &ConnectTarget) -> Result<(TcpStream, DialTimes)> {
    let begun = Instant::now();
    let connected = timeout(target.options.timeout, TcpStream::connect(target.address)).await;
    let stream = connected.unwrap_or_else(|_elapsed| Err(io::ErrorKind::TimedOut.into()));
    let stream = stream.map_err(connect_error)?;
    Ok((stream, DialTimes { begun, connected: Instant::now(), secured: None }))
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
