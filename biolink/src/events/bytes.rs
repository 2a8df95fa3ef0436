//! Bytes of stored events: numbers in LEB128, and texts after their length.

use std::cmp::Ordering;

use thiserror::Error;

/// Stored bytes that are not a column of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum SegmentError {
    /// The bytes end before the column does.
    #[error("the column is cut off")]
    CutOff,
    /// The form or version is unknown.
    #[error("the form {0} of a column is unknown")]
    UnknownForm(u64),
    /// There are more bytes than rows.
    #[error("the column is longer than its rows")]
    TooLong,
    /// A code or text is not valid.
    #[error("the column contains an invalid value")]
    InvalidValue,
}

/// A text that is not a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum RowsError {
    /// Not base64.
    #[error("the rows are not base64")]
    Base64,
    /// Not a segment.
    #[error(transparent)]
    Segment(#[from] SegmentError),
}

/// The rest of bytes that are read.
#[derive(Clone, Debug)]
pub(super) struct Reader<'a>(pub(super) &'a [u8]);

impl<'a> Reader<'a> {
    pub(super) fn byte(&mut self) -> Result<u8, SegmentError> {
        let (byte, rest) = self.0.split_first().ok_or(SegmentError::CutOff)?;
        self.0 = rest;
        Ok(*byte)
    }

    /// Reads a number in LEB128.
    pub(super) fn number(&mut self) -> Result<u64, SegmentError> {
        let mut number = 0;
        // Bounded: bytes that all say "more follows" would otherwise shift beyond the number.
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            number |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Ok(number);
            }
        }
        Err(SegmentError::InvalidValue)
    }

    /// Reads bytes after their length.
    pub(super) fn text(&mut self) -> Result<&'a [u8], SegmentError> {
        let len = usize::try_from(self.number()?).map_err(|_| SegmentError::CutOff)?;
        // The length is from the bytes themselves, and nothing may be allocated for it before this.
        let (text, rest) = self.0.split_at_checked(len).ok_or(SegmentError::CutOff)?;
        self.0 = rest;
        Ok(text)
    }

    /// Returns all bytes, or an error if there are not exactly `len`.
    pub(super) fn exactly(&self, len: usize) -> Result<&'a [u8], SegmentError> {
        match self.0.len().cmp(&len) {
            Ordering::Less => Err(SegmentError::CutOff),
            Ordering::Equal => Ok(self.0),
            Ordering::Greater => Err(SegmentError::TooLong),
        }
    }

    pub(super) const fn end(&self) -> Result<(), SegmentError> {
        if self.0.is_empty() { Ok(()) } else { Err(SegmentError::TooLong) }
    }
}

/// Writes a number in LEB128.
pub(super) fn write_number(bytes: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        bytes.push(number.to_le_bytes()[0] | 0x80);
        number >>= 7;
    }
    bytes.push(number.to_le_bytes()[0]);
}
