//! The public name of a key, safe to log and to store.

use std::fmt;

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::base62;

/// 96 random bits, written `key_` and 17 of `[0-9A-Za-z]`. It names the key's record, its meter and
/// its log lines, stays the same through rotation, and reveals nothing about the secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct KeyId([u8; Self::BYTES]);

impl KeyId {
    /// Bytes of an id.
    pub const BYTES: usize = 12;
    const PREFIX: &'static str = "key_";

    /// Returns the id with these bytes.
    pub const fn new(bytes: [u8; Self::BYTES]) -> Self {
        Self(bytes)
    }

    /// Returns the id's bytes, for signed payloads and for hashing.
    pub const fn as_bytes(&self) -> &[u8; Self::BYTES] {
        &self.0
    }

    /// Reads what `Display` writes; `None` for anything else.
    pub fn parse(text: &str) -> Option<Self> {
        let mut bytes = [0; Self::BYTES];
        base62::decode(text.strip_prefix(Self::PREFIX)?.as_bytes(), &mut bytes)?;
        Some(Self(bytes))
    }
}

impl fmt::Display for KeyId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = String::with_capacity(21);
        text.push_str(Self::PREFIX);
        base62::encode(&self.0, &mut text);
        f.write_str(&text)
    }
}

impl Serialize for KeyId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for KeyId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::parse(&text).ok_or_else(|| D::Error::custom("not a key id"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn key_id_reads_back_and_other_texts_are_refused() {
        let id = KeyId::new([255, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
        assert_eq!(KeyId::parse(&id.to_string()), Some(id));
        assert_eq!(id.to_string().len(), 21);
        for text in ["", "key_", "key_00000000000000000x", &id.to_string()[4..]] {
            assert_eq!(KeyId::parse(text), None, "{text}");
        }
    }
}
