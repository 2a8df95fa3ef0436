//! What the proxy shows to clients and asks of them.

use std::{fmt, sync::Arc};

use tokio_rustls::rustls::{
    Error, RootCertStore, ServerConfig, SupportedProtocolVersion,
    crypto::ring,
    pki_types::{CertificateDer, PrivateKeyDer},
    server::WebPkiClientVerifier,
    sign::{CertifiedKey, SingleCertAndKey},
    version::{TLS12, TLS13},
};
use x509_parser::parse_x509_certificate;

/// A certificate with its key, ready to be used.
#[derive(Clone)]
pub struct ServerTls {
    pub(super) config: Arc<ServerConfig>,
    pub(super) starts_at: i64,
    pub(super) expires_at: i64,
}

/// The oldest version of TLS that clients may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MinVersion {
    /// 1.2.
    Tls12,
    /// 1.3.
    Tls13,
}

/// HTTP/2 as it is called in a handshake (RFC 7301).
pub(super) const HTTP2: &[u8] = b"h2";
pub(super) const HTTP1: &[u8] = b"http/1.1";
const TLS12_UP: &[&SupportedProtocolVersion] = &[&TLS13, &TLS12];
const TLS13_UP: &[&SupportedProtocolVersion] = &[&TLS13];

impl ServerTls {
    /// A server with this chain, its own certificate first. With `clients` only those get in that have a certificate
    /// of one of these authorities. With `http2` they may choose it.
    ///
    /// # Errors
    /// What is wrong, in words.
    pub fn new(
        chain: Vec<CertificateDer<'static>>,
        key: PrivateKeyDer<'static>,
        clients: Option<RootCertStore>,
        min_version: MinVersion,
        http2: bool,
    ) -> Result<Self, String> {
        let own = chain.first().ok_or("there is no certificate")?;
        let (starts_at, expires_at) = parse_x509_certificate(own)
            .map(|(_, certificate)| certificate.validity().clone())
            .map(|validity| (validity.not_before.timestamp(), validity.not_after.timestamp()))
            .map_err(|_| "the certificate is not X.509".to_owned())?;
        let provider = Arc::new(ring::default_provider());
        let versions = match min_version {
            MinVersion::Tls12 => TLS12_UP,
            MinVersion::Tls13 => TLS13_UP,
        };
        let identity = CertifiedKey::from_der(chain, key, &provider).map_err(|error| match error {
            Error::InconsistentKeys(_) => "the key does not belong to the certificate".to_owned(),
            _ => "the key is of no kind that can be used; take ECDSA P-256, Ed25519 or RSA".to_owned(),
        })?;
        let builder = ServerConfig::builder_with_provider(Arc::clone(&provider))
            .with_protocol_versions(versions)
            .map_err(|error| error.to_string())?;
        let builder = match clients {
            None => builder.with_no_client_auth(),
            Some(roots) => builder.with_client_cert_verifier(
                WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider)
                    .build()
                    .map_err(|error| error.to_string())?,
            ),
        };
        let mut config = builder.with_cert_resolver(Arc::new(SingleCertAndKey::from(identity)));
        let protocols = if http2 { [HTTP2, HTTP1].as_slice() } else { &[HTTP1] };
        config.alpn_protocols = protocols.iter().map(|protocol| protocol.to_vec()).collect();
        // Clients come back without a whole handshake, and nothing is kept for them. The keys are this configuration's
        // own: who was let in under another one has to prove itself anew.
        config.ticketer = ring::Ticketer::new().map_err(|error| error.to_string())?;
        Ok(Self { config: Arc::new(config), starts_at, expires_at })
    }
}

impl fmt::Debug for ServerTls {
    /// Without the key.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServerTls").field("expires_at", &self.expires_at).finish_non_exhaustive()
    }
}
