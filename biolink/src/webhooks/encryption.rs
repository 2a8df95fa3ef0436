//! Secrets encrypted at rest: XChaCha20-Poly1305 under keys of `WEBHOOK_ENCRYPTION_SECRET`.

use base64::{Engine as _, engine::general_purpose::STANDARD_NO_PAD};
use chacha20poly1305::{
    KeyInit, XChaCha20Poly1305,
    aead::{Aead, Payload},
};
use serde::{Deserialize, Serialize};
use shared::secret::{MacKey, MacKeys, SecretError};
use thiserror::Error;

use super::WebhookSecret;

/// 24 random bytes, drawn for each secret that is encrypted. They are long enough never to repeat.
pub type Nonce = [u8; 24];

const CONTEXT: &[u8] = b"utg.webhook-encryption.v1";

/// The keys under which secrets are stored. The first encrypts, and each decrypts what names its
/// version, so that the operator can rotate `WEBHOOK_ENCRYPTION_SECRET`: `2:new,1:old`.
///
/// ```
/// use biolink::webhooks::{EncryptionKeys, WebhookSecret};
///
/// let keys = EncryptionKeys::parse("0123456789abcdef0123456789abcdef").unwrap();
/// let secret = WebhookSecret::generate([7; 24]);
/// let sealed = keys.seal(&secret, "key_ada", &[9; 24]);
/// assert_eq!(keys.unseal(&sealed, "key_ada"), Ok(secret));
/// assert!(keys.unseal(&sealed, "key_bob").is_err());
/// ```
#[derive(Clone, Debug)]
pub struct EncryptionKeys(MacKeys);

/// A secret as it is stored: version, nonce and ciphertext, in base64.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct SealedSecret(String);

impl From<MacKeys> for EncryptionKeys {
    fn from(keys: MacKeys) -> Self {
        Self(keys)
    }
}

impl SealedSecret {
    /// Returns the text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl From<&str> for SealedSecret {
    fn from(text: &str) -> Self {
        Self(text.to_owned())
    }
}

/// A stored secret that cannot be decrypted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum UnsealError {
    /// The stored text is damaged.
    #[error("the stored webhook secret is malformed")]
    Malformed,
    /// It was encrypted under a version that is not configured any more.
    #[error("the stored webhook secret needs version {version} of WEBHOOK_ENCRYPTION_SECRET")]
    UnknownVersion {
        /// The version.
        version: u8,
    },
    /// It belongs to another owner, or the key of its version is another one.
    #[error("the stored webhook secret was encrypted for another account or with another key")]
    Refused,
}

impl EncryptionKeys {
    /// Reads the configured secret: one text, or two with versions.
    ///
    /// # Errors
    /// Returns an error if a text is too short or the list is malformed.
    pub fn parse(text: &str) -> Result<Self, SecretError> {
        MacKeys::parse(text).map(Self)
    }

    /// Returns the secret encrypted for its owner. The nonce must be random.
    pub fn seal(&self, secret: &WebhookSecret, owner: &str, nonce: &Nonce) -> SealedSecret {
        self.seal_bytes(secret.as_bytes(), owner, nonce)
    }

    /// Returns a secret of any kind encrypted for its owner. The nonce must be random.
    pub fn seal_bytes(&self, secret: &[u8], owner: &str, nonce: &Nonce) -> SealedSecret {
        let (version, key) = self.0.current();
        // The owner is authenticated too, so that a secret that is copied to another account is
        // refused.
        let payload = Payload { msg: secret, aad: owner.as_bytes() };
        // It fails for 256 GiB and more.
        let ciphertext = cipher(key).encrypt(&(*nonce).into(), payload).unwrap_or_default();
        // With its version, so that a rotation need not encrypt everything again at once.
        let mut stored = vec![version];
        stored.extend_from_slice(nonce);
        stored.extend_from_slice(&ciphertext);
        SealedSecret(STANDARD_NO_PAD.encode(stored))
    }

    /// Decrypts the secret of an owner.
    ///
    /// # Errors
    /// Returns an error if the text is damaged, its version is not configured, or it was encrypted
    /// for another owner.
    pub fn unseal(&self, sealed: &SealedSecret, owner: &str) -> Result<WebhookSecret, UnsealError> {
        WebhookSecret::from_bytes(self.unseal_bytes(sealed, owner)?).or(Err(UnsealError::Malformed))
    }

    /// Decrypts a secret of any kind.
    ///
    /// # Errors
    /// Returns the errors of [`Self::unseal`].
    pub fn unseal_bytes(&self, sealed: &SealedSecret, owner: &str) -> Result<Vec<u8>, UnsealError> {
        let stored = STANDARD_NO_PAD.decode(&sealed.0).or(Err(UnsealError::Malformed))?;
        let (&version, rest) = stored.split_first().ok_or(UnsealError::Malformed)?;
        let (nonce, ciphertext) = rest.split_first_chunk::<24>().ok_or(UnsealError::Malformed)?;
        let key = self.0.version(version).ok_or(UnsealError::UnknownVersion { version })?;
        let payload = Payload { msg: ciphertext, aad: owner.as_bytes() };
        cipher(key).decrypt(&(*nonce).into(), payload).or(Err(UnsealError::Refused))
    }
}

/// Returns the cipher of a configured secret. Its key is derived, so that a text of any length is one.
fn cipher(key: &MacKey) -> XChaCha20Poly1305 {
    XChaCha20Poly1305::new(&key.sign(&[CONTEXT]).into())
}

#[cfg(test)]
mod tests {
    use super::*;

    const OLD: &str = "0123456789abcdef0123456789abcdef";
    const NEW: &str = "fedcba9876543210fedcba9876543210";

    fn keys(text: &str) -> EncryptionKeys {
        EncryptionKeys::parse(text).unwrap()
    }

    fn secret() -> WebhookSecret {
        WebhookSecret::generate([7; 24])
    }

    fn sealed() -> SealedSecret {
        keys(OLD).seal(&secret(), "key_ada", &[9; 24])
    }

    #[test]
    fn encrypted_secret_shows_nothing_and_depends_on_the_nonce() {
        let other = keys(OLD).seal(&secret(), "key_ada", &[8; 24]);
        assert_ne!(sealed(), other);
        let bytes = STANDARD_NO_PAD.decode(&other.0).unwrap();
        assert_eq!(bytes.len(), 1 + 24 + 24 + 16);
        assert!(!bytes.windows(4).any(|four| four == [7; 4]));
    }

    #[test]
    fn secret_of_another_owner_or_key_is_refused() {
        assert_eq!(keys(OLD).unseal(&sealed(), "key_ada"), Ok(secret()));
        assert_eq!(keys(OLD).unseal(&sealed(), "key_bob"), Err(UnsealError::Refused));
        assert_eq!(keys(NEW).unseal(&sealed(), "key_ada"), Err(UnsealError::Refused));
    }

    #[test]
    fn each_byte_of_the_stored_form_is_protected() {
        let stored = STANDARD_NO_PAD.decode(&sealed().0).unwrap();
        for at in 0..stored.len() {
            let mut damaged = stored.clone();
            damaged[at] ^= 1;
            let damaged = SealedSecret(STANDARD_NO_PAD.encode(damaged));
            let expected =
                if at == 0 { UnsealError::UnknownVersion { version: 0 } } else { UnsealError::Refused };
            assert_eq!(keys(OLD).unseal(&damaged, "key_ada"), Err(expected), "{at}");
        }
        for text in ["", "AA", "?", &STANDARD_NO_PAD.encode([1; 24])] {
            let short = SealedSecret(text.to_owned());
            assert_eq!(keys(OLD).unseal(&short, "key_ada"), Err(UnsealError::Malformed), "{text}");
        }
    }

    #[test]
    fn rotated_key_decrypts_until_it_is_removed() {
        let rotated = keys(&format!("2:{NEW},1:{OLD}"));
        assert_eq!(rotated.unseal(&sealed(), "key_ada"), Ok(secret()));
        let again = rotated.seal(&secret(), "key_ada", &[9; 24]);
        let alone = keys(&format!("2:{NEW}"));
        assert_eq!(alone.unseal(&again, "key_ada"), Ok(secret()));
        let version = UnsealError::UnknownVersion { version: 1 };
        assert_eq!(alone.unseal(&sealed(), "key_ada"), Err(version));
    }
}
