//! Bytes as `[0-9A-Za-z]`, in blocks of eight bytes, so that coding needs no big numbers and no
//! allocation.
//!
//! A block of `n` bytes takes the fewest characters that can hold it, most significant first.
//! Decoding accepts exactly what encoding produces: a block that spells a number too large for its
//! bytes is refused.

const DIGITS: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const BLOCK: usize = 8;

/// Returns the number of characters that `bytes` bytes (0 to 8) take.
const fn block_len(bytes: usize) -> usize {
    match bytes {
        0 => 0,
        1 => 2,
        2 => 3,
        3 => 5,
        4 => 6,
        5 => 7,
        6 => 9,
        7 => 10,
        _ => 11,
    }
}

/// Returns the number of characters that `bytes` bytes take in all.
pub const fn encoded_len(bytes: usize) -> usize {
    (bytes / BLOCK) * block_len(BLOCK) + block_len(bytes % BLOCK)
}

/// Appends `bytes` to `text`.
pub fn encode(bytes: &[u8], text: &mut String) {
    for block in bytes.chunks(BLOCK) {
        let mut digits = [b'0'; block_len(BLOCK)];
        let digits = digits.get_mut(..block_len(block.len())).unwrap_or_default();
        write(block, digits);
        text.push_str(std::str::from_utf8(digits).unwrap_or_default());
    }
}

/// Writes `bytes` to `text`, which has room for [`encoded_len`] characters.
pub fn write(bytes: &[u8], mut text: &mut [u8]) {
    for block in bytes.chunks(BLOCK) {
        let mut value = block.iter().fold(0u64, |value, &byte| value << 8 | u64::from(byte));
        let Some((digits, rest)) = text.split_at_mut_checked(block_len(block.len())) else { return };
        for digit in digits.iter_mut().rev() {
            *digit = DIGITS.get((value % 62) as usize).copied().unwrap_or(b'0');
            value /= 62;
        }
        text = rest;
    }
}

/// Fills `bytes` from `text`; `None` when `text` is not exactly what [`encode`] writes for some
/// such bytes.
pub fn decode(text: &[u8], bytes: &mut [u8]) -> Option<()> {
    if text.len() != encoded_len(bytes.len()) {
        return None;
    }
    let mut rest = text;
    for block in bytes.chunks_mut(BLOCK) {
        let (digits, tail) = rest.split_at_checked(block_len(block.len()))?;
        rest = tail;
        let mut value = 0u64;
        for &digit in digits {
            // Eleven digits can be more than eight bytes. Wrapped, two texts would mean the same
            // bytes.
            value = value.checked_mul(62)?.checked_add(u64::from(digit_value(digit)?))?;
        }
        for byte in block.iter_mut().rev() {
            *byte = (value & 0xff) as u8;
            value >>= 8;
        }
        // The same for shorter blocks: each value has one text, and a changed one is another value
        // or none.
        if value != 0 {
            return None;
        }
    }
    Some(())
}

const fn digit_value(digit: u8) -> Option<u8> {
    match digit {
        b'0'..=b'9' => Some(digit - b'0'),
        b'A'..=b'Z' => Some(digit - b'A' + 10),
        b'a'..=b'z' => Some(digit - b'a' + 36),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn number_too_large_for_its_bytes_is_refused() {
        let mut bytes = [0; 8];
        assert_eq!(decode(b"zzzzzzzzzzz", &mut bytes), None);
        let mut byte = [0; 1];
        assert_eq!(decode(b"48", &mut byte), None, "256");
        assert_eq!(decode(b"47", &mut byte), Some(()), "255");
    }

    proptest! {
        #[test]
        fn decoding_undoes_encoding(bytes in proptest::collection::vec(any::<u8>(), 0..60)) {
            let mut text = String::new();
            encode(&bytes, &mut text);
            prop_assert_eq!(text.len(), encoded_len(bytes.len()));
            let mut back = vec![0; bytes.len()];
            prop_assert_eq!(decode(text.as_bytes(), &mut back), Some(()));
            prop_assert_eq!(back, bytes);
        }

        #[test]
        fn every_value_has_one_text(text in "[0-9A-Za-z]{17}") {
            let mut bytes = [0; 12];
            if decode(text.as_bytes(), &mut bytes).is_some() {
                let mut again = String::new();
                encode(&bytes, &mut again);
                prop_assert_eq!(again, text);
            }
        }
    }
}
