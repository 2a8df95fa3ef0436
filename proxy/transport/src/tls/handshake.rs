//! Outcomes of TLS handshakes.

use std::io;

use strum::{IntoStaticStr, VariantArray};
use tokio_rustls::rustls::{CertificateError, Error};

/// The outcome of a TLS handshake with a client. Its name in metrics and logs is in kebab case.
#[derive(Clone, Copy, Debug, PartialEq, Eq, VariantArray, IntoStaticStr)]
#[strum(const_into_str, serialize_all = "kebab-case")]
pub enum Handshake {
    /// The connection is encrypted.
    Done,
    /// The handshake was not complete in time.
    Timeout,
    /// The client closed the connection.
    Closed,
    /// The bytes of the client are not TLS.
    NotTls,
    /// Client and proxy have no version or cipher in common.
    Incompatible,
    /// The client sent no certificate, which is required.
    NoCertificate,
    /// The client's certificate is invalid: of another authority, or not the client's.
    BadCertificate,
    /// The client's certificate has expired.
    ExpiredCertificate,
    /// The client sent an alert, for example because it does not trust the proxy.
    ClientRefused,
    /// Any other error.
    Broken,
}

impl Handshake {
    pub(super) fn of(error: &io::Error) -> Self {
        match error.get_ref().and_then(|cause| cause.downcast_ref()) {
            None => Self::Closed,
            Some(Error::InvalidMessage(_)) => Self::NotTls,
            Some(Error::PeerIncompatible(_) | Error::NoApplicationProtocol) => Self::Incompatible,
            Some(Error::NoCertificatesPresented) => Self::NoCertificate,
            Some(Error::InvalidCertificate(
                CertificateError::Expired | CertificateError::ExpiredContext { .. },
            )) => Self::ExpiredCertificate,
            Some(Error::InvalidCertificate(_)) => Self::BadCertificate,
            Some(Error::AlertReceived(_)) => Self::ClientRefused,
            Some(_) => Self::Broken,
        }
    }
}
