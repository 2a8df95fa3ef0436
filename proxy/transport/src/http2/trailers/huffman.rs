//! Huffman's code of HPACK (RFC 7541, appendix B), as far as it takes to count characters.
//!
//! Why: docs/decisions/proxy.md, "The proxy reads header blocks beside h2, and counts characters".

/// The bits of a character so far: an inner node of the tree of the code.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Prefix(u8);

/// The number of characters whose code has so many bits. The code is canonical: codes of one length are
/// consecutive, and come before the prefixes of longer ones.
const CHARACTERS: [usize; 31] =
    [0, 0, 0, 0, 0, 10, 26, 32, 6, 0, 5, 3, 2, 6, 2, 3, 0, 0, 0, 3, 8, 13, 26, 29, 12, 4, 15, 19, 29, 0, 4];

/// The prefix after another one and four more bits, and the number of characters that end with them. Bit by
/// bit, the values of a request cost as much as all the rest of its head.
static STEPS: [[(u8, u8); 16]; 256] = steps();

impl Prefix {
    /// Takes a byte. Returns the number of characters that end with it. Bits that are left at the end of a text
    /// are padding, and count as no character (RFC 7541, section 5.2).
    pub(super) fn take(&mut self, byte: u8) -> u64 {
        let mut ended = 0;
        for bits in [byte >> 4, byte & 0xf] {
            let step = STEPS.get(usize::from(self.0)).and_then(|steps| steps.get(usize::from(bits)));
            let (next, characters) = step.copied().unwrap_or_default();
            *self = Self(next);
            ended += u64::from(characters);
        }
        ended
    }
}

#[expect(clippy::indexing_slicing, reason = "the compiler evaluates it")]
const fn steps() -> [[(u8, u8); 16]; 256] {
    let mut steps = [[(0, 0); 16]; 256];
    // The prefixes of each length are numbered after the shorter ones.
    let (mut length, mut shorter, mut count) = (0, 0, 1);
    while count > 0 {
        let mut place = 0;
        while place < count {
            let mut bits = 0;
            while bits < 16 {
                steps[shorter + place][bits] = step(length, shorter, count, place, bits);
                bits += 1;
            }
            place += 1;
        }
        length += 1;
        shorter += count;
        count = 2 * count - CHARACTERS[length];
    }
    steps
}

#[expect(clippy::indexing_slicing, reason = "the compiler evaluates it")]
#[expect(clippy::cast_possible_truncation, reason = "a code of 257 characters has 256 prefixes")]
const fn step(
    mut length: usize,
    mut shorter: usize,
    mut count: usize,
    mut place: usize,
    bits: usize,
) -> (u8, u8) {
    let (mut ended, mut left) = (0, 4);
    while left > 0 {
        left -= 1;
        length += 1;
        shorter += count;
        let child = 2 * place + (bits >> left & 1);
        if child < CHARACTERS[length] {
            ended += 1;
            (length, shorter, count, place) = (0, 0, 1, 0);
        } else {
            place = child - CHARACTERS[length];
            count = 2 * count - CHARACTERS[length];
        }
    }
    ((shorter + place) as u8, ended)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All codes and their lengths.
    fn codes() -> Vec<(u64, usize)> {
        let (mut codes, mut first) = (Vec::new(), 0);
        for (length, count) in CHARACTERS.into_iter().enumerate() {
            first <<= 1;
            codes.extend((first..).map(|code| (code, length)).take(count));
            first += count as u64;
        }
        codes
    }

    #[test]
    fn code_is_complete() {
        let codes = codes();
        assert_eq!(codes.len(), 257);
        assert_eq!(codes.iter().map(|(_, length)| 1 << (30 - length)).sum::<u64>(), 1 << 30);
        // Of appendix B: 0, a colon, and the end of a text.
        assert_eq!((codes[0], codes[36], codes[256]), ((0, 5), (0x5c, 7), (0x3fff_ffff, 30)));
    }

    #[test]
    fn each_pair_of_codes_is_two_characters() {
        for (first, length) in codes() {
            for (second, more) in codes() {
                let bits = length + more;
                // Padded with ones, which are no code.
                let padded = (first << more | second) << (64 - bits) | u64::MAX >> bits;
                let mut prefix = Prefix::default();
                let bytes = padded.to_be_bytes();
                let ended: u64 = bytes[..bits.div_ceil(8)].iter().map(|byte| prefix.take(*byte)).sum();
                assert_eq!(ended, 2, "{first:x} {second:x}");
            }
        }
    }
}
