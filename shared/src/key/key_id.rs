//! The public name of a key, safe to log and to store.

crate::id! {
    /// 96 random bits, written `key_` and 17 of `[0-9A-Za-z]`. It names the key's record, its meter and
    /// its log lines, stays the same through rotation, and reveals nothing about the secret.
    KeyId "key_" 12
}

impl KeyId {
    /// Returns the id's bytes, for signed payloads and for hashing.
    pub const fn as_bytes(&self) -> &[u8; Self::BYTES] {
        &self.0
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
