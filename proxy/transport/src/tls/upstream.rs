//! TLS towards upstreams: whose certificates are good, and for which name.

use std::{
    fmt,
    hash::{DefaultHasher, Hash, Hasher},
    io,
    path::Path,
    sync::Arc,
};

use once_cell::sync::Lazy;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_rustls::{
    TlsConnector,
    client::TlsStream,
    rustls::{ClientConfig, Error, RootCertStore, crypto::ring, pki_types::ServerName},
};

use super::{
    pem,
    server::{HTTP1, HTTP2},
};

/// Authorities whose certificates upstreams may have.
#[derive(Clone)]
pub struct Authorities {
    client: Arc<ClientConfig>,
    /// The same, for servers that may choose HTTP/2.
    http2: Arc<ClientConfig>,
    /// Tells these from others.
    identity: u64,
}

/// What connections to an upstream are made safe with.
#[derive(Clone, Debug, Hash)]
pub struct Connector {
    name: ServerName<'static>,
    authorities: Authorities,
    /// Whether the server may choose HTTP/2.
    http2: bool,
}

/// Why a connection to an upstream could not be made safe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Distrust {
    /// It could not prove that it is who it should be.
    Certificate,
    /// It speaks no TLS, or none that we do.
    Protocol,
    /// It went away.
    Closed,
}

/// Those that browsers trust, as they were when the proxy was built.
static PUBLIC: Lazy<Result<Authorities, String>> =
    Lazy::new(|| Authorities::new(webpki_roots::TLS_SERVER_ROOTS.iter().cloned().collect()));

impl Authorities {
    /// Those that browsers trust.
    ///
    /// # Errors
    /// When TLS cannot be had at all, which a test excludes.
    pub fn public() -> Result<Self, String> {
        PUBLIC.clone()
    }

    /// Those of a PEM file.
    ///
    /// # Errors
    /// When the file cannot be read, or has something else in it.
    pub fn of_file(path: &Path) -> Result<Self, String> {
        Self::new(pem::authorities(path)?)
    }

    fn new(roots: RootCertStore) -> Result<Self, String> {
        let mut hasher = DefaultHasher::new();
        for authority in &roots.roots {
            (authority.subject.as_ref(), authority.subject_public_key_info.as_ref()).hash(&mut hasher);
        }
        let mut client = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .map_err(|error| error.to_string())?
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
    /// For a server of this name, which may choose HTTP/2 or not; `None` when no certificate could have that name.
    #[must_use]
    pub fn new(name: &str, authorities: Authorities, http2: bool) -> Option<Self> {
        Some(Self { name: ServerName::try_from(name.to_owned()).ok()?, authorities, http2 })
    }

    /// Encrypts a connection.
    ///
    /// # Errors
    /// When the handshake fails, or the server has no certificate that is trusted.
    pub async fn secure<T: AsyncRead + AsyncWrite + Unpin>(&self, stream: T) -> io::Result<TlsStream<T>> {
        let Authorities { client, http2, .. } = &self.authorities;
        let connector = TlsConnector::from(Arc::clone(if self.http2 { http2 } else { client }));
        connector.connect(self.name.clone(), stream).await
    }
}

impl Distrust {
    /// What a failed handshake says of an upstream.
    #[must_use]
    pub fn of(error: &io::Error) -> Self {
        match error.get_ref().and_then(|cause| cause.downcast_ref()) {
            Some(Error::InvalidCertificate(_)) => Self::Certificate,
            Some(_) => Self::Protocol,
            None => Self::Closed,
        }
    }
}
