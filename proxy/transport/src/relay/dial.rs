//! Opens connections to upstreams, with TLS if it is on.

use std::time::{Duration, Instant};

use http::uri::Scheme;
use pingora_core::{
    Error, ErrorType, Result,
    connectors::{ConnectorOptions, TransportConnector},
    protocols::{Stream, tls::ALPN},
    server::configuration::ServerConf,
};
use tokio::time::timeout;

use crate::{
    connect::ConnectTarget,
    http2::tools::{self, Made, Unfriendly},
    tls::{Connector, HandshakeError, SecureStream},
};

/// The dialer of new connections.
pub(crate) struct Dialer(TransportConnector);

/// As often a server is greeted that leaves at once.
const GREETINGS: usize = 3;

impl Dialer {
    pub(crate) fn new(conf: &ServerConf) -> Self {
        Self(TransportConnector::new(Some(ConnectorOptions::from_server_conf(conf))))
    }

    /// Opens a connection, with TLS if it is on.
    pub(crate) async fn make(&self, target: &ConnectTarget) -> Result<Stream> {
        let begun = Instant::now();
        let stream = self.0.new_stream(&target.peer).await?;
        match &target.connector {
            None => Ok(stream),
            // Boxed, so that calls without TLS hold no memory for it.
            Some(connector) => {
                Box::pin(secure(stream, connector, target.timeout.saturating_sub(begun.elapsed()))).await
            }
        }
    }

    /// A new connection in HTTP/2, unless TLS is spoken and the server chooses HTTP/1.1. A server
    /// that speaks HTTP/2 and ends the connection at once, as one does that begins anew, is asked
    /// again.
    pub(super) async fn agree(&self, target: &ConnectTarget) -> Result<Made, ErrorType> {
        let begun = Instant::now();
        for _ in 0..GREETINGS {
            let stream = self.make(target).await.map_err(|error| error.etype().clone())?;
            let scheme = match &target.connector {
                None => Scheme::HTTP,
                Some(_) if stream.selected_alpn_proto() == Some(ALPN::H2) => Scheme::HTTPS,
                Some(_) => return Ok(Made::Http1(stream)),
            };
            let left = target.timeout.saturating_sub(begun.elapsed());
            match timeout(left, tools::greet(stream, scheme)).await {
                Ok(Ok(made)) => return Ok(made),
                Ok(Err(Unfriendly::Left)) => {}
                Ok(Err(Unfriendly::Closed)) => break,
                Ok(Err(Unfriendly::Malformed)) => return Err(ErrorType::InvalidH2),
                Err(_elapsed) => return Err(ErrorType::ConnectTimedout),
            }
        }
        Err(ErrorType::ConnectionClosed)
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
