//! The hash of a key's secret.

use std::fmt;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::secret;

const DOMAIN: &[u8] = b"utg.secret.v1";

/// SHA-256 of a key's secret.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct SecretHash([u8; 32]);

impl SecretHash {
    /// Returns the hash of the random part of a key's text.
    pub fn of(secret: &[u8; 16]) -> Self {
        Self(secret::sha256(&[DOMAIN, secret]))
    }

    /// Compares two hashes in constant time.
    pub(super) fn matches(&self, other: &Self) -> bool {
        secret::equal(&self.0, &other.0)
    }
}

impl fmt::Debug for SecretHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SecretHash(redacted)")
    }
}

impl Serialize for SecretHash {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&URL_SAFE_NO_PAD.encode(self.0))
    }
}

impl<'de> Deserialize<'de> for SecretHash {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let bytes = URL_SAFE_NO_PAD.decode(text).map_err(D::Error::custom)?;
        bytes.try_into().map(Self).map_err(|_| D::Error::custom("not 32 bytes"))
    }
}
