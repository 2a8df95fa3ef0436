//! The events of one page and one UTC day, in columns.
//!
//! Between isolate and store a segment is one text of bytes: the version, the day, the number of
//! rows and then each column with its length, all numbers in LEB128. Version 1 has the first sixteen
//! dimensions, version 2 has all. A segment without values in the others is written as version 1, which
//! stores of an older program read too.

use base64::{Engine, engine::general_purpose::STANDARD};
use shared::time::{UnixMillis, UtcDay};

use super::{
    bytes::{Reader, RowsError, SegmentError, write_number},
    column::{
        DictionaryColumn, IGNORED, KindColumn, MAX_VISITOR, SECONDS_OF_DAY, TimeColumn, VisitorColumn,
        encode_dictionary, encode_kinds, encode_times, encode_visitors, row_kind, visitor_of,
    },
    event::{Dimension, Event, EventKind, Values},
};

/// The version of the transport form that has every dimension.
const VERSION: u64 = 2;
/// The number of dimensions of version 1.
const FIRST_DIMENSIONS: usize = 16;
/// The most values that a dimension has in a segment. What exceeds them is [`OTHER`].
const MAX_VALUES: usize = 60_000;
/// The value that stands for all values beyond [`MAX_VALUES`].
const OTHER: &str = "(other)";

/// The dimensions that say where a view comes from, which a click takes from it.
const ORIGIN: [Dimension; 9] = [
    Dimension::Referrer,
    Dimension::Source,
    Dimension::Channel,
    Dimension::UtmSource,
    Dimension::UtmMedium,
    Dimension::UtmCampaign,
    Dimension::UtmTerm,
    Dimension::UtmContent,
    Dimension::Via,
];

/// The values that say where a view comes from. An empty text means none.
pub type Origin = [String; ORIGIN.len()];

/// The events of one page and one UTC day.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Segment {
    day: UtcDay,
    /// Seconds since the day's start.
    seconds: Vec<u32>,
    kinds: Vec<u8>,
    visitors: Vec<u64>,
    dimensions: [Dictionary; Dimension::COUNT],
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Dictionary {
    values: Vec<String>,
    codes: Vec<u16>,
}

/// The columns of a segment as they are stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Columns {
    /// See the module.
    pub time: Vec<u8>,
    /// See the module.
    pub kind: Vec<u8>,
    /// See the module.
    pub visitor: Vec<u8>,
    /// In the order of [`Dimension::ALL`].
    pub dimensions: [Vec<u8>; Dimension::COUNT],
}

impl Segment {
    /// Returns an empty segment of a day.
    pub fn new(day: UtcDay) -> Self {
        Self { day, ..Self::default() }
    }

    /// Returns the day.
    pub const fn day(&self) -> UtcDay {
        self.day
    }

    /// Returns the number of events.
    pub const fn rows(&self) -> usize {
        self.kinds.len()
    }

    /// Adds an event of the segment's day. The time of one of another day is moved to the nearest
    /// second of it.
    pub fn push(&mut self, event: &Event) {
        let second = (event.at.since(self.day.start()) / 1000).min(SECONDS_OF_DAY - 1);
        self.seconds.push(u32::try_from(second).unwrap_or(0));
        self.kinds.push(event.kind.code() | if event.is_counted() { 0 } else { IGNORED });
        // A number of more than six bytes would be cut off when it is stored, and be another one
        // when it is read.
        self.visitors.push(event.visitor & MAX_VISITOR);
        for (dictionary, value) in self.dimensions.iter_mut().zip(&event.values) {
            dictionary.push(value);
        }
    }

    /// Adds the events of another segment of the same day.
    pub fn append(&mut self, other: &Self) {
        self.seconds.extend(&other.seconds);
        self.kinds.extend(&other.kinds);
        self.visitors.extend(&other.visitors);
        for (dictionary, added) in self.dimensions.iter_mut().zip(&other.dimensions) {
            dictionary.append(added);
        }
    }

    /// Returns the events, with their times in whole seconds.
    pub fn events(&self) -> impl Iterator<Item = Event> + '_ {
        let rows = self.seconds.iter().zip(&self.kinds).zip(&self.visitors).enumerate();
        rows.filter_map(|(row, ((&second, &kind), &visitor))| {
            let (kind, _) = row_kind(kind)?;
            let mut values: Values = Default::default();
            for (place, dictionary) in values.iter_mut().zip(&self.dimensions) {
                *place = dictionary.value(row)?.to_owned().into();
            }
            Some(Event { at: self.day.start().plus(u64::from(second) * 1000), kind, visitor, values })
        })
    }

    /// Returns the moments of the first and the last event; `None` of an empty segment.
    pub fn span(&self) -> Option<(UnixMillis, UnixMillis)> {
        let at = |second: &u32| self.day.start().plus(u64::from(*second) * 1000);
        Some((self.seconds.iter().min().map(at)?, self.seconds.iter().max().map(at)?))
    }

    /// Returns the number of counted events of a kind.
    pub fn count(&self, kind: EventKind) -> usize {
        // Ignored events have another code, so they are left out.
        self.kinds.iter().filter(|&&code| code == kind.code()).count()
    }

    /// Returns the second of the day, the visitor and the [`Origin`] of each counted view of a visitor.
    pub fn views(&self) -> impl Iterator<Item = (u32, u64, Origin)> + '_ {
        self.rows_of(EventKind::View).filter_map(|row| {
            let mut origin = Origin::default();
            for (value, dimension) in origin.iter_mut().zip(ORIGIN) {
                self.dimensions.get(dimension.index())?.value(row)?.clone_into(value);
            }
            Some((*self.seconds.get(row)?, *self.visitors.get(row)?, origin))
        })
    }

    /// Gives each counted click of a visitor that has no channel the origin that `find` returns for the
    /// second of the day and the visitor, if it returns one.
    pub fn attribute<'a>(&mut self, find: impl Fn(u32, u64) -> Option<&'a Origin>) {
        let has_channel = |row: &usize| self.value(Dimension::Channel, *row).is_some_and(|it| !it.is_empty());
        // Collected first: the rows are changed below.
        let clicks: Vec<_> = self.rows_of(EventKind::Click).filter(|row| !has_channel(row)).collect();
        for row in clicks {
            let seconds = self.seconds.get(row).zip(self.visitors.get(row));
            let Some(origin) = seconds.and_then(|(second, visitor)| find(*second, *visitor)) else {
                continue;
            };
            for (value, dimension) in origin.iter().zip(ORIGIN) {
                if let Some(dictionary) = self.dimensions.get_mut(dimension.index()) {
                    dictionary.replace(row, value);
                }
            }
        }
    }

    /// Returns the rows of the counted events of a kind that have a visitor.
    fn rows_of(&self, kind: EventKind) -> impl Iterator<Item = usize> + '_ {
        let rows = self.kinds.iter().zip(&self.visitors).enumerate();
        rows.filter(move |(_, (code, visitor))| **code == kind.code() && **visitor != 0).map(|(row, _)| row)
    }

    fn value(&self, dimension: Dimension, row: usize) -> Option<&str> {
        self.dimensions.get(dimension.index())?.value(row)
    }

    /// Returns the columns as they are stored.
    pub fn encode(&self) -> Columns {
        Columns {
            time: encode_times(&self.seconds),
            kind: encode_kinds(&self.kinds),
            visitor: encode_visitors(&self.visitors),
            dimensions: self
                .dimensions
                .each_ref()
                .map(|dimension| encode_dictionary(&dimension.values, &dimension.codes)),
        }
    }

    /// Reads stored columns of `rows` events.
    ///
    /// # Errors
    /// If a column does not have exactly this many rows.
    pub fn decode(day: UtcDay, rows: usize, columns: &Columns) -> Result<Self, SegmentError> {
        let seconds = TimeColumn::decode(&columns.time, rows)?.collect::<Result<_, _>>()?;
        let kinds = match KindColumn::decode(&columns.kind, rows)? {
            KindColumn::All(kind) => vec![kind; rows],
            KindColumn::Each(kinds) => kinds,
        };
        let visitors = match VisitorColumn::decode(&columns.visitor, rows)? {
            VisitorColumn::None => vec![0; rows],
            VisitorColumn::Each(visitors) => visitors.iter().copied().map(visitor_of).collect(),
        };
        let mut dimensions: [Dictionary; Dimension::COUNT] = Default::default();
        for (dictionary, column) in dimensions.iter_mut().zip(&columns.dimensions) {
            *dictionary = Dictionary::decode(column, rows)?;
        }
        Ok(Self { day, seconds, kinds, visitors, dimensions })
    }

    /// Returns the segment as base64.
    pub fn to_text(&self) -> String {
        STANDARD.encode(self.to_bytes())
    }

    /// Reads what [`Segment::to_text`] writes.
    ///
    /// # Errors
    /// For anything else.
    pub fn from_text(text: &str) -> Result<Self, RowsError> {
        let bytes = STANDARD.decode(text).map_err(|_| RowsError::Base64)?;
        Ok(Self::from_bytes(&bytes)?)
    }

    /// Returns the segment as one text of bytes.
    pub fn to_bytes(&self) -> Vec<u8> {
        let Columns { time, kind, visitor, dimensions } = self.encode();
        let mut bytes = Vec::new();
        // During a deployment, isolates of the new program send to stores of the old one.
        let is_first = dimensions.iter().skip(FIRST_DIMENSIONS).all(|column| column.as_slice() == [0]);
        let (version, count) = if is_first { (1, FIRST_DIMENSIONS) } else { (VERSION, Dimension::COUNT) };
        write_number(&mut bytes, version);
        write_number(&mut bytes, self.day.0);
        write_number(&mut bytes, self.rows() as u64);
        for column in [time, kind, visitor].iter().chain(dimensions.iter().take(count)) {
            write_number(&mut bytes, column.len() as u64);
            bytes.extend(column);
        }
        bytes
    }

    /// Reads what [`Segment::to_bytes`] writes.
    ///
    /// # Errors
    /// For anything else.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, SegmentError> {
        let mut reader = Reader(bytes);
        let count = match reader.number()? {
            1 => FIRST_DIMENSIONS,
            VERSION => Dimension::COUNT,
            version => return Err(SegmentError::UnknownForm(version)),
        };
        let (day, rows) = (reader.number()?, reader.number()?);
        // Each row is at least a byte of the time column, so that a short text claims no memory.
        let rows =
            usize::try_from(rows).ok().filter(|rows| *rows <= bytes.len()).ok_or(SegmentError::CutOff)?;
        let (time, kind, visitor) = (reader.text()?, reader.text()?, reader.text()?);
        // A column of form 0 is empty in each row, which is what an older sender means by leaving
        // it out.
        let mut dimensions = [const { Vec::new() }; Dimension::COUNT].map(|_: Vec<u8>| vec![0]);
        for column in dimensions.iter_mut().take(count) {
            *column = reader.text()?.to_vec();
        }
        // Bytes that are left mean that the text is of another form.
        reader.end()?;
        let columns =
            Columns { time: time.to_vec(), kind: kind.to_vec(), visitor: visitor.to_vec(), dimensions };
        Self::decode(UtcDay(day), rows, &columns)
    }
}

impl Dictionary {
    fn push(&mut self, value: &str) {
        let code = self.code(value);
        self.codes.push(code);
    }

    fn replace(&mut self, row: usize, value: &str) {
        let code = self.code(value);
        self.codes.get_mut(row).into_iter().for_each(|place| *place = code);
    }

    /// Returns the code of a value, which is added if it is new. Most rows repeat one of the last
    /// values, so the search begins there.
    fn code(&mut self, value: &str) -> u16 {
        let known = self.values.iter().rposition(|known| known == value);
        let index = known.unwrap_or_else(|| {
            let value = if self.values.len() < MAX_VALUES { value } else { OTHER };
            // `OTHER` is added once and then found as the last. The search above looks for the
            // value itself.
            if self.values.last().is_none_or(|last| last != value) {
                self.values.push(value.to_owned());
            }
            self.values.len() - 1
        });
        u16::try_from(index).unwrap_or(u16::MAX)
    }

    fn append(&mut self, other: &Self) {
        // Once for each value, because the two segments have given their codes independently.
        let codes: Vec<u16> = other.values.iter().map(|value| self.code(value)).collect();
        self.codes.extend(other.codes.iter().map(|&code| codes.get(usize::from(code)).copied().unwrap_or(0)));
    }

    fn value(&self, row: usize) -> Option<&str> {
        Some(self.values.get(usize::from(*self.codes.get(row)?))?.as_str())
    }

    fn decode(bytes: &[u8], rows: usize) -> Result<Self, SegmentError> {
        let column = DictionaryColumn::decode(bytes, rows)?;
        let values = column.values.iter().map(|&value| value.to_owned()).collect();
        let codes = (0..rows).map(|row| column.codes.get(row)).collect();
        Ok(Self { values, codes })
    }
}

#[cfg(test)]
mod tests {
    use proptest::{collection::vec, prelude::*, string::string_regex};

    use super::*;

    const DAY: UtcDay = UtcDay(20_779);

    /// A value of a dimension. A pattern that stands in a strategy as a text is compiled for each value.
    fn value() -> impl Strategy<Value = String> {
        let of = |pattern| string_regex(pattern).unwrap();
        prop_oneof![Just(String::new()), of("[a-c]{1,2}"), of("\\PC{0,20}")]
    }

    prop_compose! {
        fn event()(second in 0..86_400u64, kind in 0..4u8, visitor in prop_oneof![Just(0), 0..=MAX_VISITOR],
                   values in vec(value(), Dimension::COUNT)) -> Event {
            let at = DAY.start().plus(second * 1000);
            let event = Event { visitor, ..Event::new(at, EventKind::from_code(kind).unwrap()) };
            Dimension::ALL.into_iter().zip(values).fold(event, |event, (dimension, value)| event.with(dimension, value))
        }
    }

    fn segment(events: &[Event]) -> Segment {
        let mut segment = Segment::new(DAY);
        events.iter().for_each(|event| segment.push(event));
        segment
    }

    proptest! {
        #[test]
        fn segment_encoded_reads_back(events in vec(event(), 1..60)) {
            let segment = segment(&events);
            prop_assert_eq!(segment.events().collect::<Vec<_>>(), events);
            prop_assert_eq!(Segment::decode(DAY, segment.rows(), &segment.encode()).unwrap(), segment.clone());
            prop_assert_eq!(Segment::from_bytes(&segment.to_bytes()).unwrap(), segment);
        }

        #[test]
        fn segments_appended_are_the_events_of_both(one in vec(event(), 0..30), two in vec(event(), 0..30)) {
            let mut both = segment(&one);
            both.append(&segment(&two));
            prop_assert_eq!(both.events().collect::<Vec<_>>(), [one, two].concat());
        }

        #[test]
        fn bytes_changed_or_cut_never_panic(events in vec(event(), 0..20), at in any::<prop::sample::Index>(), byte: u8) {
            let bytes = segment(&events).to_bytes();
            let mut changed = bytes.clone();
            changed[at.index(bytes.len())] = byte;
            let events = Segment::from_bytes(&changed).map_or(0, |read| read.events().count());
            prop_assert!(events <= changed.len());
            prop_assert!(Segment::from_bytes(&bytes[..at.index(bytes.len())]).is_err());
        }
    }

    #[test]
    fn dimension_with_many_values_reads_back() {
        let mut segment = Segment::new(DAY);
        for number in 0..1000 {
            segment.push(
                &Event::new(DAY.start(), EventKind::Click).with(Dimension::UtmTerm, number.to_string()),
            );
        }
        let read = Segment::decode(DAY, 1000, &segment.encode()).unwrap();
        assert_eq!(read.events().last().unwrap().value(Dimension::UtmTerm), "999");
    }
}
