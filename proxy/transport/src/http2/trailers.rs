//! Finds pseudo-headers in the trailers of requests, which make a request malformed (RFC 9113,
//! section 8.1). h2 drops them unseen, so the bytes of the connection are read along.

mod header_block;
mod huffman;

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;

use self::header_block::HeaderBlocks;

/// The streams of one connection whose trailers have a pseudo-header.
#[derive(Debug, Default)]
pub(super) struct MalformedTrailers {
    has_any: AtomicBool,
    streams: Mutex<HashSet<u32>>,
}

impl MalformedTrailers {
    /// Returns true if the trailers of a stream have a pseudo-header.
    pub(super) fn has(&self, stream: u32) -> bool {
        // Hardly any connection has one. The flag saves all others a lock for each write.
        self.has_any.load(Ordering::Acquire) && self.streams.lock().contains(&stream)
    }

    fn add(&self, stream: u32) {
        self.streams.lock().insert(stream);
        // After the insertion, so that whoever sees the flag finds the stream.
        self.has_any.store(true, Ordering::Release);
    }
}

/// A reader of the frames of a client (RFC 9113, section 4). It keeps no bytes of them.
pub(super) struct FrameReader {
    next: Next,
    /// The stream of the newest request. A header block of a stream up to it is its trailers.
    newest: u32,
    blocks: HeaderBlocks,
    malformed: Arc<MalformedTrailers>,
}

/// The next bytes of the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Next {
    /// The rest of the preface.
    Preface(usize),
    /// The header of a frame, of which so many bytes have come.
    Header([u8; HEADER], usize),
    /// The length of the padding of a frame with a header block. Its priority follows if it has one.
    PadLength(usize, Fragment),
    /// The rest of the priority before a header block.
    Priority(usize, Fragment),
    /// A part of a header block.
    Fragment(Fragment),
    /// So many bytes of other frames.
    Skipped(usize),
}

/// A part of a header block: the payload of one frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Fragment {
    stream: u32,
    length: usize,
    padding: usize,
    /// Whether the block ends with it.
    is_last: bool,
}

/// Length of the header of a frame.
const HEADER: usize = 9;
/// Length of the priority in a HEADERS frame.
const PRIORITY: usize = 5;

const HEADERS: u8 = 1;
const CONTINUATION: u8 = 9;
const FLAG_END_HEADERS: u8 = 0x4;
const FLAG_PADDED: u8 = 0x8;
const FLAG_PRIORITY: u8 = 0x20;

impl FrameReader {
    /// Returns the reader of a connection that begins with a preface of this length.
    pub(super) fn new(preface: usize, malformed: &Arc<MalformedTrailers>) -> Self {
        Self {
            next: Next::Preface(preface),
            newest: 0,
            blocks: HeaderBlocks::default(),
            malformed: Arc::clone(malformed),
        }
    }

    /// Reads the next bytes of the connection.
    pub(super) fn read(&mut self, mut bytes: &[u8]) {
        while let Some(first) = bytes.first() {
            let taken;
            (self.next, taken) = match self.next {
                Next::Preface(left) => {
                    let taken = left.min(bytes.len());
                    let is_over = taken == left;
                    (if is_over { Next::HEADER } else { Next::Preface(left - taken) }, taken)
                }
                Next::Skipped(left) => {
                    let taken = left.min(bytes.len());
                    (Next::skipped(left - taken), taken)
                }
                Next::Header(mut header, filled) => match (bytes.first_chunk(), header.get_mut(filled)) {
                    // Nearly all headers come whole.
                    (Some(whole), _) if filled == 0 => (self.frame(*whole), HEADER),
                    (_, Some(place)) => {
                        *place = *first;
                        let is_whole = filled + 1 == HEADER;
                        (if is_whole { self.frame(header) } else { Next::Header(header, filled + 1) }, 1)
                    }
                    (_, None) => (self.frame(header), 0),
                },
                Next::PadLength(priority, fragment) => {
                    let padding = usize::from(*first);
                    let length = fragment.length.saturating_sub(padding);
                    (Next::block(priority, Fragment { length, padding, ..fragment }), 1)
                }
                Next::Priority(left, fragment) => (Next::block(left - 1, fragment), 1),
                Next::Fragment(fragment) => {
                    let taken = fragment.length.min(bytes.len());
                    let (now, _) = bytes.split_at(taken);
                    self.blocks.read(now);
                    (Next::Fragment(Fragment { length: fragment.length - taken, ..fragment }), taken)
                }
            };
            self.end_fragment();
            (_, bytes) = bytes.split_at(taken);
        }
    }

    /// Returns what follows the header of a frame.
    fn frame(&mut self, header: [u8; HEADER]) -> Next {
        let [a, b, c, kind, flags, d, e, f, g] = header;
        let length = usize::try_from(u32::from_be_bytes([0, a, b, c])).unwrap_or(usize::MAX);
        // The highest bit is reserved and ignored (RFC 9113, section 4.1).
        let stream = u32::from_be_bytes([d & 0x7f, e, f, g]);
        let fragment = Fragment { stream, length, padding: 0, is_last: flags & FLAG_END_HEADERS != 0 };
        match kind {
            HEADERS => {
                self.blocks.begin();
                let priority = if flags & FLAG_PRIORITY == 0 { 0 } else { PRIORITY };
                let is_padded = flags & FLAG_PADDED != 0;
                let before = usize::from(is_padded) + priority;
                let fragment = Fragment { length: length.saturating_sub(before), ..fragment };
                match is_padded {
                    // h2 closes a connection with a frame that is too short.
                    _ if length < before => Next::skipped(length),
                    true => Next::PadLength(priority, fragment),
                    false => Next::block(priority, fragment),
                }
            }
            // It has neither padding nor priority (RFC 9113, section 6.10).
            CONTINUATION => Next::Fragment(fragment),
            _ => Next::skipped(length),
        }
    }

    /// Ends a part of a header block that is complete.
    fn end_fragment(&mut self) {
        let Next::Fragment(fragment) = self.next else { return };
        if fragment.length > 0 {
            return;
        }
        // Padding stands behind the block and is none of it.
        self.next = Next::skipped(fragment.padding);
        if fragment.is_last {
            // A client opens streams with growing numbers (RFC 9113, section 5.1.1).
            let is_trailers = fragment.stream <= self.newest;
            if is_trailers && self.blocks.has_pseudo() {
                self.malformed.add(fragment.stream);
            }
            // Only once the block has ended, or the continuation of a request would pass for
            // trailers.
            self.newest = self.newest.max(fragment.stream);
        }
    }
}

impl Next {
    const HEADER: Self = Self::Header([0; HEADER], 0);

    /// Returns the next bytes of a frame with a header block, after so many of its priority.
    const fn block(priority: usize, fragment: Fragment) -> Self {
        if priority == 0 { Self::Fragment(fragment) } else { Self::Priority(priority, fragment) }
    }

    /// Returns the next bytes after so many that mean nothing here.
    const fn skipped(length: usize) -> Self {
        if length == 0 { Self::HEADER } else { Self::Skipped(length) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(kind: u8, flags: u8, stream: u8, payload: &[u8]) -> Vec<u8> {
        let length = u8::try_from(payload.len()).unwrap();
        [&[0, 0, length, kind, flags, 0, 0, 0, stream], payload].concat()
    }

    /// Returns the malformed streams of a connection with these frames, read in pieces of so many
    /// bytes.
    fn malformed(frames: &[Vec<u8>], piece: usize) -> Vec<u8> {
        let malformed = Arc::new(MalformedTrailers::default());
        let preface = b"preface";
        let mut reader = FrameReader::new(preface.len(), &malformed);
        [preface, &frames.concat()[..]].concat().chunks(piece).for_each(|bytes| reader.read(bytes));
        (0..20).filter(|stream| malformed.has(u32::from(*stream))).collect()
    }

    /// `:method: GET` and `accept: a`.
    const PSEUDO: [u8; 1] = [0x82];
    const PLAIN: [u8; 3] = [0x53, 1, b'a'];

    #[test]
    fn pseudo_header_is_found_in_trailers_only() {
        let open = |stream| frame(HEADERS, FLAG_END_HEADERS, stream, &PSEUDO);
        let data = frame(0, 0, 1, &[0x82; 30]);
        let trailers = |flags, payload: &[u8]| vec![open(1), data.clone(), frame(HEADERS, flags, 1, payload)];
        let padded = [&[4][..], &PSEUDO, &[0; 4]].concat();
        let with_priority = [&[0; 5][..], &PSEUDO].concat();
        let with_both = [&[4][..], &[0; 5], &PLAIN, &PSEUDO, &[0; 4]].concat();
        let in_two = vec![
            open(1),
            open(3),
            frame(HEADERS, 0, 1, &PLAIN),
            frame(CONTINUATION, FLAG_END_HEADERS, 1, &PSEUDO),
            open(5),
        ];
        for (frames, expected) in [
            (vec![open(1), open(3), data.clone()], vec![]),
            (trailers(FLAG_END_HEADERS, &PLAIN), vec![]),
            (trailers(FLAG_END_HEADERS, &[]), vec![]),
            (trailers(FLAG_END_HEADERS, &PSEUDO), vec![1]),
            (trailers(FLAG_END_HEADERS | FLAG_PADDED, &padded), vec![1]),
            (trailers(FLAG_END_HEADERS | FLAG_PRIORITY, &with_priority), vec![1]),
            (trailers(FLAG_END_HEADERS | FLAG_PADDED | FLAG_PRIORITY, &with_both), vec![1]),
            (trailers(FLAG_END_HEADERS | FLAG_PRIORITY, &[0x82; 3]), vec![]),
            (in_two, vec![1]),
        ] {
            for piece in [1, 2, 7, 4_096] {
                assert_eq!(malformed(&frames, piece), expected, "{frames:?}");
            }
        }
    }
}
