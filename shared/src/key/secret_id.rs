//! The public name of a named secret, safe to log and to store.

crate::id! {
    /// 64 random bits, written `sec_` and 11 of `[0-9A-Za-z]`. It stays the same through rotation, and is
    /// unique within its key.
    SecretId "sec_" 8
}

impl SecretId {
    /// Returns the id's bytes, for signed payloads.
    pub const fn as_bytes(&self) -> &[u8; Self::BYTES] {
        &self.0
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
