//! Opens connections to upstreams, with TLS if it is on.

use std::time::{Duration, Instant};

use pingora::connectors::{ConnectorOptions, TransportConnector};
use pingora::protocols::Stream;
use pingora::server::configuration::ServerConf;
use pingora::{Error, ErrorType, Result};
use tokio::time::timeout;

use crate::connect::ConnectTarget;
use crate::tls::{Connector, HandshakeError, SecureStream};

/// The dialer of new connections.
pub(crate) struct Dialer(TransportConnector);

impl Dialer {
    pub(crate) fn new(conf: &ServerConf) -> Self {
        Self(TransportConnector::new(Some(ConnectorOptions::from_server_conf(conf))))
    }

    /// Opens a connection, with TLS if it is on.
    pub(crate) async fn make(&self, target: &ConnectTarget) -> Result<Stream> {
        let begun = Instant::now();
        let stream = self.0.new_stream(&target.peer).await?;
        // Not Pingora's TLS: it keeps no cause of a failure, and panics if an authority of the
        // system is unreadable.
        match &target.connector {
            None => Ok(stream),
            // Boxed, so that calls without TLS hold no memory for it.
            Some(connector) => {
                Box::pin(secure(stream, connector, target.timeout.saturating_sub(begun.elapsed()))).await
            }
        }
    }
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
