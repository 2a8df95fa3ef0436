//! What has arrived of a page's events and publications.

use serde::{Deserialize, Serialize};

use crate::stats::OutboxRow;

/// Publications of a page that are remembered, so that a repeated one is known.
const MAX_PUBLICATIONS: usize = 50;

/// The progress of a page's events and publications. Messages that are repeated or late bring nothing new.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct PageProgress {
    /// The number of the last row of its store's outbox that was taken.
    taken: u64,
    /// The sequence of its last event among those of the page.
    pub sequence: u64,
    /// The versions of the page that were published.
    published: Vec<u64>,
}

impl PageProgress {
    /// Returns true if a row has not been taken.
    pub fn has_new(&self, rows: &[OutboxRow]) -> bool {
        rows.iter().any(|row| self.taken < row.number)
    }

    /// Takes the rows that have not been taken, in the order of the message.
    pub fn take_new<'a>(&mut self, rows: &'a [OutboxRow]) -> Vec<&'a OutboxRow> {
        let new: Vec<_> = rows.iter().filter(|row| self.taken < row.number).collect();
        self.taken = new.iter().map(|row| row.number).fold(self.taken, u64::max);
        new
    }

    /// Notes a publication. Returns false for a repeated one.
    pub fn publish(&mut self, version: u64) -> bool {
        if self.published.contains(&version) {
            return false;
        }
        self.published.push(version);
        let surplus = self.published.len().saturating_sub(MAX_PUBLICATIONS);
        self.published.drain(..surplus);
        true
    }
}
