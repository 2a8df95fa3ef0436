//! TLS towards clients: who the proxy is, whom it lets in, and the handshake; and towards upstreams: whom it trusts.

pub mod pem;
mod server;
mod stream;
mod upstream;

use std::{io, sync::Arc, time::Duration};

use pingora_core::protocols::Stream;
pub use server::{MinVersion, ServerTls};
pub use stream::Secured;
use tokio::time::timeout;
use tokio_rustls::{
    TlsAcceptor,
    rustls::{CertificateError, CommonState, Error},
};
pub use upstream::{Authorities, Connector, Distrust};

/// What a handshake came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Handshake {
    /// A connection.
    Done,
    /// The client took too long.
    Timeout,
    /// The client went away.
    Closed,
    /// The client did not speak TLS.
    NotTls,
    /// Client and proxy have no version or cipher in common.
    Incompatible,
    /// The client has no certificate, and needs one.
    NoCertificate,
    /// The client's certificate is not good: of another authority, expired, or not the client's.
    BadCertificate,
    /// The client does not trust the proxy, or gave up for another reason that it told.
    ClientRefused,
    /// Something else.
    Broken,
}

impl Handshake {
    /// Every one there is.
    pub const ALL: [Self; 9] = [
        Self::Done,
        Self::Timeout,
        Self::Closed,
        Self::NotTls,
        Self::Incompatible,
        Self::NoCertificate,
        Self::BadCertificate,
        Self::ClientRefused,
        Self::Broken,
    ];

    /// Its name in metrics and logs.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Timeout => "timeout",
            Self::Closed => "closed",
            Self::NotTls => "not-tls",
            Self::Incompatible => "incompatible",
            Self::NoCertificate => "no-certificate",
            Self::BadCertificate => "bad-certificate",
            Self::ClientRefused => "client-refused",
            Self::Broken => "broken",
        }
    }

    fn of(error: &io::Error) -> Self {
        match error.get_ref().and_then(|cause| cause.downcast_ref()) {
            None => Self::Closed,
            Some(Error::InvalidMessage(_)) => Self::NotTls,
            Some(Error::PeerIncompatible(_) | Error::NoApplicationProtocol) => Self::Incompatible,
            Some(Error::NoCertificatesPresented) => Self::NoCertificate,
            Some(Error::InvalidCertificate(_)) => Self::BadCertificate,
            Some(Error::AlertReceived(_)) => Self::ClientRefused,
            Some(_) => Self::Broken,
        }
    }
}

impl ServerTls {
    /// When the proxy's own certificate ends, in seconds since 1970.
    #[must_use]
    pub const fn expires_at(&self) -> i64 {
        self.expires_at
    }

    /// Returns from when on the certificate is good, in seconds since 1970.
    #[must_use]
    pub const fn starts_at(&self) -> i64 {
        self.starts_at
    }

    /// Makes a connection safe.
    ///
    /// # Errors
    /// When that failed, or took longer than `time`. The client was told so as far as TLS has words for it.
    pub async fn accept(&self, stream: Stream, time: Duration) -> Result<Box<Secured>, Handshake> {
        let acceptor = TlsAcceptor::from(Arc::clone(&self.config));
        match timeout(time, acceptor.accept(stream)).await {
            Ok(Ok(stream)) => Ok(Box::new(Secured::new(stream.into()))),
            Ok(Err(error)) => {
                let outcome = Handshake::of(&error);
                match error.get_ref().and_then(|cause| cause.downcast_ref()) {
                    // What a certificate says of itself is the client's to write: it does not belong into a log.
                    Some(Error::InvalidCertificate(fault)) => {
                        log::info!("a TLS handshake failed: {}: {}", outcome.as_str(), fault_of(fault));
                    }
                    _ => log::info!("a TLS handshake failed: {}", outcome.as_str()),
                }
                Err(outcome)
            }
            Err(_elapsed) => {
                log::info!("a TLS handshake took longer than {time:?}");
                Err(Handshake::Timeout)
            }
        }
    }
}

/// Whether both ends of a connection have agreed on HTTP/2.
#[must_use]
pub fn speaks_http2(connection: &CommonState) -> bool {
    connection.alpn_protocol() == Some(server::HTTP2)
}

fn fault_of(fault: &CertificateError) -> &'static str {
    match fault {
        CertificateError::Expired | CertificateError::ExpiredContext { .. } => "it has expired",
        CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => "it is not valid yet",
        CertificateError::UnknownIssuer => "its issuer is not one of client_ca",
        CertificateError::BadSignature => "its signature is wrong",
        CertificateError::InvalidPurpose | CertificateError::InvalidPurposeContext { .. } => {
            "it is not made for clients"
        }
        _ => "it is not well-formed",
    }
}
