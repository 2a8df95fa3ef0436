//! Counts the events of one page.

use super::{
    distinct::DistinctSet,
    group_counter::GroupCounter,
    page_query::PageQuery,
    report::{IgnoredCount, PageReport, add_ignored},
    rows::{DayClock, Dictionaries, Rows, SegmentColumns},
    tally::Tally,
};
use crate::events::{Dimension, SegmentError, VisitorBytes, VisitorColumn, visitor_of};

/// Counts the events of one page, segment by segment.
#[derive(Clone, Debug)]
pub struct PageCounter {
    query: PageQuery,
    clock: Option<DayClock>,
    totals: Tally,
    series: Vec<Tally>,
    groups: Vec<GroupCounter>,
    ignored: Vec<IgnoredCount>,
    visitors: Option<DistinctSet>,
    bucket_visitors: Option<DistinctSet>,
    exact: bool,
    /// Memory for the rows of a segment.
    rows: Rows,
}

/// The most visitors of a day and page that are counted exactly.
const MAX_VISITORS: usize = 2_000_000;
/// The most pairs of a visitor and a bucket or value that are counted exactly on a day, for all
/// buckets and groups together. An isolate has 128 MB.
const MAX_PAIRS: usize = 1_000_000;
impl PageCounter {
    /// Returns a counter for a query.
    pub fn new(query: PageQuery) -> Self {
        let sets =
            query.groups.iter().filter(|group| group.distinct).count() + usize::from(query.bucket_visitors);
        // Shared out, because the memory of all sets together has the limit.
        let pairs = || DistinctSet::new(MAX_PAIRS / sets.max(1));
        let groups = query.groups.iter();
        let groups = groups.map(|group| GroupCounter::new(group.by, group.distinct.then(pairs)));
        Self {
            clock: None,
            totals: Tally::default(),
            series: vec![Tally::default(); query.buckets.len()],
            groups: groups.collect(),
            ignored: Vec::new(),
            visitors: (query.visitors || query.bucket_visitors).then(|| DistinctSet::new(MAX_VISITORS)),
            bucket_visitors: query.bucket_visitors.then(pairs),
            exact: true,
            rows: Rows::default(),
            query,
        }
    }

    /// Counts the events of a segment. Segments must come in the order of their days, and within a
    /// day in any order.
    ///
    /// # Errors
    /// Returns an error if a column is damaged or missing, or the day is before that of another
    /// segment. Nothing of the segment is counted then.
    pub fn add(&mut self, segment: &SegmentColumns<'_>) -> Result<(), SegmentError> {
        let day = self.clock.as_ref().map(|clock| clock.day);
        // The visitors of a day are known only until the next one begins. A day in two parts would
        // count them twice.
        if day.is_some_and(|day| segment.day < day) {
            return Err(SegmentError::InvalidValue);
        }
        let (first, last) = self.query.days();
        if !(first..=last).contains(&segment.day) {
            return Ok(());
        }
        if day != Some(segment.day) {
            self.end_day();
            self.clock = Some(DayClock::new(&self.query, segment.day));
        }
        let Some(clock) = self.clock.take() else { return Ok(()) };
        let counted = self.count(segment, &clock);
        self.clock = Some(clock);
        counted
    }

    /// Returns what was counted.
    pub fn finish(mut self) -> PageReport {
        self.end_day();
        let overflowed = self.groups.iter().any(GroupCounter::has_overflowed);
        PageReport {
            totals: self.totals,
            series: self.series,
            groups: self.groups.into_iter().map(GroupCounter::finish).collect(),
            ignored: self.ignored,
            exact: self.exact && !overflowed,
        }
    }

    fn count(&mut self, segment: &SegmentColumns<'_>, clock: &DayClock) -> Result<(), SegmentError> {
        let needed = self.query.columns();
        let dictionaries = Dictionaries::decode(segment, &needed.dimensions)?;
        let visitors = match (needed.visitor, segment.visitor) {
            (true, Some(bytes)) => VisitorColumn::decode(bytes, segment.rows)?,
            // A store that leaves the column out is at fault. Zero visitors would look like a true
            // number.
            (true, None) => return Err(SegmentError::CutOff),
            (false, _) => VisitorColumn::None,
        };
        let visitors = match visitors {
            VisitorColumn::None => &[],
            VisitorColumn::Each(visitors) => visitors,
        };
        // The last step that can fail comes before the first count: a damaged segment must not
        // count in part.
        self.rows.read(segment, &dictionaries, &self.query.filters, clock)?;
        self.totals.add_events(&self.rows.histogram);
        self.count_ignored(&dictionaries);
        self.count_series(clock);
        self.count_visitors(visitors, clock);
        for group in &mut self.groups {
            if let Some(column) = group.dimension().and_then(|dimension| dictionaries.get(dimension)) {
                group.count(column, &self.rows, visitors);
            }
        }
        Ok(())
    }

    fn count_ignored(&mut self, dictionaries: &Dictionaries<'_>) {
        let Some(column) = dictionaries.get(Dimension::Ignored) else { return };
        for (reason, counts) in column.values.iter().zip(&self.rows.reasons) {
            let [_, _, _, bots, _, ignored, ..] = *counts;
            if bots + ignored > 0 {
                add_ignored(&mut self.ignored, reason, (bots + ignored).into());
            }
        }
    }

    fn count_series(&mut self, clock: &DayClock) {
        if clock.has_buckets() {
            for (class, bucket) in self.rows.classes.iter().zip(&self.rows.buckets) {
                if let Some(tally) = self.series.get_mut(usize::from(*bucket)) {
                    tally.add_event(*class);
                }
            }
        } else if let Some(tally) = self.series.get_mut(clock.bucket) {
            tally.add_events(&self.rows.histogram);
        }
    }

    fn count_visitors(&mut self, visitors: &[VisitorBytes], clock: &DayClock) {
        let rows = || visitors.iter().copied().map(visitor_of).zip(&self.rows.classes);
        if let Some(set) = &mut self.visitors {
            for (visitor, class) in rows() {
                set.insert(visitor, 0, *class);
            }
        }
        // A day within one bucket needs no pairs: its visitors are those of the whole day.
        if let Some(set) = self.bucket_visitors.as_mut().filter(|_| clock.has_buckets()) {
            for ((visitor, class), bucket) in rows().zip(&self.rows.buckets) {
                set.insert(visitor, u32::from(*bucket), *class);
            }
        }
    }

    /// Adds the visitors of a day. Those of another day are others.
    fn end_day(&mut self) {
        let Some(clock) = self.clock.take() else { return };
        let (totals, series) = (&mut self.totals, &mut self.series);
        if let Some(set) = &mut self.visitors {
            self.exact &= set.is_exact();
            let bucket = series.get_mut(clock.bucket).filter(|_| !clock.has_buckets());
            let distinct = set.drain().into_iter().next().unwrap_or_default();
            totals.add_distinct(distinct);
            bucket.into_iter().for_each(|tally| tally.add_distinct(distinct));
        }
        if let Some(set) = &mut self.bucket_visitors {
            self.exact &= set.is_exact();
            for (tally, distinct) in series.iter_mut().zip(set.drain()) {
                tally.add_distinct(distinct);
            }
        }
        for group in &mut self.groups {
            self.exact &= group.end_day();
        }
    }
}
