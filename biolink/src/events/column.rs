//! The columns of stored events: how the events of one page and one UTC day are written.
//!
//! A store keeps each column as its own value, so that a query reads only the columns that it
//! needs. Each column begins with a byte that names its form:
//!
//! | column | form | bytes after it |
//! |---|---|---|
//! | time | 1 | for each row, the seconds since the row before (the first: since the day's start), zigzag and LEB128 |
//! | kind | 1 | one byte for all rows |
//! | | 2 | 4 bits for each row |
//! | visitor | 0 | none: no row has a visitor |
//! | | 1 | 6 bytes for each row, little-endian; 0 means none |
//! | dimension | 0 | none: every value is empty |
//! | | 1 | the values, then the codes |
//!
//! A kind is [`EventKind::code`], plus [`IGNORED`] for an event that is not counted. The values of a
//! dimension are their number (LEB128) and, for each, its length in bytes (LEB128) and its UTF-8. The
//! codes say which value a row has: none for a single value, 1, 2, 4 or 8 bits for each row for at most
//! 2, 4, 16 or 256 values, and two bytes, little-endian, for more. Where several rows share a byte, the
//! first has its lowest bits, and those that are left are not read.
//!
//! Why: docs/decisions/analytics.md, "Events are stored in columns of few bits".

use std::borrow::Cow;

use super::{
    bytes::{Reader, SegmentError, write_number},
    event::EventKind,
};

/// The bit of a row's kind that says that the event is not counted.
pub(super) const IGNORED: u8 = 0x08;
/// Bits of a kind.
const KIND_BITS: u32 = 4;
/// The greatest number of a visitor.
pub(super) const MAX_VISITOR: u64 = (1 << 48) - 1;
pub(super) const SECONDS_OF_DAY: u64 = 86_400;

/// A time column.
#[derive(Clone, Debug)]
pub struct TimeColumn<'a> {
    reader: Reader<'a>,
    second: u64,
    rows: usize,
}

/// A kind column.
#[derive(Clone, Debug)]
pub enum KindColumn {
    /// All rows have this kind.
    All(u8),
    /// The kind of each row.
    Each(Vec<u8>),
}

/// A visitor column.
#[derive(Clone, Copy, Debug)]
pub enum VisitorColumn<'a> {
    /// No row has a visitor.
    None,
    /// The visitor of each row; 0 means none.
    Each(&'a [VisitorBytes]),
}

/// A visitor as it is stored: see [`visitor_of`].
pub type VisitorBytes = [u8; 6];

/// A column of a dimension.
#[derive(Clone, Debug)]
pub struct DictionaryColumn<'a> {
    /// The values that codes stand for. An empty text means none.
    pub values: Vec<&'a str>,
    /// The code of each row: below the number of values.
    pub codes: Codes<'a>,
}

/// The codes of the rows.
#[derive(Clone, Debug)]
pub enum Codes<'a> {
    /// All rows have the code 0.
    One,
    /// One byte for each row.
    Narrow(Cow<'a, [u8]>),
    /// Two bytes for each row, little-endian.
    Wide(&'a [[u8; 2]]),
}

/// Returns the kind of a row, and whether it is counted; `None` for an unknown code.
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
        // Zigzag: events arrive slightly out of order, and a small step back must not take ten
        // bytes.
        let delta = (coded >> 1).cast_signed() ^ -(coded & 1).cast_signed();
        self.second = self.second.checked_add_signed(delta).ok_or(SegmentError::InvalidValue)?;
        // The counter has a minute for each of the day, and a later one would be the first.
        if self.second >= SECONDS_OF_DAY {
            return Err(SegmentError::InvalidValue);
        }
        // The last row: bytes that are left mean that the number of rows is wrong.
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

/// Returns the number of a visitor; 0 means none.
#[inline(always)]
pub fn visitor_of([a, b, c, d, e, f]: VisitorBytes) -> u64 {
    u64::from_le_bytes([a, b, c, d, e, f, 0, 0])
}

impl KindColumn {
    /// Reads a column of `rows` rows.
    ///
    /// # Errors
    /// If it is not one. Codes are not checked: see [`row_kind`].
    pub fn decode(bytes: &[u8], rows: usize) -> Result<Self, SegmentError> {
        match bytes {
            [] => Err(SegmentError::CutOff),
            [1, kind] => Ok(Self::All(*kind)),
            [2, kinds @ ..] => unpack(Reader(kinds), KIND_BITS, rows).map(Self::Each),
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
                // Exactly: bytes too many mean that the number of rows is not that of this column.
                let visitors = Reader(visitors).exactly(rows.saturating_mul(size_of::<VisitorBytes>()))?;
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
        let codes = match code_bits(values.len()) {
            0 => {
                reader.end()?;
                Codes::One
            }
            // Unpacked here, so that the counter has one loop for all widths below a byte.
            bits @ 1..8 => Codes::Narrow(unpack(reader, bits, rows)?.into()),
            8 => Codes::Narrow(reader.exactly(rows)?.into()),
            _ => Codes::Wide(reader.exactly(rows.saturating_mul(2))?.as_chunks().0),
        };
        let column = Self { values, codes };
        match column.codes.max() {
            // Once here, so that no row has to be checked while it is counted.
            Some(code) if usize::from(code) >= column.values.len() => Err(SegmentError::InvalidValue),
            _ => Ok(column),
        }
    }
}

impl Codes<'_> {
    /// Returns the code of a row; 0 for one that there is not.
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
        // A segment often has views alone.
        Some((first, rest)) if rest.iter().all(|kind| kind == first) => vec![1, *first],
        _ => {
            let mut bytes = vec![2];
            pack(&mut bytes, kinds.iter().copied(), KIND_BITS);
            bytes
        }
    }
}

/// Writes a visitor column.
pub(super) fn encode_visitors(visitors: &[u64]) -> Vec<u8> {
    match visitors.iter().all(|&visitor| visitor == 0) {
        true => vec![0],
        false => {
            let bytes = visitors.iter().flat_map(|visitor| {
                let [a, b, c, d, e, f, ..] = visitor.to_le_bytes();
                [a, b, c, d, e, f]
            });
            std::iter::once(1).chain(bytes).collect()
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
    let narrow = codes.iter().map(|&code| u8::try_from(code).unwrap_or(0));
    match code_bits(values.len()) {
        0 => {}
        bits @ 1..=8 => pack(&mut bytes, narrow, bits),
        _ => bytes.extend(codes.iter().flat_map(|code| code.to_le_bytes())),
    }
    bytes
}

/// Returns the bits of a code with this number of values.
const fn code_bits(values: usize) -> u32 {
    match values {
        0 | 1 => 0,
        2 => 1,
        // No width of three bits: a code must not lie across two bytes.
        3..=4 => 2,
        5..=16 => 4,
        17..=256 => 8,
        _ => 16,
    }
}

/// Writes numbers of `bits` bits each: 1, 2, 4 or 8.
fn pack(bytes: &mut Vec<u8>, numbers: impl Iterator<Item = u8>, bits: u32) {
    let mut used = u8::BITS;
    for number in numbers {
        if used == u8::BITS {
            bytes.push(0);
            used = 0;
        }
        if let Some(last) = bytes.last_mut() {
            *last |= number << used;
        }
        used += bits;
    }
}

/// Reads `rows` numbers of `bits` bits each: 1, 2 or 4.
fn unpack(reader: Reader<'_>, bits: u32, rows: usize) -> Result<Vec<u8>, SegmentError> {
    let of_byte = (u8::BITS / bits) as usize;
    let packed = reader.exactly(rows.div_ceil(of_byte))?;
    let mask = (1u8 << bits) - 1;
    let mut numbers = vec![0; packed.len().saturating_mul(of_byte)];
    for (numbers, byte) in numbers.chunks_exact_mut(of_byte).zip(packed) {
        let mut rest = *byte;
        for number in numbers {
            *number = rest & mask;
            rest >>= bits;
        }
    }
    // The last byte may have room for more numbers than there are rows.
    numbers.truncate(rows);
    Ok(numbers)
}
