//! What is counted: for a whole report, a moment of its series, or a value of a group.

use serde::{Deserialize, Serialize};

use super::rows::class;

/// Counts of events and of distinct visitors.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Tally([u64; 8]);

/// A count of a [`Tally`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Count {
    Views,
    Clicks,
    Scans,
    Bots,
    Visitors,
    UniqueClicks,
    UniqueScans,
    ViewsConfirmed,
}

/// The counts of distinct visitors, in the order of [`super::distinct::DistinctSet`].
const DISTINCT: [Count; 4] =
    [Count::Visitors, Count::UniqueClicks, Count::UniqueScans, Count::ViewsConfirmed];

impl Tally {
    /// Returns a count.
    pub(super) fn get(&self, count: Count) -> u64 {
        self.0.get(count as usize).copied().unwrap_or(0)
    }

    /// Returns the number of events.
    pub(super) fn events(&self) -> u64 {
        self.0.iter().take(Count::Visitors as usize).sum()
    }

    /// Adds views, clicks, scans and bots.
    pub(super) fn add_events(&mut self, events: &[u32]) {
        for (count, added) in self.0.iter_mut().zip(events.iter().take(Count::Visitors as usize)) {
            *count = count.saturating_add((*added).into());
        }
    }

    /// Adds an event of a class; those beyond bots are not counted here.
    pub(super) fn add_event(&mut self, class: u8) {
        if class <= class::BOT
            && let Some(count) = self.0.get_mut(usize::from(class))
        {
            *count = count.saturating_add(1);
        }
    }

    /// Adds visitors, and visitors who clicked and scanned, and confirmed views.
    pub(super) fn add_distinct(&mut self, distinct: [u64; 4]) {
        for (count, added) in DISTINCT.into_iter().zip(distinct) {
            if let Some(count) = self.0.get_mut(count as usize) {
                *count = count.saturating_add(added);
            }
        }
    }

    /// Adds all counts of another.
    pub(super) fn add(&mut self, other: &Self) {
        for (count, added) in self.0.iter_mut().zip(other.0) {
            *count = count.saturating_add(added);
        }
    }
}
