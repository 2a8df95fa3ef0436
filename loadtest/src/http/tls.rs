//! TLS towards the target.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use thiserror::Error;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_rustls::rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use tokio_rustls::rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use tokio_rustls::rustls::{ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme};

use crate::target::Target;

/// The trust in the target's certificate.
#[derive(Clone, Debug)]
pub(crate) struct TlsOptions {
    config: Arc<ClientConfig>,
}

/// The reason why TLS cannot be set up.
#[derive(Debug, Error)]
pub(crate) enum TlsError {
    /// The file of `--ca` has no usable certificate.
    #[error("--ca {}: expected PEM with at least one certificate: {reason}", path.display())]
    Authority {
        /// The path.
        path: PathBuf,
        /// The fault.
        reason: String,
    },
    /// The cryptography provider does not fit.
    #[error("TLS: {0}")]
    Provider(#[from] tokio_rustls::rustls::Error),
}

impl TlsOptions {
    /// Trusts the certificates of the public authorities, those of `authority` in place of them, or
    /// any certificate.
    pub(crate) fn new(authority: Option<&Path>, insecure: bool) -> Result<Self, TlsError> {
        let provider = Arc::new(ring::default_provider());
        let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
            .with_safe_default_protocol_versions()?;
        let config = if insecure {
            let verifier = Arc::new(AnyCertificate(provider));
            // The certificate is not checked, but the signature of the handshake is: broken TLS
            // still fails.
            builder.dangerous().with_custom_certificate_verifier(verifier).with_no_client_auth()
        } else {
            let roots = match authority {
                Some(path) => read_authority(path)?,
                None => RootCertStore { roots: webpki_roots::TLS_SERVER_ROOTS.to_vec() },
            };
            builder.with_root_certificates(roots).with_no_client_auth()
        };
        Ok(Self { config: Arc::new(config) })
    }

    /// Encrypts a connection.
    pub(super) async fn handshake(
        &self,
        target: &Target,
        stream: TcpStream,
        http2: bool,
    ) -> io::Result<TlsStream<TcpStream>> {
        let mut config = ClientConfig::clone(&self.config);
        if http2 {
            config.alpn_protocols = vec![b"h2".to_vec()];
        }
        let name = ServerName::try_from(target.host().to_owned()).map_err(io::Error::other)?;
        let stream = TlsConnector::from(Arc::new(config)).connect(name, stream).await?;
        // A server without ALPN completes the handshake, and would get the preface as a broken
        // request.
        if http2 && stream.get_ref().1.alpn_protocol() != Some(b"h2") {
            return Err(io::Error::other("the server does not offer HTTP/2 (ALPN)"));
        }
        Ok(stream)
    }
}

fn read_authority(path: &Path) -> Result<RootCertStore, TlsError> {
    let error = |reason: String| TlsError::Authority { path: path.to_owned(), reason };
    let certificates = CertificateDer::pem_file_iter(path).map_err(|cause| error(cause.to_string()))?;
    let mut roots = RootCertStore::empty();
    for certificate in certificates {
        let certificate = certificate.map_err(|cause| error(cause.to_string()))?;
        roots.add(certificate).map_err(|cause| error(cause.to_string()))?;
    }
    // A file without certificates is no error of the PEM reader, and would refuse each server.
    if roots.is_empty() { Err(error("no certificate".to_owned())) } else { Ok(roots) }
}

/// Accepts any certificate, for `--insecure`. Signatures are still checked.
#[derive(Debug)]
struct AnyCertificate(Arc<CryptoProvider>);

impl ServerCertVerifier for AnyCertificate {
    fn verify_server_cert(
        &self,
        _end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, tokio_rustls::rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, tokio_rustls::rustls::Error> {
        verify_tls12_signature(message, cert, dss, &self.0.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, tokio_rustls::rustls::Error> {
        verify_tls13_signature(message, cert, dss, &self.0.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
