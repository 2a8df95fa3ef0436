//! TLS towards clients: the settings and the handshake.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use pingora::protocols::Stream;
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::crypto::{CryptoProvider, ring};
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::rustls::server::WebPkiClientVerifier;
use tokio_rustls::rustls::sign::{CertifiedKey, SingleCertAndKey};
use tokio_rustls::rustls::version::{TLS12, TLS13};
use tokio_rustls::rustls::{CertificateError, Error, RootCertStore, ServerConfig, SupportedProtocolVersion};
use x509_parser::parse_x509_certificate;
use x509_parser::public_key::PublicKey;

use super::protocol::{HTTP1, HTTP2};
use super::{Handshake, SecureStream, TlsError};

/// The TLS settings of a listener: a certificate with its key, and the clients that are accepted.
#[derive(Clone)]
pub struct ServerTls {
    config: Arc<ServerConfig>,
    starts_at: i64,
    expires_at: i64,
}

/// The minimum version of TLS.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MinVersion {
    /// TLS 1.2.
    Tls12,
    /// TLS 1.3.
    Tls13,
}

/// Minimum length of an RSA key.
const MIN_RSA_BITS: usize = 2_048;

const TLS12_UP: &[&SupportedProtocolVersion] = &[&TLS13, &TLS12];
const TLS13_UP: &[&SupportedProtocolVersion] = &[&TLS13];

impl ServerTls {
    /// Returns the settings of a server with this chain, whose first certificate is its own. If
    /// `client_ca` is set, clients need a certificate of one of these authorities. `http2` offers
    /// HTTP/2 to clients.
    ///
    /// # Errors
    /// Returns an error if the certificate and the key cannot be used together.
    pub fn new(
        chain: Vec<CertificateDer<'static>>,
        key: PrivateKeyDer<'static>,
        client_ca: Option<RootCertStore>,
        min_version: MinVersion,
        http2: bool,
    ) -> Result<Self, TlsError> {
        let own = chain.first().ok_or(TlsError::EmptyChain)?;
        let (_, parsed) = parse_x509_certificate(own).map_err(|_| TlsError::NotX509)?;
        let validity = parsed.validity();
        let (starts_at, expires_at) = (validity.not_before.timestamp(), validity.not_after.timestamp());
        let rsa_bits = match parsed.public_key().parsed() {
            Ok(PublicKey::RSA(key)) => Some(key.key_size()),
            Ok(_) | Err(_) => None,
        };
        let provider = Arc::new(ring::default_provider());
        let versions = match min_version {
            MinVersion::Tls12 => TLS12_UP,
            MinVersion::Tls13 => TLS13_UP,
        };
        let identity = CertifiedKey::from_der(chain.clone(), key.clone_key(), &provider);
        let identity = identity.map_err(|error| match (error, rsa_bits) {
            (Error::InconsistentKeys(_), _) => match position(&chain, &key, &provider) {
                Some(number) => TlsError::WrongOrder { number },
                None => TlsError::KeyMismatch,
            },
            // The library does not say that the length is at fault.
            (_, Some(bits)) if bits < MIN_RSA_BITS => TlsError::ShortRsaKey { bits },
            _ => TlsError::UnsupportedKey,
        })?;
        let builder =
            ServerConfig::builder_with_provider(Arc::clone(&provider)).with_protocol_versions(versions)?;
        let builder = match client_ca {
            None => builder.with_no_client_auth(),
            Some(roots) => builder.with_client_cert_verifier(
                WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider).build()?,
            ),
        };
        let mut config = builder.with_cert_resolver(Arc::new(SingleCertAndKey::from(identity)));
        let protocols = if http2 { [HTTP2, HTTP1].as_slice() } else { &[HTTP1] };
        config.alpn_protocols = protocols.iter().map(|protocol| protocol.to_vec()).collect();
        // Clients resume sessions with tickets, so that the proxy stores nothing for them. The
        // ticket keys belong to this configuration: a client that another configuration accepted
        // must present its certificate again.
        config.ticketer = ring::Ticketer::new()?;
        Ok(Self { config: Arc::new(config), starts_at, expires_at })
    }

    /// Returns the end of the certificate's validity, in seconds since 1970.
    pub const fn expires_at(&self) -> i64 {
        self.expires_at
    }

    /// Returns the start of the certificate's validity, in seconds since 1970.
    pub const fn starts_at(&self) -> i64 {
        self.starts_at
    }

    /// Does the handshake of a connection.
    ///
    /// # Errors
    /// Returns the outcome if the handshake fails or takes longer than `time`. The client has
    /// received an alert, if TLS has one for the error.
    pub(crate) async fn accept(
        &self,
        stream: Stream,
        time: Duration,
    ) -> Result<Box<SecureStream>, Handshake> {
        let acceptor = TlsAcceptor::from(Arc::clone(&self.config));
        match timeout(time, acceptor.accept(stream)).await {
            Ok(Ok(stream)) => Ok(Box::new(SecureStream::new(stream.into()))),
            Ok(Err(error)) => {
                let outcome = Handshake::of(&error);
                match error.get_ref().and_then(|cause| cause.downcast_ref()) {
                    // The client controls the text of its certificate, so it is not logged.
                    Some(Error::InvalidCertificate(fault)) => {
                        let reason = certificate_fault(fault);
                        // Nothing else renews the certificate of the edge before its calls fail here.
                        let level = match outcome {
                            Handshake::ExpiredCertificate => log::Level::Warn,
                            _ => log::Level::Info,
                        };
                        log::log!(
                            level,
                            "tls handshake failed: outcome={} reason=\"{reason}\"",
                            outcome.into_str()
                        );
                    }
                    _ => log::info!("tls handshake failed: outcome={}", outcome.into_str()),
                }
                Err(outcome)
            }
            Err(_elapsed) => {
                log::info!("tls handshake failed: outcome=timeout limit_ms={}", time.as_millis());
                Err(Handshake::Timeout)
            }
        }
    }
}

impl fmt::Debug for ServerTls {
    /// Omits the key.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServerTls").field("expires_at", &self.expires_at).finish_non_exhaustive()
    }
}

/// Returns the position of a key's certificate in a chain, from 1.
fn position(
    chain: &[CertificateDer<'static>],
    key: &PrivateKeyDer<'static>,
    provider: &CryptoProvider,
) -> Option<usize> {
    let is_own = |certificate: &CertificateDer<'static>| {
        CertifiedKey::from_der(vec![certificate.clone()], key.clone_key(), provider).is_ok()
    };
    chain.iter().position(is_own).map(|index| index + 1)
}

const fn certificate_fault(fault: &CertificateError) -> &'static str {
    match fault {
        CertificateError::Expired | CertificateError::ExpiredContext { .. } => "expired",
        CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => "not valid yet",
        CertificateError::UnknownIssuer => "issuer not in client_ca",
        CertificateError::BadSignature => "invalid signature",
        CertificateError::InvalidPurpose | CertificateError::InvalidPurposeContext { .. } => {
            "not a client certificate"
        }
        _ => "malformed",
    }
}
