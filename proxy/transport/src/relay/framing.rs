//! Where a message's body ends (RFC 9112, section 6), read strictly: what another parser could read differently is
//! refused.

use std::io::Write as _;

/// How much of a body is still to come, and how it is told from what follows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Framing {
    /// So many bytes.
    Length(u64),
    /// Chunks of stated length, until one of none.
    Chunked(Chunks),
    /// Whatever comes until the connection ends.
    UntilClose,
}

/// What comes next in a chunked body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Chunks {
    /// A line with a chunk's length.
    Size,
    /// So many bytes of a chunk.
    Data(u64),
    /// The line end after a chunk.
    End,
    /// Lines after the last chunk, of which so many bytes were dropped, until an empty one.
    Trailer(usize),
    /// Nothing.
    Over,
}

/// A body whose framing is broken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Broken;

/// What a look at some bytes came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Part {
    /// Bytes of framing to be dropped before the data.
    pub(crate) skip: usize,
    /// Bytes of the body after them. Neither: more bytes are needed, or the body is over.
    pub(crate) data: usize,
}

/// Longest line with a chunk's length. Extensions are dropped, which nobody uses.
const MAX_SIZE_LINE: usize = 256;
/// Most bytes of trailers. They are dropped: to a tool they would look like headers that were checked.
const MAX_TRAILERS: usize = 8 << 10;

impl Framing {
    /// A message without a body.
    pub(crate) const NONE: Self = Self::Length(0);

    /// Whether the body is over. One that lasts until the connection ends never is before.
    pub(crate) const fn is_over(&self) -> bool {
        matches!(self, Self::Length(0) | Self::Chunked(Chunks::Over))
    }

    /// Looks at the next bytes: what to drop, and what of the rest is the body's. Both count as taken.
    pub(crate) fn take(&mut self, bytes: &[u8]) -> Result<Part, Broken> {
        match self {
            Self::Length(left) => {
                let data = within(bytes.len(), *left);
                *left -= data as u64;
                Ok(Part { skip: 0, data })
            }
            Self::UntilClose => Ok(Part { skip: 0, data: bytes.len() }),
            Self::Chunked(chunks) => chunks.take(bytes),
        }
    }
}

impl Chunks {
    fn take(&mut self, bytes: &[u8]) -> Result<Part, Broken> {
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
                        return if rest.len() > self.longest() {
                            Err(Broken)
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

    const fn longest(self) -> usize {
        match self {
            Self::Trailer(dropped) => MAX_TRAILERS.saturating_sub(dropped),
            Self::Size | Self::Data(_) | Self::End | Self::Over => MAX_SIZE_LINE,
        }
    }

    /// What follows a line.
    fn after(self, line: &[u8]) -> Result<Self, Broken> {
        if line.len() > self.longest() {
            return Err(Broken);
        }
        match self {
            Self::Size => match size(line)? {
                0 => Ok(Self::Trailer(0)),
                size => Ok(Self::Data(size)),
            },
            Self::End if line.is_empty() => Ok(Self::Size),
            Self::End => Err(Broken),
            Self::Trailer(_) if line.is_empty() => Ok(Self::Over),
            Self::Trailer(dropped) => Ok(Self::Trailer(dropped + line.len() + 2)),
            Self::Data(_) | Self::Over => Ok(self),
        }
    }
}

/// The bytes before the first line end; `None` when there is none yet. A line feed or a carriage return alone ends none.
fn line(bytes: &[u8]) -> Result<Option<&[u8]>, Broken> {
    let Some(end) = memchr::memchr2(b'\r', b'\n', bytes) else { return Ok(None) };
    match bytes.get(end..end + 2) {
        Some(b"\r\n") => Ok(bytes.get(..end)),
        None if bytes.get(end) == Some(&b'\r') => Ok(None),
        _ => Err(Broken),
    }
}

/// At most 16 hexadecimal digits, whatever comes after a semicolon.
fn size(line: &[u8]) -> Result<u64, Broken> {
    let digits = line.split(|&byte| byte == b';').next().unwrap_or_default().trim_ascii_end();
    if digits.is_empty() || digits.len() > 16 {
        return Err(Broken);
    }
    digits.iter().try_fold(0, |size: u64, &byte| {
        char::from(byte).to_digit(16).map(|digit| size << 4 | u64::from(digit)).ok_or(Broken)
    })
}

fn within(length: usize, left: u64) -> usize {
    usize::try_from(left).map_or(length, |left| length.min(left))
}

/// Adds a chunk.
pub(crate) fn write_chunk(out: &mut Vec<u8>, data: &[u8]) {
    if !data.is_empty() {
        // Writing to a vector cannot fail.
        let _written = write!(out, "{:x}\r\n", data.len());
        out.extend_from_slice(data);
        out.extend_from_slice(b"\r\n");
    }
}

/// What a chunked body ends with.
pub(crate) const LAST_CHUNK: &[u8] = b"0\r\n\r\n";

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The body that pieces of so many bytes come to, and what is left after its end.
    fn read(mut framing: Framing, sent: &[u8], piece: usize) -> Result<(Vec<u8>, Vec<u8>), Broken> {
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

    const CHUNKED: Framing = Framing::Chunked(Chunks::Size);

    #[test]
    fn a_body_ends_where_it_says_however_it_comes() {
        let sent = b"5\r\nhello\r\n6;a=\"b\"\r\n world\r\n0\r\nX-Sum: 1\r\n\r\nGET /";
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
    fn broken_framing_is_refused() {
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
            "5\r5\r\n",
            &long,
            &trailers,
        ] {
            assert_eq!(read(CHUNKED, sent.as_bytes(), 64).err(), Some(Broken), "{sent:?}");
        }
    }

    proptest! {
        #[test]
        fn what_is_written_in_chunks_is_read_back(
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
