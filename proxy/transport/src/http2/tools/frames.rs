//! Frames as they come, as far as their first nine bytes tell (RFC 9113, section 4.1).

/// Counts the frames of answers that have nothing in them and are not the end of one.
#[derive(Debug, Default)]
pub(super) struct EmptyFrames {
    head: [u8; HEAD],
    /// Bytes of a head that have come.
    known: usize,
    /// Bytes of the frame that are still to come after its head.
    left: usize,
}

const HEAD: usize = 9;
const DATA: u8 = 0;
const END_STREAM: u8 = 1;

impl EmptyFrames {
    /// How many there are among the bytes that have come next.
    pub(super) fn among(&mut self, mut bytes: &[u8]) -> u32 {
        let mut count = 0;
        while !bytes.is_empty() {
            let (skipped, rest) = bytes.split_at(self.left.min(bytes.len()));
            self.left -= skipped.len();
            bytes = rest;
            if self.left > 0 {
                break;
            }
            let wanted = self.head.get_mut(self.known..).unwrap_or_default();
            let (come, rest) = bytes.split_at(wanted.len().min(bytes.len()));
            wanted.iter_mut().zip(come).for_each(|(place, byte)| *place = *byte);
            self.known += come.len();
            bytes = rest;
            if self.known == HEAD {
                count += u32::from(self.begin());
            }
        }
        count
    }

    /// Goes on to what follows the head, which is whole; whether it is one of those that count.
    const fn begin(&mut self) -> bool {
        let [a, b, c, kind, flags, ..] = self.head;
        self.known = 0;
        self.left = (a as usize) << 16 | (b as usize) << 8 | c as usize;
        self.left == 0 && kind == DATA && flags & END_STREAM == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(kind: u8, flags: u8, payload: &[u8]) -> Vec<u8> {
        let length = u8::try_from(payload.len()).unwrap();
        [&[0, 0, length, kind, flags, 0, 0, 0, 1], payload].concat()
    }

    #[test]
    fn they_are_counted_however_the_bytes_come() {
        let bytes = [
            frame(4, 0, &[0; 6]),
            frame(DATA, 0, b""),
            frame(DATA, 0, b"\0\0\0\0\0\0\0\0\0\0"),
            frame(DATA, 0, b""),
            frame(1, 4, b"x"),
            frame(DATA, END_STREAM, b""),
            frame(4, 1, b""),
            frame(DATA, 0, b""),
        ]
        .concat();
        for size in 1..=bytes.len() {
            let mut frames = EmptyFrames::default();
            assert_eq!(bytes.chunks(size).map(|piece| frames.among(piece)).sum::<u32>(), 3, "{size}");
        }
    }
}
