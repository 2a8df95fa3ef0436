//! The counts of a report: of one page, and of all pages of a query.

use serde::{Deserialize, Serialize};

use super::{
    tally::Tally,
    values::{GroupReport, ValueCount, ValueTable},
};
use crate::page::PageId;

/// The counts of one page.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PageReport {
    pub(super) totals: Tally,
    /// In the order of the buckets of the query.
    pub(super) series: Vec<Tally>,
    /// In the order of the groups of the query.
    pub(super) groups: Vec<GroupReport>,
    pub(super) ignored: Vec<IgnoredCount>,
    /// Whether distinct visitors were counted and not estimated, and each value of a group for
    /// itself.
    pub(super) exact: bool,
}

/// The number of events that were not counted for one reason.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct IgnoredCount {
    pub(super) reason: String,
    pub(super) events: u64,
}

/// The counts of all pages of a query.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// All pages together. The visitors of pages are different, so they add up.
    pub(super) all: PageReport,
    pub(super) pages: Vec<(PageId, Tally)>,
}

impl Report {
    /// Returns the report of all pages that responded.
    pub fn merge(pages: impl IntoIterator<Item = (PageId, PageReport)>) -> Self {
        let mut merged = Self { all: PageReport { exact: true, ..PageReport::default() }, pages: Vec::new() };
        let mut groups: Vec<ValueTable> = Vec::new();
        for (id, page) in pages {
            merged.add(id, page, &mut groups);
        }
        merged.all.exact &= !groups.iter().any(ValueTable::has_overflowed);
        merged.all.groups = groups.into_iter().map(|table| table.into_report(usize::MAX)).collect();
        merged
    }

    fn add(&mut self, id: PageId, page: PageReport, groups: &mut Vec<ValueTable>) {
        self.pages.push((id, page.totals));
        let all = &mut self.all;
        all.exact &= page.exact;
        all.totals.add(&page.totals);
        all.series.resize(all.series.len().max(page.series.len()), Tally::default());
        for (sum, added) in all.series.iter_mut().zip(&page.series) {
            sum.add(added);
        }
        for IgnoredCount { reason, events } in page.ignored {
            add_ignored(&mut all.ignored, &reason, events);
        }
        for (at, group) in page.groups.into_iter().enumerate() {
            if groups.len() <= at {
                groups.push(ValueTable::new());
            }
            let Some(table) = groups.get_mut(at) else { continue };
            table.tally_mut(ValueTable::OTHER).add(&group.other);
            for ValueCount { value, tally } in group.values {
                let id = table.id(&value);
                table.tally_mut(id).add(&tally);
            }
        }
    }
}

/// The most reasons that are kept. There are six, and a class for each kind of program.
const MAX_REASONS: usize = 64;

/// Counts events that were ignored for a reason.
pub(super) fn add_ignored(ignored: &mut Vec<IgnoredCount>, reason: &str, events: u64) {
    // A damaged store must not make the report grow without end.
    let reason = if ignored.len() < MAX_REASONS { reason } else { "" };
    match ignored.iter_mut().find(|other| other.reason == reason) {
        Some(known) => known.events = known.events.saturating_add(events),
        None => ignored.push(IgnoredCount { reason: reason.to_owned(), events }),
    }
}
