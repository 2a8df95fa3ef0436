//! The values of a group: a hash table from text to counts.

use serde::{Deserialize, Serialize};

use super::tally::Tally;

/// The values of a group.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct GroupReport {
    pub(super) values: Vec<ValueCount>,
    /// All other values together. Distinct visitors of it are not known.
    pub(super) other: Tally,
}

/// The counts of one value of a group.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct ValueCount {
    pub(super) value: String,
    pub(super) tally: Tally,
}

/// An open-addressing hash table from value to tally. It keeps at most [`MAX_VALUES`]. What exceeds
/// them, and what collides with too many others, counts as [`ValueTable::OTHER`].
#[derive(Clone, Debug)]
pub(super) struct ValueTable {
    /// Ids of values, at places that follow from their hashes; 0 is a free place.
    places: Vec<u32>,
    /// By id, from 1.
    rows: Vec<ValueCount>,
    other: Tally,
    overflowed: bool,
}

/// The most values that are kept while events are counted.
const MAX_VALUES: usize = 30_000;
/// More than twice the values, and a power of two.
const PLACES: usize = 1 << 16;
/// The most places that are looked at for a value. Values can be chosen so that they share a hash,
/// and may not make the table slow.
const MAX_PROBES: usize = 64;

impl ValueTable {
    /// The id of all values that are not kept.
    pub(super) const OTHER: u32 = 0;

    pub(super) fn new() -> Self {
        Self { places: vec![0; PLACES], rows: Vec::new(), other: Tally::default(), overflowed: false }
    }

    /// Returns the id of a value, which is added if it is new.
    pub(super) fn id(&mut self, value: &str) -> u32 {
        let first = hash(value) as usize;
        for probe in 0..MAX_PROBES {
            let Some(id) = self.places.get_mut(first.wrapping_add(probe) % PLACES) else { break };
            match self.rows.get((*id as usize).wrapping_sub(1)) {
                Some(row) if row.value == value => return *id,
                Some(_) => {}
                // Values are texts of visitors. A flood of made-up ones must not fill the isolate.
                None if self.rows.len() == MAX_VALUES => break,
                None => {
                    self.rows.push(ValueCount { value: value.to_owned(), tally: Tally::default() });
                    *id = u32::try_from(self.rows.len()).unwrap_or(Self::OTHER);
                    return *id;
                }
            }
        }
        self.overflowed = true;
        Self::OTHER
    }

    /// Returns the counts of a value.
    pub(super) fn tally_mut(&mut self, id: u32) -> &mut Tally {
        match self.rows.get_mut((id as usize).wrapping_sub(1)) {
            Some(row) => &mut row.tally,
            None => &mut self.other,
        }
    }

    /// Returns true if values were lost, because there were too many.
    pub(super) const fn has_overflowed(&self) -> bool {
        self.overflowed
    }

    /// Returns the values with the most events, at most `max`, and the sum of the others.
    pub(super) fn into_report(self, max: usize) -> GroupReport {
        let least = least_rank(&self.rows, max);
        let mut report = GroupReport { values: Vec::new(), other: self.other };
        for row in self.rows {
            if rank(&row) >= least {
                report.values.push(row);
            } else {
                report.other.add(&row.tally);
            }
        }
        report
    }
}

/// Returns the rank that the last of the first `max` values has, with the help of bisection.
fn least_rank(rows: &[ValueCount], max: usize) -> u64 {
    if rows.len() <= max {
        return 0;
    }
    let ranks: Vec<u64> = rows.iter().map(rank).collect();
    let (mut low, mut high) = (0, u64::MAX);
    while low < high {
        let middle = low + (high - low) / 2;
        if ranks.iter().filter(|rank| **rank >= middle).count() <= max {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    low
}

/// Returns a rank by the number of events. Values with equal numbers are ranked by their hashes, so
/// that it does not matter which came first.
fn rank(row: &ValueCount) -> u64 {
    let events = row.tally.events().min(u32::MAX.into());
    events << 32 | u64::from(hash(&row.value))
}

/// Returns a hash. Not cryptographic: see [`MAX_PROBES`].
fn hash(value: &str) -> u32 {
    let (words, rest) = value.as_bytes().as_chunks::<8>();
    let mut last = [0; 8];
    last.iter_mut().zip(rest).for_each(|(to, from)| *to = *from);
    let mut hash = value.len() as u64;
    for word in words.iter().chain([&last]) {
        hash = (hash.rotate_left(29) ^ u64::from_le_bytes(*word)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }
    // The upper half is the one that is mixed well.
    u32::try_from(hash >> 32).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analytics::rows::class;

    fn table(values: impl Iterator<Item = String>) -> ValueTable {
        let mut table = ValueTable::new();
        for value in values {
            let id = table.id(&value);
            table.tally_mut(id).add_event(class::VIEW);
        }
        table
    }

    fn sum(report: &GroupReport) -> u64 {
        report.values.iter().map(|row| row.tally.events()).sum::<u64>() + report.other.events()
    }

    #[test]
    fn values_beyond_the_limit_are_counted_as_other() {
        let table = table((0..40_000).map(|nth| format!("value {nth}")));
        assert!(table.has_overflowed());
        let report = table.into_report(usize::MAX);
        assert!(report.values.len() <= MAX_VALUES && report.other.events() >= 10_000);
        assert_eq!(sum(&report), 40_000);
    }

    #[test]
    fn report_keeps_the_values_with_the_most_events() {
        // The value n comes n times.
        let table = table((1..=200).flat_map(|nth| vec![format!("{nth:03}"); nth]));
        assert!(!table.has_overflowed());
        let report = table.into_report(10);
        let mut kept: Vec<_> = report.values.iter().map(|row| row.value.as_str()).collect();
        kept.sort_unstable();
        assert_eq!(kept, ["191", "192", "193", "194", "195", "196", "197", "198", "199", "200"]);
        assert_eq!(sum(&report), 200 * 201 / 2);
    }

    #[test]
    fn values_with_equal_counts_are_kept_in_any_order() {
        let kept = |values: Vec<String>| {
            let report = table(values.into_iter()).into_report(50);
            let mut kept: Vec<_> = report.values.into_iter().map(|row| row.value).collect();
            kept.sort_unstable();
            kept
        };
        let values: Vec<_> = (0..500).map(|nth| format!("value {nth}")).collect();
        let expected = kept(values.clone());
        assert_eq!(expected.len(), 50);
        assert_eq!(kept(values.into_iter().rev().collect()), expected);
    }
}
