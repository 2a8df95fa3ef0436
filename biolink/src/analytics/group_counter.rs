//! Counts the events of one page by the values of a group.

use super::{
    distinct::DistinctSet,
    group::GroupBy,
    rows::{Histogram, Rows},
    values::{GroupReport, ValueTable},
};
use crate::events::{DictionaryColumn, Dimension, VisitorBytes, visitor_of};

/// Counts the events of each value of a group.
#[derive(Clone, Debug)]
pub(super) struct GroupCounter {
    by: GroupBy,
    table: ValueTable,
    visitors: Option<DistinctSet>,
}

/// The most values of a group that a page reports.
const MAX_VALUES: usize = 2_000;

impl GroupCounter {
    /// Returns a counter, which counts distinct visitors with a set if there is one.
    pub(super) fn new(by: GroupBy, visitors: Option<DistinctSet>) -> Self {
        Self { by, table: ValueTable::new(), visitors }
    }

    /// Returns the column that is counted.
    pub(super) const fn dimension(&self) -> Option<Dimension> {
        self.by.dimension()
    }

    /// Counts the rows of a segment, whose visitors are empty if they are not needed.
    pub(super) fn count(&mut self, column: &DictionaryColumn<'_>, rows: &Rows, visitors: &[VisitorBytes]) {
        // By code first: a value is hashed once for each segment and not for each row.
        let counts = rows.count_by(column);
        let mut ids = Vec::with_capacity(counts.len());
        for (value, counts) in column.values.iter().zip(&counts) {
            ids.push(self.id(value, counts));
        }
        for (id, counts) in ids.iter().zip(&counts) {
            if let Some(id) = id {
                self.table.tally_mut(*id).add_events(counts);
            }
        }
        let Some(set) = &mut self.visitors else { return };
        for (row, (visitor, class)) in visitors.iter().zip(&rows.classes).enumerate() {
            if let Some(Some(id)) = ids.get(usize::from(column.codes.get(row))) {
                set.insert(visitor_of(*visitor), *id, *class);
            }
        }
    }

    /// Adds the visitors of a day. Returns true if they were counted exactly.
    pub(super) fn end_day(&mut self) -> bool {
        let Some(set) = &mut self.visitors else { return true };
        let is_exact = set.is_exact();
        for (id, distinct) in (0..).zip(set.drain()) {
            // What visitors of all other values did cannot be added up.
            if id != ValueTable::OTHER {
                self.table.tally_mut(id).add_distinct(distinct);
            }
        }
        is_exact
    }

    /// Returns true if there were more values than can be kept.
    pub(super) const fn has_overflowed(&self) -> bool {
        self.table.has_overflowed()
    }

    /// Returns what was counted.
    pub(super) fn finish(self) -> GroupReport {
        self.table.into_report(MAX_VALUES)
    }

    /// Returns the id of a value. `None` if it does not belong to the group, or no event has it.
    fn id(&mut self, value: &str, counts: &Histogram) -> Option<u32> {
        let [views, clicks, scans, bots, confirmed, ..] = *counts;
        let is_counted = views | clicks | scans | bots | confirmed != 0;
        self.by.value(value).filter(|_| is_counted).map(|value| self.table.id(value))
    }
}
