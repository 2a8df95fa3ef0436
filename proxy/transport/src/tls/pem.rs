//! Certificates and keys as they lie in files. Messages name the file and what is wrong, never what is in it.

use std::path::Path;

use tokio_rustls::rustls::{
    RootCertStore,
    pki_types::{
        CertificateDer, PrivateKeyDer,
        pem::{self, PemObject},
    },
};

/// A chain of certificates, the server's own first.
///
/// # Errors
/// When the file cannot be read, is not PEM or has no certificate.
pub fn chain(path: &Path) -> Result<Vec<CertificateDer<'static>>, String> {
    let text = read(path)?;
    let chain = CertificateDer::pem_slice_iter(&text).collect::<Result<Vec<_>, _>>();
    match chain.map_err(|error| broken(path, &error))? {
        chain if chain.is_empty() => Err(format!("{} holds no certificate in PEM", path.display())),
        chain => Ok(chain),
    }
}

/// The first private key: PKCS #8, PKCS #1 or SEC1, not encrypted.
///
/// # Errors
/// When the file cannot be read, is not PEM or has no such key.
pub fn key(path: &Path) -> Result<PrivateKeyDer<'static>, String> {
    match PrivateKeyDer::from_pem_slice(&read(path)?) {
        Ok(key) => Ok(key),
        Err(pem::Error::NoItemsFound) => {
            Err(format!("{} holds no private key in PEM that is not encrypted", path.display()))
        }
        Err(error) => Err(broken(path, &error)),
    }
}

/// Authorities whose certificates are good.
///
/// # Errors
/// As [`chain`], and when one of them is no certificate of an authority.
pub fn authorities(path: &Path) -> Result<RootCertStore, String> {
    let mut roots = RootCertStore::empty();
    for (place, certificate) in chain(path)?.into_iter().enumerate() {
        roots.add(certificate).map_err(|_| {
            format!("certificate {} in {} cannot be that of an authority", place + 1, path.display())
        })?;
    }
    Ok(roots)
}

fn read(path: &Path) -> Result<Vec<u8>, String> {
    std::fs::read(path).map_err(|error| format!("{} cannot be read: {error}", path.display()))
}

/// Without the library's own words: they repeat lines of the file.
fn broken(path: &Path, error: &pem::Error) -> String {
    let what = match error {
        pem::Error::MissingSectionEnd { .. } => "a section has no end",
        pem::Error::IllegalSectionStart { .. } => "a section does not begin as it should",
        pem::Error::Base64Decode(_) => "a section is not base64",
        pem::Error::SectionTooLarge => "a section is too large",
        _ => "it cannot be understood",
    };
    format!("{} is not PEM: {what}", path.display())
}
