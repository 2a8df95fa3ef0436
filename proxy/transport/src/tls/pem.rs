//! Parses certificates and keys of PEM files.

use std::path::Path;

use tokio_rustls::rustls::RootCertStore;
use tokio_rustls::rustls::pki_types::pem::{self, PemObject};
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};

use x509_parser::parse_x509_certificate;

use super::TlsError;

/// Parses a chain of certificates, which is the content of `path`. The first is that of the server.
///
/// # Errors
/// Returns an error if the text is not PEM or contains no certificate.
pub fn chain(path: &Path, text: &[u8]) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let chain = CertificateDer::pem_slice_iter(text).collect::<Result<Vec<_>, _>>();
    match chain.map_err(|error| TlsError::not_pem(path, &error))? {
        chain if chain.is_empty() => Err(TlsError::NoCertificate { path: path.to_owned() }),
        chain => Ok(chain),
    }
}

/// Parses the first private key, in the content of `path`: PKCS #8, PKCS #1 or SEC1, not encrypted.
///
/// # Errors
/// Returns an error if the text is not PEM, or contains no such key or an encrypted one.
pub fn key(path: &Path, text: &[u8]) -> Result<PrivateKeyDer<'static>, TlsError> {
    match PrivateKeyDer::from_pem_slice(text) {
        Ok(key) => Ok(key),
        // The library says only that it found no key or cannot parse it, which does not help
        // whoever sees one in the file.
        Err(_) if is_encrypted(text) => Err(TlsError::EncryptedKey { path: path.to_owned() }),
        Err(pem::Error::NoItemsFound) => Err(TlsError::NoKey { path: path.to_owned() }),
        Err(error) => Err(TlsError::not_pem(path, &error)),
    }
}

/// Returns true if a file has an encrypted key: PKCS #8 by its section, or PKCS #1 or SEC1 by its
/// header (RFC 1421, section 4.6.1.1).
fn is_encrypted(text: &[u8]) -> bool {
    let marks: [&[u8]; 2] = [b"-----BEGIN ENCRYPTED PRIVATE KEY-----", b"Proc-Type: 4,ENCRYPTED"];
    marks.into_iter().any(|mark| memchr::memmem::find(text, mark).is_some())
}

/// Returns true if a certificate has signed no other: another one has signed it, and it may not sign. One that
/// has signed itself can be trusted alone.
fn is_leaf(certificate: &CertificateDer<'_>) -> bool {
    parse_x509_certificate(certificate).is_ok_and(|(_, certificate)| {
        let is_authority = certificate.basic_constraints().ok().flatten().is_some_and(|found| found.value.ca);
        !is_authority && certificate.subject() != certificate.issuer()
    })
}

/// Parses the certificates of trusted authorities, which are the content of `path`.
///
/// # Errors
/// Returns the errors of [`chain`], and an error if a certificate is not that of an authority.
pub fn authorities(path: &Path, text: &[u8]) -> Result<RootCertStore, TlsError> {
    let mut roots = RootCertStore::empty();
    let certificates = chain(path, text)?;
    // A chain may have a server's own as well, which does no harm.
    if certificates.iter().all(|certificate| is_leaf(certificate)) {
        return Err(TlsError::NotAuthority { path: path.to_owned(), number: 1 });
    }
    for (index, certificate) in certificates.into_iter().enumerate() {
        let number = index + 1;
        roots.add(certificate).map_err(|_| TlsError::NotAuthority { path: path.to_owned(), number })?;
    }
    Ok(roots)
}
