//! TLS 1.3: a certificate for the peers, and connections that trust it.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rcgen::generate_simple_self_signed;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_rustls::rustls::client::Resumption;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::ServerName;
use tokio_rustls::rustls::version::TLS13;
use tokio_rustls::rustls::{ClientConfig, RootCertStore};

/// The name in the certificate.
const NAME: &str = "gateway.test";

/// A certificate in files, and what clients that trust it need.
pub(crate) struct Certificate {
    pub(crate) certificate: PathBuf,
    pub(crate) key: PathBuf,
    /// Certificate and key in one file, as HAProxy reads them.
    pub(crate) both: PathBuf,
    http1: TlsConnector,
    http2: TlsConnector,
}

impl Certificate {
    /// Creates a certificate with a key on P-256, and writes both into a folder.
    ///
    /// # Errors
    /// Returns an error if the files cannot be written.
    pub(crate) fn create(folder: &Path) -> io::Result<Self> {
        let created = generate_simple_self_signed([NAME.to_owned()]).map_err(io::Error::other)?;
        let (certificate, key) = (created.cert.pem(), created.signing_key.serialize_pem());
        let [certificate_file, key_file, both] =
            ["certificate.pem", "key.pem", "both.pem"].map(|name| folder.join(name));
        fs::write(&certificate_file, &certificate)?;
        fs::write(&key_file, &key)?;
        fs::write(&both, certificate + &key)?;
        let mut roots = RootCertStore::empty();
        roots.add(created.cert.der().clone()).map_err(io::Error::other)?;
        let connector = |protocol: &[u8]| {
            let builder = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()));
            let builder = builder.with_protocol_versions(&[&TLS13]).map_err(io::Error::other)?;
            let mut config = builder.with_root_certificates(roots.clone()).with_no_client_auth();
            // A new connection is a whole handshake.
            config.resumption = Resumption::disabled();
            config.alpn_protocols = vec![protocol.to_vec()];
            Ok::<_, io::Error>(TlsConnector::from(Arc::new(config)))
        };
        let (http1, http2) = (connector(b"http/1.1")?, connector(b"h2")?);
        Ok(Self { certificate: certificate_file, key: key_file, both, http1, http2 })
    }

    /// Does the handshake of a client that speaks HTTP/2, or HTTP/1.1.
    ///
    /// # Errors
    /// Returns the error of the handshake.
    pub(crate) async fn connect(&self, stream: TcpStream, http2: bool) -> io::Result<TlsStream<TcpStream>> {
        let connector = if http2 { &self.http2 } else { &self.http1 };
        let name = ServerName::try_from(NAME).map_err(io::Error::other)?;
        connector.connect(name, stream).await
    }
}
