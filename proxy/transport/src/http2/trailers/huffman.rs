//! Huffman's code of HPACK (RFC 7541, appendix B), as far as it takes to count characters.
//!
//! Why: docs/decisions/proxy.md, "The proxy reads header blocks beside h2, and counts characters".

/// A text in the code, of which the characters are counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct CodedText {
    characters: u64,
    /// The last bits, of which so many belong to no character that was counted.
    bits: u64,
    uncounted: u8,
}

/// The number of characters whose code has so many bits. The code is canonical: codes of one length are
/// consecutive, and come before the prefixes of longer ones.
const CHARACTERS: [u32; 31] =
    [0, 0, 0, 0, 0, 10, 26, 32, 6, 0, 5, 3, 2, 6, 2, 3, 0, 0, 0, 3, 8, 13, 26, 29, 12, 4, 15, 19, 29, 0, 4];
/// The number of bits that are looked at together. Two characters mostly fit.
const WINDOW: u8 = 12;

/// The characters that these bits begin with, and the number of their bits. No character if the first one is longer.
/// Bit by bit, the values of a request cost as much as all the rest of its head.
static WINDOWS: [(u8, u8); 1 << WINDOW] = windows();

impl CodedText {
    /// Takes the next bytes of the text.
    pub(super) fn take(&mut self, bytes: &[u8]) {
        // At most 29 bits are left of a character, so that four bytes fit.
        let (words, rest) = bytes.as_chunks();
        for word in words {
            self.bits = self.bits << 32 | u64::from(u32::from_be_bytes(*word));
            self.uncounted += 32;
            self.count();
        }
        for byte in rest {
            self.bits = self.bits << 8 | u64::from(*byte);
            self.uncounted += 8;
            self.count();
        }
    }

    /// Returns the number of characters of a complete text. Bits that are left are padding, and count as no
    /// character (RFC 7541, section 5.2).
    pub(super) fn characters(mut self) -> u64 {
        // Ones, of which no character is made.
        self.bits = (self.bits << WINDOW) | ((1 << WINDOW) - 1);
        self.uncounted += WINDOW;
        self.count();
        self.characters
    }

    fn count(&mut self) {
        while self.uncounted >= WINDOW {
            let window = (self.bits >> (self.uncounted - WINDOW)) % (1 << WINDOW);
            let found = usize::try_from(window).ok().and_then(|window| WINDOWS.get(window));
            let (characters, bits) = match found {
                Some((characters @ 1.., bits)) => (*characters, *bits),
                _ => match self.long_character() {
                    Some(bits) => (1, bits),
                    None => break,
                },
            };
            self.characters += u64::from(characters);
            self.uncounted -= bits;
        }
    }

    /// Returns the length of a character that is longer than the window, or `None` if more bits are needed.
    fn long_character(&self) -> Option<u8> {
        let uncounted = usize::from(self.uncounted);
        let mut prefixes = 1;
        for (length, characters) in CHARACTERS.iter().enumerate().take(uncounted + 1).skip(1) {
            prefixes = 2 * prefixes - u64::from(*characters);
            // Counted from the last code of this length, whose bits are all ones if no code is longer.
            let from_last = (1 << length) - 1 - (self.bits >> (uncounted - length)) % (1 << length);
            if from_last >= prefixes {
                return u8::try_from(length).ok();
            }
        }
        None
    }
}

#[expect(clippy::indexing_slicing, reason = "the compiler evaluates it")]
const fn windows() -> [(u8, u8); 1 << WINDOW] {
    let mut windows = [(0, 0); 1 << WINDOW];
    let mut window: u32 = 0;
    while window < 1 << WINDOW {
        let found = &mut windows[window as usize];
        // The same as `long_character`, for one character after another.
        let (mut start, mut length, mut prefixes) = (0, 1, 1);
        while start + length <= WINDOW {
            prefixes = 2 * prefixes - CHARACTERS[length as usize];
            let code = (window >> (WINDOW - start - length)) & ((1 << length) - 1);
            if (1 << length) - 1 - code >= prefixes {
                *found = (found.0 + 1, start + length);
                (start, length, prefixes) = (start + length, 1, 1);
            } else {
                length += 1;
            }
        }
        window += 1;
    }
    windows
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All codes and their lengths.
    fn codes() -> Vec<(u64, usize)> {
        let (mut codes, mut first) = (Vec::new(), 0);
        for (length, count) in CHARACTERS.into_iter().enumerate() {
            first <<= 1;
            codes.extend((first..).map(|code| (code, length)).take(count as usize));
            first += u64::from(count);
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
                let mut text = CodedText::default();
                text.take(&padded.to_be_bytes()[..bits.div_ceil(8)]);
                assert_eq!(text.characters(), 2, "{first:x} {second:x}");
            }
        }
    }
}
