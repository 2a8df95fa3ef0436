//! The public name of a named secret, safe to log and to store.

use std::fmt;

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::base62;

/// 64 random bits, written `sec_` and 11 of `[0-9A-Za-z]`. It stays the same through rotation, and is
/// unique within its key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SecretId([u8; Self::BYTES]);

impl SecretId {
    /// Bytes of an id.
    pub const BYTES: usize = 8;
    const PREFIX: &'static str = "sec_";

    /// Returns the id with these bytes.
    pub const fn new(bytes: [u8; Self::BYTES]) -> Self {
        Self(bytes)
    }

    /// Reads what `Display` writes; `None` for anything else.
    pub fn parse(text: &str) -> Option<Self> {
        let mut bytes = [0; Self::BYTES];
        base62::decode(text.strip_prefix(Self::PREFIX)?.as_bytes(), &mut bytes)?;
        Some(Self(bytes))
    }
}

impl fmt::Display for SecretId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = String::with_capacity(15);
        text.push_str(Self::PREFIX);
        base62::encode(&self.0, &mut text);
        f.write_str(&text)
    }
}

impl Serialize for SecretId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for SecretId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::parse(&text).ok_or_else(|| D::Error::custom("not the id of a secret"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secret_id_reads_back_and_other_texts_are_refused() {
        let id = SecretId::new([255, 0, 1, 2, 3, 4, 5, 6]);
        assert_eq!((SecretId::parse(&id.to_string()), id.to_string().len()), (Some(id), 15));
        for text in ["", "sec_", "sec_zzzzzzzzzzz", "sec_000000000000", &id.to_string()[4..]] {
            assert_eq!(SecretId::parse(text), None, "{text}");
        }
    }
}
