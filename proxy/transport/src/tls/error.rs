//! Errors of TLS settings. No message contains anything of a certificate or a key.

use std::path::{Path, PathBuf};

use thiserror::Error;
use tokio_rustls::rustls::pki_types::pem;
use tokio_rustls::rustls::server::VerifierBuilderError;
use tokio_rustls::rustls::{self};

/// An error in the TLS settings of clients or upstreams.
#[derive(Debug, Error)]
pub enum TlsError {
    /// A file is not PEM.
    #[error("{path} is not PEM: {reason}", path = path.display())]
    NotPem {
        /// The file.
        path: PathBuf,
        /// The fault, without text of the file.
        reason: &'static str,
    },
    /// A file has no certificate.
    #[error("{path} contains no certificate: expected a CERTIFICATE section in PEM", path = path.display())]
    NoCertificate {
        /// The file.
        path: PathBuf,
    },
    /// A file has no private key that can be read.
    #[error("{path} contains no private key: expected PKCS #8, PKCS #1 or SEC1 in PEM", path = path.display())]
    NoKey {
        /// The file.
        path: PathBuf,
    },
    /// A private key is encrypted.
    #[error("{path} is encrypted with a passphrase: expected a key without one; `openssl pkey` decrypts it", path = path.display())]
    EncryptedKey {
        /// The file.
        path: PathBuf,
    },
    /// A certificate is not that of an authority.
    #[error("certificate {number} in {path} is not a certificate of an authority", path = path.display())]
    NotAuthority {
        /// The file.
        path: PathBuf,
        /// The position of the certificate in the file, from 1.
        number: usize,
    },
    /// The chain has no certificate.
    #[error("the certificate chain is empty: expected at least the certificate of the server")]
    EmptyChain,
    /// The certificate of the server cannot be parsed.
    #[error("the certificate of the server is not X.509")]
    NotX509,
    /// The certificate of the server is not the first of the chain.
    #[error(
        "the key belongs to certificate {number} of the chain: expected the certificate of the server first, and after each one that of its issuer"
    )]
    WrongOrder {
        /// The position of the server's certificate, from 1.
        number: usize,
    },
    /// The RSA key is shorter than any client accepts.
    #[error("the RSA key has {bits} bits: expected 2048 to 8192")]
    ShortRsaKey {
        /// The length of the key.
        bits: usize,
    },
    /// The key and the certificate differ.
    #[error("the key does not belong to the certificate")]
    KeyMismatch,
    /// The type of the key is not supported.
    #[error("unsupported type of key: expected ECDSA P-256 or P-384, Ed25519, or RSA of 2048 to 8192 bits")]
    UnsupportedKey,
    /// The authorities of client certificates cannot be used.
    #[error("the authorities of client certificates cannot be used: {0}")]
    ClientAuthorities(#[from] VerifierBuilderError),
    /// The TLS library failed.
    #[error("TLS setup failed: {0}")]
    Setup(#[from] rustls::Error),
}

impl TlsError {
    /// Returns the error of a file that is not PEM. The message of the library is dropped, because
    /// it quotes the file.
    pub(super) fn not_pem(path: &Path, error: &pem::Error) -> Self {
        let reason = match error {
            pem::Error::MissingSectionEnd { .. } => "a section has no end",
            pem::Error::IllegalSectionStart { .. } => "the start of a section is malformed",
            pem::Error::Base64Decode(_) => "a section is not base64",
            pem::Error::SectionTooLarge => "a section is too large",
            _ => "it cannot be parsed",
        };
        Self::NotPem { path: path.to_owned(), reason }
    }
}
