//! The framing of message bodies (RFC 9112, section 6). Parsing is strict: framing that parsers can
//! read differently is refused.

use std::io::Write as _;

use crate::request_head::split_line;

/// The framing of the rest of a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Framing {
    /// So many bytes.
    Length(u64),
    /// Chunks, until one of length 0.
    Chunked(ChunkState),
    /// All bytes until the connection is closed.
    UntilClose,
    /// All bytes until the end of an HTTP/2 stream.
    Stream {
        /// Whether the end has come.
        has_ended: bool,
    },
}

/// The next part of a chunked body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ChunkState {
    /// The line with the size of a chunk.
    Size,
    /// So many bytes of a chunk.
    Data(u64),
    /// The line end after a chunk.
    End,
    /// Trailer lines, of which so many bytes were dropped, until an empty line.
    Trailer(usize),
    /// None: the body is complete.
    Over,
}

/// The error of malformed framing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FramingError;

/// The parts of some bytes of a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Part {
    /// The number of bytes of framing before the data.
    pub(crate) skip: usize,
    /// The number of bytes of data after them. If both are 0, more bytes are needed or the body is
    /// complete.
    pub(crate) data: usize,
}

/// Maximum length of a line with the size of a chunk. Chunk extensions are dropped.
const MAX_SIZE_LINE: usize = 256;
/// Maximum number of bytes of trailers. They are dropped, because tools could take them for headers
/// that were checked.
const MAX_TRAILERS: usize = 8 << 10;

impl Framing {
    /// The framing of a message without a body.
    pub(crate) const NONE: Self = Self::Length(0);

    /// Returns true if the body is complete. Always false for a body that ends with the connection.
    pub(crate) const fn is_over(&self) -> bool {
        matches!(self, Self::Length(0) | Self::Chunked(ChunkState::Over) | Self::Stream { has_ended: true })
    }

    /// Ends a body that its stream delimits. Returns false for any other, whose bytes are missing.
    pub(crate) const fn end(&mut self) -> bool {
        match self {
            Self::Stream { has_ended } => {
                *has_ended = true;
                true
            }
            Self::Length(_) | Self::Chunked(_) | Self::UntilClose => false,
        }
    }

    /// Returns true if the body has no length, and chunks towards an upstream.
    pub(crate) const fn is_chunked(&self) -> bool {
        matches!(self, Self::Chunked(_) | Self::Stream { .. })
    }

    /// Returns the number of bytes of data that must still come: the rest of the body or of the
    /// current chunk. A body that its limit cannot hold is refused before they arrive.
    pub(crate) const fn announced(&self) -> u64 {
        match self {
            Self::Length(left) | Self::Chunked(ChunkState::Data(left)) => *left,
            Self::Chunked(_) | Self::UntilClose | Self::Stream { .. } => 0,
        }
    }

    /// Takes the next bytes: framing to drop, and data after it.
    pub(crate) fn take(&mut self, bytes: &[u8]) -> Result<Part, FramingError> {
        match self {
            Self::Length(left) => {
                let data = within(bytes.len(), *left);
                *left -= data as u64;
                Ok(Part { skip: 0, data })
            }
            Self::UntilClose | Self::Stream { .. } => Ok(Part { skip: 0, data: bytes.len() }),
            Self::Chunked(chunks) => chunks.take(bytes),
        }
    }
}

impl ChunkState {
    fn take(&mut self, bytes: &[u8]) -> Result<Part, FramingError> {
        let mut skip = 0;
        loop {
            let rest = bytes.get(skip..).unwrap_or_default();
            match *self {
                Self::Data(left) => {
                    let data = within(rest.len(), left);
                    *self = if data as u64 == left { Self::End } else { Self::Data(left - data as u64) };
                    return Ok(Part { skip, data });
                }
                Self::Over => return Ok(Part { skip, data: 0 }),
                Self::Size | Self::End | Self::Trailer(_) => {
                    let Some(line) = line(rest)? else {
                        // A line without an end would be buffered without a limit.
                        return if rest.len() > self.max_line() {
                            Err(FramingError)
                        } else {
                            Ok(Part { skip, data: 0 })
                        };
                    };
                    skip += line.len() + 2;
                    *self = self.after(line)?;
                }
            }
        }
    }

    /// Returns the maximum length of the next line.
    const fn max_line(self) -> usize {
        match self {
            Self::Trailer(dropped) => MAX_TRAILERS.saturating_sub(dropped),
            Self::Size | Self::Data(_) | Self::End | Self::Over => MAX_SIZE_LINE,
        }
    }

    /// Returns the part that follows a line.
    fn after(self, line: &[u8]) -> Result<Self, FramingError> {
        if line.len() > self.max_line() {
            return Err(FramingError);
        }
        match self {
            Self::Size => match size(line)? {
                0 => Ok(Self::Trailer(0)),
                size => Ok(Self::Data(size)),
            },
            Self::End if line.is_empty() => Ok(Self::Size),
            // Parsers disagree about where the next chunk begins after such bytes, which is how
            // requests are smuggled (RFC 9112, section 11.2).
            Self::End => Err(FramingError),
            Self::Trailer(_) if line.is_empty() => Ok(Self::Over),
            Self::Trailer(dropped) if is_field(line) => Ok(Self::Trailer(dropped + line.len() + 2)),
            Self::Trailer(_) => Err(FramingError),
            Self::Data(_) | Self::Over => Ok(self),
        }
    }
}

/// Returns the first line, or `None` if more bytes are needed. A bare line feed or carriage return
/// is an error.
fn line(bytes: &[u8]) -> Result<Option<&[u8]>, FramingError> {
    let Some(end) = memchr::memchr2(b'\r', b'\n', bytes) else { return Ok(None) };
    match bytes.get(end..end + 2) {
        Some(b"\r\n") => Ok(bytes.get(..end)),
        None if bytes.get(end) == Some(&b'\r') => Ok(None),
        // RFC 9112, section 2.2, lets parsers take a bare line feed for a line end. One that does
        // would see other chunks.
        _ => Err(FramingError),
    }
}

/// Parses the size of a chunk: at most 16 hexadecimal digits, and after them only spaces and tabs
/// (RFC 9112, section 7.1.1). Extensions after a semicolon are dropped. They cannot hold control
/// characters.
fn size(line: &[u8]) -> Result<u64, FramingError> {
    let end = line.iter().position(|byte| !byte.is_ascii_hexdigit()).unwrap_or(line.len());
    let (digits, rest) = line.split_at_checked(end).ok_or(FramingError)?;
    let first = rest.iter().find(|byte| !matches!(byte, b' ' | b'\t'));
    // More than 16 digits overflow: a parser that wraps around would see a shorter chunk.
    if digits.is_empty() || digits.len() > 16 || first.is_some_and(|byte| *byte != b';') || !is_text(rest) {
        return Err(FramingError);
    }
    digits.iter().try_fold(0, |size: u64, &byte| {
        char::from(byte).to_digit(16).map(|digit| size << 4 | u64::from(digit)).ok_or(FramingError)
    })
}

/// Returns true if the bytes are neither control characters nor deleted ones, except tabs.
fn is_text(bytes: &[u8]) -> bool {
    bytes.iter().all(|&byte| byte == b'\t' || !byte.is_ascii_control())
}

/// Returns true for a header line.
fn is_field(line: &[u8]) -> bool {
    is_text(line) && split_line(line).is_some()
}

/// Returns the smaller of both lengths.
fn within(length: usize, left: u64) -> usize {
    usize::try_from(left).map_or(length, |left| length.min(left))
}

/// Appends a chunk.
pub(crate) fn write_chunk(out: &mut Vec<u8>, data: &[u8]) {
    // An empty chunk would end the body.
    if !data.is_empty() {
        // Writing to a vector cannot fail.
        let _written = write!(out, "{:x}\r\n", data.len());
        out.extend_from_slice(data);
        out.extend_from_slice(b"\r\n");
    }
}

/// Returns the number of bytes of data in chunks that [`write_chunk`] has written, the last of which
/// may be cut anywhere.
pub(crate) fn data_length(chunks: &[u8]) -> usize {
    let (mut state, mut rest, mut length) = (ChunkState::Size, chunks, 0);
    while let Ok(Part { skip, data }) = state.take(rest)
        && data > 0
    {
        length += data;
        rest = rest.get(skip + data..).unwrap_or_default();
    }
    length
}

/// The end of a chunked body.
pub(crate) const LAST_CHUNK: &[u8] = b"0\r\n\r\n";

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Parses a body in pieces of so many bytes. Returns it and the bytes after its end.
    fn read(mut framing: Framing, sent: &[u8], piece: usize) -> Result<(Vec<u8>, Vec<u8>), FramingError> {
        let (mut held, mut body) = (Vec::new(), Vec::new());
        for bytes in sent.chunks(piece) {
            held.extend_from_slice(bytes);
            loop {
                let Part { skip, data } = framing.take(&held)?;
                body.extend_from_slice(&held[skip..skip + data]);
                held.drain(..skip + data);
                if data == 0 {
                    break;
                }
            }
        }
        assert!(framing.is_over() || framing == Framing::UntilClose, "{framing:?}");
        Ok((body, held))
    }

    const CHUNKED: Framing = Framing::Chunked(ChunkState::Size);

    #[test]
    fn body_in_pieces_ends_where_its_framing_says() {
        let sent = b"5\r\nhello\r\n6 \t; a=\"\tb\xfc\"\r\n world\r\n0\r\nX-Sum: 1\r\n\r\nGET /";
        for piece in 1..sent.len() {
            assert_eq!(
                read(CHUNKED, sent, piece),
                Ok((b"hello world".to_vec(), b"GET /".to_vec())),
                "{piece}"
            );
            let length = Framing::Length(7);
            assert_eq!(read(length, b"0123456GET", piece), Ok((b"0123456".to_vec(), b"GET".to_vec())));
        }
    }

    #[test]
    fn malformed_framing_is_refused() {
        let long = format!("5;{}\r\nhello\r\n", "x".repeat(MAX_SIZE_LINE));
        let trailers = format!("0\r\n{}\r\n", "A: b\r\n".repeat(MAX_TRAILERS));
        for sent in [
            "5\nhello\r\n0\r\n\r\n",
            "5\r\nhelloX\r\n0\r\n\r\n",
            "5\r\nhello\n0\r\n\r\n",
            "\r\n",
            "-1\r\n",
            "0x5\r\nhello\r\n",
            "g\r\n",
            "11111111111111111\r\n",
            "5 5\r\nhello\r\n",
            "5\x0c\r\nhello\r\n",
            "5\x0b;a\r\nhello\r\n",
            " 5\r\nhello\r\n",
            "5;a=\0\r\nhello\r\n",
            "5;\x7f\r\nhello\r\n",
            "0\r\nX-Sum: \0\r\n\r\n",
            "0\r\nX-Sum : 1\r\n\r\n",
            "0\r\nGET / HTTP/1.1\r\n\r\n",
            "5\r5\r\n",
            &long,
            &trailers,
        ] {
            assert_eq!(read(CHUNKED, sent.as_bytes(), 64).err(), Some(FramingError), "{sent:?}");
        }
    }

    #[test]
    fn only_a_stream_ends_without_a_byte() {
        for (mut framing, ends) in [
            (Framing::Length(3), false),
            (CHUNKED, false),
            (Framing::UntilClose, false),
            (Framing::Stream { has_ended: false }, true),
        ] {
            assert!(!framing.is_over(), "{framing:?}");
            assert_eq!((framing.end(), framing.is_over()), (ends, ends), "{framing:?}");
        }
        let mut stream = Framing::Stream { has_ended: false };
        assert_eq!(stream.take(b"0\r\n\r\n"), Ok(Part { skip: 0, data: 5 }));
    }

    #[test]
    fn size_of_a_chunk_is_announced_before_its_data() {
        let mut framing = CHUNKED;
        assert_eq!(framing.announced(), 0);
        framing.take(b"ffffffffffffffff\r\n").unwrap();
        assert_eq!(framing.announced(), u64::MAX);
        let mut framing = CHUNKED;
        framing.take(b"5\r\nhe").unwrap();
        assert_eq!(framing.announced(), 3);
        assert_eq!(Framing::Length(7).announced(), 7);
    }

    #[test]
    fn data_of_cut_chunks_is_counted_without_framing() {
        let mut sent = Vec::new();
        write_chunk(&mut sent, b"hello");
        write_chunk(&mut sent, b" world");
        sent.extend_from_slice(LAST_CHUNK);
        // "5\r\nhello\r\n6\r\n world\r\n0\r\n\r\n"
        for (end, length) in [(0, 0), (3, 0), (4, 1), (8, 5), (13, 5), (14, 6), (19, 11), (sent.len(), 11)] {
            assert_eq!(data_length(&sent[..end]), length, "{end}");
        }
    }

    proptest! {
        #[test]
        fn written_chunks_are_parsed_back(
            chunks in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..400), 0..6),
            piece in 1usize..64,
        ) {
            let mut sent = Vec::new();
            for chunk in &chunks {
                write_chunk(&mut sent, chunk);
            }
            sent.extend_from_slice(LAST_CHUNK);
            prop_assert_eq!(read(CHUNKED, &sent, piece), Ok((chunks.concat(), Vec::new())));
        }
    }
}
