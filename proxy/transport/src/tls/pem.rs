//! Reads certificates and keys from PEM files.

use std::path::Path;

use tokio_rustls::rustls::{
    RootCertStore,
    pki_types::{
        CertificateDer, PrivateKeyDer,
        pem::{self, PemObject},
    },
};

use super::TlsError;

/// Reads a chain of certificates. The first is that of the server.
///
/// # Errors
/// Returns an error if the file cannot be read, is not PEM or contains no certificate.
pub fn chain(path: &Path) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let text = read(path)?;
    let chain = CertificateDer::pem_slice_iter(&text).collect::<Result<Vec<_>, _>>();
    match chain.map_err(|error| TlsError::not_pem(path, &error))? {
        chain if chain.is_empty() => Err(TlsError::NoCertificate { path: path.to_owned() }),
        chain => Ok(chain),
    }
}

/// Reads the first private key: PKCS #8, PKCS #1 or SEC1, not encrypted.
///
/// # Errors
/// Returns an error if the file cannot be read, is not PEM or contains no such key.
pub fn key(path: &Path) -> Result<PrivateKeyDer<'static>, TlsError> {
    match PrivateKeyDer::from_pem_slice(&read(path)?) {
        Ok(key) => Ok(key),
        Err(pem::Error::NoItemsFound) => Err(TlsError::NoKey { path: path.to_owned() }),
        Err(error) => Err(TlsError::not_pem(path, &error)),
    }
}

/// Reads the certificates of trusted authorities.
///
/// # Errors
/// Returns the errors of [`chain`], and an error if a certificate is not that of an authority.
pub fn authorities(path: &Path) -> Result<RootCertStore, TlsError> {
    let mut roots = RootCertStore::empty();
    for (index, certificate) in chain(path)?.into_iter().enumerate() {
        let number = index + 1;
        roots.add(certificate).map_err(|_| TlsError::NotAuthority { path: path.to_owned(), number })?;
    }
    Ok(roots)
}

fn read(path: &Path) -> Result<Vec<u8>, TlsError> {
    std::fs::read(path).map_err(|source| TlsError::Unreadable { path: path.to_owned(), source })
}
