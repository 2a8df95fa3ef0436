//! TLS towards upstreams: trusted authorities, and the name that a certificate must be valid for.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::Path;
use std::sync::Arc;
use std::{fmt, io};

use once_cell::sync::Lazy;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::ServerName;
use tokio_rustls::rustls::{ClientConfig, Error, RootCertStore};

use super::protocol::{HTTP1, HTTP2};
use super::{TlsError, pem};

/// The authorities that upstreams' certificates must be of.
#[derive(Clone)]
pub struct Authorities {
    client: Arc<ClientConfig>,
    /// The same settings with HTTP/2 offered.
    http2: Arc<ClientConfig>,
    /// A hash of the authorities.
    identity: u64,
}

/// The TLS settings of connections to one upstream.
#[derive(Clone, Debug, Hash)]
pub struct Connector {
    name: ServerName<'static>,
    authorities: Authorities,
    /// Whether HTTP/2 is offered.
    http2: bool,
}

/// The error of a TLS handshake with an upstream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HandshakeError {
    /// The certificate of the upstream is invalid.
    Certificate,
    /// The upstream does not speak TLS, or no version of it in common.
    Protocol,
    /// The upstream closed the connection.
    Closed,
}

/// The authorities that browsers trust, as of the build.
static PUBLIC: Lazy<Result<Authorities, Error>> =
    Lazy::new(|| Authorities::new(webpki_roots::TLS_SERVER_ROOTS.iter().cloned().collect()));

impl Authorities {
    /// Returns the authorities that browsers trust.
    ///
    /// # Errors
    /// Returns an error if the TLS library cannot be set up.
    pub fn public() -> Result<Self, TlsError> {
        PUBLIC.clone().map_err(TlsError::Setup)
    }

    /// Parses the authorities in the content of the PEM file at `path`.
    ///
    /// # Errors
    /// Returns an error if the text contains anything else.
    pub fn of_pem(path: &Path, text: &[u8]) -> Result<Self, TlsError> {
        Ok(Self::new(pem::authorities(path, text)?)?)
    }

    /// Returns no authorities: no certificate is accepted.
    ///
    /// # Errors
    /// Returns an error if the TLS library cannot be set up.
    pub fn none() -> Result<Self, TlsError> {
        Ok(Self::new(RootCertStore::empty())?)
    }

    fn new(roots: RootCertStore) -> Result<Self, Error> {
        let mut hasher = DefaultHasher::new();
        for authority in &roots.roots {
            (authority.subject.as_ref(), authority.subject_public_key_info.as_ref()).hash(&mut hasher);
        }
        let mut client = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()?
            .with_root_certificates(roots)
            .with_no_client_auth();
        client.alpn_protocols = vec![HTTP1.to_vec()];
        let mut http2 = client.clone();
        http2.alpn_protocols = vec![HTTP2.to_vec(), HTTP1.to_vec()];
        Ok(Self { client: Arc::new(client), http2: Arc::new(http2), identity: hasher.finish() })
    }
}

impl Hash for Authorities {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.identity.hash(state);
    }
}

impl fmt::Debug for Authorities {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Authorities").field("identity", &self.identity).finish_non_exhaustive()
    }
}

impl Connector {
    /// Returns the settings for a server of this name. `http2` offers HTTP/2. Returns `None` if the
    /// name cannot be that of a certificate.
    pub fn new(name: &str, authorities: Authorities, http2: bool) -> Option<Self> {
        Some(Self { name: ServerName::try_from(name.to_owned()).ok()?, authorities, http2 })
    }

    /// Does the handshake of a connection.
    ///
    /// # Errors
    /// Returns an error if the handshake fails, or the certificate of the server is not trusted.
    pub async fn secure<T: AsyncRead + AsyncWrite + Unpin>(&self, stream: T) -> io::Result<TlsStream<T>> {
        let Authorities { client, http2, .. } = &self.authorities;
        let connector = TlsConnector::from(Arc::clone(if self.http2 { http2 } else { client }));
        connector.connect(self.name.clone(), stream).await
    }
}

impl HandshakeError {
    /// Returns the kind of an error of [`Connector::secure`].
    pub(crate) fn of(error: &io::Error) -> Self {
        match error.get_ref().and_then(|cause| cause.downcast_ref()) {
            Some(Error::InvalidCertificate(_)) => Self::Certificate,
            Some(_) => Self::Protocol,
            None => Self::Closed,
        }
    }
}
