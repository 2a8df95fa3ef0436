//! The CRC-32 of a text or a file (ISO 3309, as in PNG and gzip), with one table.
//!
//! Why: docs/decisions/edge.md, "The worker is built for size".

/// What a byte adds.
const TABLE: [u32; 256] = table();

/// Returns the checksum of these parts, one after another.
///
/// ```
/// assert_eq!(shared::crc32::crc32(&[b"12345", b"6789"]), 0xcbf4_3926);
/// ```
pub fn crc32(parts: &[&[u8]]) -> u32 {
    let mut sum = u32::MAX;
    for byte in parts.iter().copied().flatten() {
        let [low, ..] = sum.to_le_bytes();
        sum = TABLE.get(usize::from(low ^ byte)).map_or(0, |added| added ^ (sum >> 8));
    }
    !sum
}

#[allow(clippy::indexing_slicing, reason = "it runs when it is compiled")]
const fn table() -> [u32; 256] {
    let mut table = [0; 256];
    let mut byte: u32 = 0;
    while byte < 256 {
        let (mut sum, mut bit) = (byte, 0);
        while bit < 8 {
            sum = (sum >> 1) ^ if sum & 1 == 1 { 0xedb8_8320 } else { 0 };
            bit += 1;
        }
        table[byte as usize] = sum;
        byte += 1;
    }
    table
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn checksum_of_any_parts_is_that_of_crc32fast(parts: Vec<Vec<u8>>) {
            let parts: Vec<_> = parts.iter().map(Vec::as_slice).collect();
            prop_assert_eq!(crc32(&parts), crc32fast::hash(&parts.concat()));
        }
    }
}
