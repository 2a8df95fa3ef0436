//! The CRC-32 of a text or a file (ISO 3309, as in PNG and gzip), with one table.
//!
//! Why: docs/decisions/edge.md, "The worker is built for size".

use crc::{CRC_32_ISO_HDLC, Crc, Table};

static CRC: Crc<u32, Table<1>> = Crc::<u32, Table<1>>::new(&CRC_32_ISO_HDLC);

/// Returns the checksum of these parts, one after another.
///
/// ```
/// assert_eq!(shared::crc32::crc32(&[b"12345", b"6789"]), 0xcbf4_3926);
/// ```
pub fn crc32(parts: &[&[u8]]) -> u32 {
    let mut digest = CRC.digest();
    parts.iter().for_each(|part| digest.update(part));
    digest.finalize()
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
