//! The rows of a segment, decoded and filtered.

use shared::time::UtcDay;

use super::{filter::Filter, group::BOT, page_query::PageQuery};
use crate::events::{
    Codes, DictionaryColumn, Dimension, EventKind, KindColumn, SegmentError, TimeColumn, row_kind,
};

/// The stored columns of a segment, as far as a query needs them.
#[derive(Clone, Copy, Debug)]
pub struct SegmentColumns<'a> {
    /// The day.
    pub day: UtcDay,
    /// The number of rows.
    pub rows: usize,
    /// The times, if [`PageQuery::needs_time`].
    pub time: Option<&'a [u8]>,
    /// The kinds.
    pub kind: &'a [u8],
    /// The visitors, if [`PageQuery::columns`] says so.
    pub visitor: Option<&'a [u8]>,
    /// The dimensions that [`PageQuery::columns`] names, in the order of [`Dimension::ALL`].
    pub dimensions: [Option<&'a [u8]>; Dimension::COUNT],
}

/// The classes that a row counts as: the place of its count in a [`Histogram`]. The first four are
/// those of a [`Tally`](super::tally::Tally).
pub(super) mod class {
    pub(in super::super) const VIEW: u8 = 0;
    pub(in super::super) const CLICK: u8 = 1;
    pub(in super::super) const SCAN: u8 = 2;
    pub(in super::super) const BOT: u8 = 3;
    pub(in super::super) const CONFIRM: u8 = 4;
    /// Ignored, and not because of a bot.
    pub(in super::super) const IGNORED: u8 = 5;
    /// An unknown kind.
    pub(super) const INVALID: u8 = 6;
    /// Not of the query.
    pub(in super::super) const SKIPPED: u8 = 7;
}

/// The number of rows of each class.
pub(super) type Histogram = [u32; 8];

/// The class of each kind's byte.
const CLASSES: [u8; 256] = {
    let mut classes = [class::INVALID; 256];
    let mut code = 0u8;
    loop {
        let class = match row_kind(code) {
            Some((EventKind::View, true)) => class::VIEW,
            Some((EventKind::Click, true)) => class::CLICK,
            Some((EventKind::Scan, true)) => class::SCAN,
            Some((EventKind::Confirm, true)) => class::CONFIRM,
            Some((EventKind::Confirm, false)) => class::SKIPPED,
            Some((_, false)) => class::IGNORED,
            None => class::INVALID,
        };
        #[allow(clippy::indexing_slicing, reason = "a byte is within 256, and the compiler checks it")]
        {
            classes[code as usize] = class;
        }
        if code == u8::MAX {
            break classes;
        }
        code += 1;
    }
};

/// The decoded dimensions of a segment, in the order of [`Dimension::ALL`].
pub(super) struct Dictionaries<'a>([Option<DictionaryColumn<'a>>; Dimension::COUNT]);

impl<'a> Dictionaries<'a> {
    pub(super) fn decode(segment: &SegmentColumns<'a>, needed: &[Dimension]) -> Result<Self, SegmentError> {
        let mut decoded = [const { None }; Dimension::COUNT];
        for dimension in needed {
            let bytes = segment.dimensions.get(dimension.index()).copied().flatten();
            let column = DictionaryColumn::decode(bytes.ok_or(SegmentError::CutOff)?, segment.rows)?;
            if let Some(place) = decoded.get_mut(dimension.index()) {
                *place = Some(column);
            }
        }
        Ok(Self(decoded))
    }

    pub(super) fn get(&self, dimension: Dimension) -> Option<&DictionaryColumn<'a>> {
        self.0.get(dimension.index())?.as_ref()
    }
}

/// The seconds of a day that belong to a query, and the buckets of its minutes.
#[derive(Clone, Debug)]
pub(super) struct DayClock {
    pub(super) day: UtcDay,
    needs_time: bool,
    first: u32,
    end: u32,
    /// The bucket of the day's start.
    pub(super) bucket: usize,
    /// The bucket of each minute. Empty if the day has one bucket.
    minutes: Vec<u16>,
}

const MINUTES_OF_DAY: u64 = 1440;

impl DayClock {
    pub(super) fn new(query: &PageQuery, day: UtcDay) -> Self {
        let seconds = |ms: u64| u32::try_from(ms.div_ceil(1000)).unwrap_or(u32::MAX);
        let bucket = |at| query.buckets.partition_point(|start| *start <= at).saturating_sub(1);
        let (first, last) = (bucket(day.start()), bucket(day.end().minus(1)));
        let minute = |minute: u64| u16::try_from(bucket(day.start().plus(minute * 60_000))).unwrap_or(0);
        Self {
            day,
            needs_time: query.needs_time(day),
            first: seconds(query.start.since(day.start())),
            end: seconds(query.end.since(day.start())),
            bucket: first,
            minutes: if first == last { Vec::new() } else { (0..MINUTES_OF_DAY).map(minute).collect() },
        }
    }

    /// Returns true if the day belongs to several buckets.
    pub(super) fn has_buckets(&self) -> bool {
        !self.minutes.is_empty()
    }
}

/// The class of each row of a segment, and its bucket.
#[derive(Clone, Debug, Default)]
pub(super) struct Rows {
    pub(super) classes: Vec<u8>,
    /// Empty if the day has one bucket.
    pub(super) buckets: Vec<u16>,
    pub(super) histogram: Histogram,
    /// The number of rows of each class, for each code of [`Dimension::Ignored`].
    pub(super) reasons: Vec<Histogram>,
}

impl Rows {
    /// Reads the rows of a segment. The memory of those before is used again.
    pub(super) fn read(
        &mut self,
        segment: &SegmentColumns<'_>,
        dictionaries: &Dictionaries<'_>,
        filters: &[Filter],
        clock: &DayClock,
    ) -> Result<(), SegmentError> {
        self.read_kinds(segment)?;
        self.buckets.clear();
        if clock.needs_time {
            self.read_times(segment, clock)?;
        }
        for filter in filters {
            let column = filter.by.dimension().and_then(|dimension| dictionaries.get(dimension));
            let column = column.ok_or(SegmentError::CutOff)?;
            // By value, not by row: texts are compared once for each value of the segment.
            let accepted: Vec<_> = column.values.iter().map(|value| filter.accepts(value)).collect();
            // A pass over all rows that changes nothing would be the most expensive part of many
            // queries.
            if accepted.contains(&false) {
                self.map(
                    &column.codes,
                    &accepted,
                    |class, accepted| {
                        if accepted { class } else { class::SKIPPED }
                    },
                );
            }
        }
        let ignored = dictionaries.get(Dimension::Ignored).ok_or(SegmentError::CutOff)?;
        let bots: Vec<_> = ignored.values.iter().map(|value| value.starts_with(BOT)).collect();
        if bots.contains(&true) {
            self.map(&ignored.codes, &bots, |class, is_bot| {
                // Only if it was left: a filter may have skipped the row already.
                if is_bot && class == class::IGNORED { class::BOT } else { class }
            });
        }
        self.count_reasons(ignored);
        Ok(())
    }

    /// Counts all rows, and those of each reason, in one pass.
    fn count_reasons(&mut self, ignored: &DictionaryColumn<'_>) {
        let mut sum = Histogram::default();
        if matches!(ignored.codes, Codes::One) {
            self.classes.iter().for_each(|class| count(std::slice::from_mut(&mut sum), *class, 0));
            self.reasons = vec![sum];
        } else {
            self.reasons = self.count_by(ignored);
            for reason in &self.reasons {
                sum.iter_mut().zip(reason).for_each(|(sum, rows)| *sum += rows);
            }
        }
        self.histogram = sum;
    }

    /// Returns the number of rows of each class, for each code of a column.
    pub(super) fn count_by(&self, column: &DictionaryColumn<'_>) -> Vec<Histogram> {
        let mut counts = vec![Histogram::default(); column.values.len()];
        match &column.codes {
            Codes::One => counts.first_mut().into_iter().for_each(|of| *of = self.histogram),
            Codes::Narrow(codes) => {
                for (class, code) in self.classes.iter().zip(&**codes) {
                    count(&mut counts, *class, u16::from(*code));
                }
            }
            Codes::Wide(codes) => {
                for (class, code) in self.classes.iter().zip(*codes) {
                    count(&mut counts, *class, u16::from_le_bytes(*code));
                }
            }
        }
        counts
    }

    fn read_kinds(&mut self, segment: &SegmentColumns<'_>) -> Result<(), SegmentError> {
        let class = |code: u8| CLASSES.get(usize::from(code)).copied().unwrap_or(class::INVALID);
        self.classes.clear();
        match KindColumn::decode(segment.kind, segment.rows)? {
            KindColumn::All(kind) => self.classes.resize(segment.rows, class(kind)),
            KindColumn::Each(kinds) => self.classes.extend(kinds.into_iter().map(class)),
        }
        if self.classes.contains(&class::INVALID) { Err(SegmentError::InvalidValue) } else { Ok(()) }
    }

    fn read_times(&mut self, segment: &SegmentColumns<'_>, clock: &DayClock) -> Result<(), SegmentError> {
        let times = TimeColumn::decode(segment.time.ok_or(SegmentError::CutOff)?, segment.rows)?;
        for (class, second) in self.classes.iter_mut().zip(times) {
            let second = second?;
            if second < clock.first || second >= clock.end {
                *class = class::SKIPPED;
            }
            if clock.has_buckets() {
                self.buckets.push(clock.minutes.get(second as usize / 60).copied().unwrap_or(0));
            }
        }
        Ok(())
    }

    /// Changes the class of each row, given what holds for its code.
    fn map(&mut self, codes: &Codes<'_>, holds: &[bool], change: impl Fn(u8, bool) -> u8) {
        let holds = |code: u16| holds.get(usize::from(code)).copied().unwrap_or(false);
        match codes {
            Codes::One => {
                let holds = holds(0);
                self.classes.iter_mut().for_each(|class| *class = change(*class, holds));
            }
            Codes::Narrow(codes) => {
                for (class, code) in self.classes.iter_mut().zip(&**codes) {
                    *class = change(*class, holds(u16::from(*code)));
                }
            }
            Codes::Wide(codes) => {
                for (class, code) in self.classes.iter_mut().zip(*codes) {
                    *class = change(*class, holds(u16::from_le_bytes(*code)));
                }
            }
        }
    }
}

/// Counts a row. Inlined even where code is compiled for size: it runs for each event of a report.
#[inline(always)]
fn count(counts: &mut [Histogram], class: u8, code: u16) {
    if let Some(count) = counts.get_mut(usize::from(code)).and_then(|of| of.get_mut(usize::from(class & 7))) {
        *count += 1;
    }
}
