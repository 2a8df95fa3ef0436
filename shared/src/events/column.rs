//! The columns of stored events: how the events of one page and one UTC day are written.
//!
//! A store keeps each column as a value of its own, so that a query reads only the columns that it
//! needs. Each column begins with a byte that names its form:
//!
//! | column | form | bytes after it |
//! |---|---|---|
//! | time | 1 | for each row, the seconds since the row before (the first: since the day's start), zigzag and LEB128 |
//! | kind | 1 | one byte for all rows |
//! | | 2 | one byte for each row |
//! | visitor | 0 | none: no row has a visitor |
//! | | 1 | 8 bytes for each row, little-endian; 0 is none |
//! | dimension | 0 | none: every value is empty |
//! | | 1 | the values, then the codes |
//!
//! A kind is [`EventKind::code`], plus [`IGNORED`] for an event that is not counted. The values of a
//! dimension are their number (LEB128) and, for each, its length in bytes (LEB128) and its UTF-8. The
//! codes say which value a row has: none for a single value, one byte for each row for at most 256,
//! and two, little-endian, for more.

use super::{
    bytes::{Reader, SegmentError, write_number},
    event::EventKind,
};

/// The bit of a row's kind that says that the event is not counted.
pub(super) const IGNORED: u8 = 0x80;
pub(super) const SECONDS_OF_DAY: u64 = 86_400;

/// A time column.
#[derive(Clone, Debug)]
pub struct TimeColumn<'a> {
    reader: Reader<'a>,
    second: u64,
    rows: usize,
}

/// A kind column.
#[derive(Clone, Copy, Debug)]
pub enum KindColumn<'a> {
    /// All rows have this kind.
    All(u8),
    /// The kind of each row.
    Each(&'a [u8]),
}

/// A visitor column.
#[derive(Clone, Copy, Debug)]
pub enum VisitorColumn<'a> {
    /// No row has a visitor.
    None,
    /// The visitor of each row; 0 is none.
    Each(&'a [[u8; 8]]),
}

/// A column of a dimension.
#[derive(Clone, Debug)]
pub struct DictionaryColumn<'a> {
    /// The values that codes stand for. An empty text is none.
    pub values: Vec<&'a str>,
    /// The code of each row: below the number of values.
    pub codes: Codes<'a>,
}

/// The codes of the rows.
#[derive(Clone, Copy, Debug)]
pub enum Codes<'a> {
    /// All rows have the code 0.
    One,
    /// One byte for each row.
    Narrow(&'a [u8]),
    /// Two bytes for each row, little-endian.
    Wide(&'a [[u8; 2]]),
}

/// Returns the kind of a row, and whether it is counted; `None` for an unknown code.
#[must_use]
pub const fn row_kind(code: u8) -> Option<(EventKind, bool)> {
    match EventKind::from_code(code & !IGNORED) {
        Some(kind) => Some((kind, code & IGNORED == 0)),
        None => None,
    }
}

impl<'a> TimeColumn<'a> {
    /// Reads a column of `rows` rows. As an iterator it returns the seconds since the day's start.
    ///
    /// # Errors
    /// If the form is unknown. Other errors come while it is iterated.
    pub fn decode(bytes: &'a [u8], rows: usize) -> Result<Self, SegmentError> {
        let mut reader = Reader(bytes);
        match reader.byte()? {
            1 => Ok(Self { reader, second: 0, rows }),
            form => Err(SegmentError::UnknownForm(form.into())),
        }
    }

    fn step(&mut self) -> Result<u32, SegmentError> {
        let coded = self.reader.number()?;
        let delta = (coded >> 1).cast_signed() ^ -(coded & 1).cast_signed();
        self.second = self.second.checked_add_signed(delta).ok_or(SegmentError::InvalidValue)?;
        if self.second >= SECONDS_OF_DAY {
            return Err(SegmentError::InvalidValue);
        }
        if self.rows == 0 {
            self.reader.end()?;
        }
        u32::try_from(self.second).map_err(|_| SegmentError::InvalidValue)
    }
}

impl Iterator for TimeColumn<'_> {
    type Item = Result<u32, SegmentError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.rows = self.rows.checked_sub(1)?;
        Some(self.step())
    }
}

impl<'a> KindColumn<'a> {
    /// Reads a column of `rows` rows.
    ///
    /// # Errors
    /// If it is not one. Codes are not checked: see [`row_kind`].
    pub fn decode(bytes: &'a [u8], rows: usize) -> Result<Self, SegmentError> {
        match bytes {
            [] => Err(SegmentError::CutOff),
            [1, kind] => Ok(Self::All(*kind)),
            [2, kinds @ ..] => Reader(kinds).exactly(rows).map(Self::Each),
            [form, ..] => Err(SegmentError::UnknownForm((*form).into())),
        }
    }
}

impl<'a> VisitorColumn<'a> {
    /// Reads a column of `rows` rows.
    ///
    /// # Errors
    /// If it is not one.
    pub fn decode(bytes: &'a [u8], rows: usize) -> Result<Self, SegmentError> {
        match bytes {
            [] => Err(SegmentError::CutOff),
            [0] => Ok(Self::None),
            [1, visitors @ ..] => {
                let visitors = Reader(visitors).exactly(rows.saturating_mul(8))?;
                Ok(Self::Each(visitors.as_chunks().0))
            }
            [form, ..] => Err(SegmentError::UnknownForm((*form).into())),
        }
    }
}

impl<'a> DictionaryColumn<'a> {
    /// Reads a column of `rows` rows.
    ///
    /// # Errors
    /// If it is not one.
    pub fn decode(bytes: &'a [u8], rows: usize) -> Result<Self, SegmentError> {
        let mut reader = Reader(bytes);
        match reader.byte()? {
            0 => {
                reader.end()?;
                return Ok(Self { values: vec![""], codes: Codes::One });
            }
            1 => {}
            form => return Err(SegmentError::UnknownForm(form.into())),
        }
        let count = reader.number()?;
        let mut values = Vec::new();
        for _ in 0..count {
            values.push(str::from_utf8(reader.text()?).map_err(|_| SegmentError::InvalidValue)?);
        }
        let codes = match values.len() {
            0 | 1 => {
                reader.end()?;
                Codes::One
            }
            2..=256 => Codes::Narrow(reader.exactly(rows)?),
            _ => Codes::Wide(reader.exactly(rows.saturating_mul(2))?.as_chunks().0),
        };
        let column = Self { values, codes };
        match column.codes.max() {
            Some(code) if usize::from(code) >= column.values.len() => Err(SegmentError::InvalidValue),
            _ => Ok(column),
        }
    }
}

impl Codes<'_> {
    /// Returns the code of a row; 0 for one that there is not.
    #[must_use]
    pub fn get(&self, row: usize) -> u16 {
        match self {
            Self::One => 0,
            Self::Narrow(codes) => codes.get(row).copied().map_or(0, u16::from),
            Self::Wide(codes) => codes.get(row).copied().map_or(0, u16::from_le_bytes),
        }
    }

    fn max(&self) -> Option<u16> {
        match self {
            Self::One => Some(0),
            Self::Narrow(codes) => largest(codes.iter().map(|code| u16::from(*code))),
            Self::Wide(codes) => largest(codes.iter().map(|code| u16::from_le_bytes(*code))),
        }
    }
}

/// Returns the largest code. A loop, because the iterator's own function is slow where code is compiled
/// for size.
#[inline(always)]
fn largest(codes: impl Iterator<Item = u16>) -> Option<u16> {
    let mut largest = None;
    for code in codes {
        if largest.is_none_or(|largest| code > largest) {
            largest = Some(code);
        }
    }
    largest
}

/// Writes a time column: the seconds since the day's start of each row.
pub(super) fn encode_times(seconds: &[u32]) -> Vec<u8> {
    let mut bytes = vec![1];
    let mut before = 0i64;
    for &second in seconds {
        let delta = i64::from(second) - before;
        write_number(&mut bytes, (delta << 1 ^ delta >> 63).cast_unsigned());
        before = i64::from(second);
    }
    bytes
}

/// Writes a kind column.
pub(super) fn encode_kinds(kinds: &[u8]) -> Vec<u8> {
    match kinds.split_first() {
        Some((first, rest)) if rest.iter().all(|kind| kind == first) => vec![1, *first],
        _ => [2].iter().chain(kinds).copied().collect(),
    }
}

/// Writes a visitor column.
pub(super) fn encode_visitors(visitors: &[u64]) -> Vec<u8> {
    match visitors.iter().all(|&visitor| visitor == 0) {
        true => vec![0],
        false => {
            std::iter::once(1).chain(visitors.iter().flat_map(|visitor| visitor.to_le_bytes())).collect()
        }
    }
}

/// Writes the column of a dimension.
pub(super) fn encode_dictionary(values: &[String], codes: &[u16]) -> Vec<u8> {
    if values.iter().all(String::is_empty) {
        return vec![0];
    }
    let mut bytes = vec![1];
    write_number(&mut bytes, values.len() as u64);
    for value in values {
        write_number(&mut bytes, value.len() as u64);
        bytes.extend(value.as_bytes());
    }
    match values.len() {
        0 | 1 => {}
        2..=256 => bytes.extend(codes.iter().map(|&code| u8::try_from(code).unwrap_or(0))),
        _ => bytes.extend(codes.iter().flat_map(|code| code.to_le_bytes())),
    }
    bytes
}
