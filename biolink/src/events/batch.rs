//! Numbered batches: what an isolate sends to stores, directly or over the queue.

use serde::{Deserialize, Serialize};
use shared::{json, key::KeyId};

use super::{bytes::RowsError, segment::Segment};
use crate::page::PageId;

/// A batch as it is sent: the events of an isolate since its last batch, of one UTC day.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Batch {
    /// The isolate: 16 random hexadecimal digits.
    pub isolate: String,
    /// The number of the batch in its isolate. The first is 1.
    pub number: u64,
    /// Whether events waited for it, of which the isolate could have lost up to a second.
    pub coalesced: bool,
    /// One for each page.
    pub pages: Vec<PageRows>,
}

/// The events of one page in a batch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PageRows {
    /// The page's account.
    pub account: KeyId,
    /// The page.
    pub page: PageId,
    /// The number of the isolate's batch before this one that had events of the page; 0 if there is
    /// none, or none is known.
    pub previous: u64,
    /// Events of the page that the isolate has dropped since, because nothing took them.
    pub dropped: u64,
    /// A [`Segment`] in base64.
    rows: String,
}

/// A message to a page's store: what one batch has for it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Part {
    /// As [`Batch::isolate`].
    pub isolate: String,
    /// As [`Batch::number`].
    pub number: u64,
    /// As [`Batch::coalesced`].
    pub coalesced: bool,
    /// The events.
    pub rows: PageRows,
}

/// The events of several batches for one page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PageDelivery {
    /// The page's account.
    pub account: KeyId,
    /// The page.
    pub page: PageId,
    /// In the order of the batches.
    pub parts: Vec<Part>,
    /// The places of the batches among those that were given.
    pub batches: Vec<usize>,
}

impl Batch {
    /// Reads a message of the queue; `None` for anything else.
    pub fn from_json(text: &str) -> Option<Self> {
        json::from_str(text).ok()
    }

    /// Returns the batch as it is sent.
    pub fn to_json(&self) -> String {
        // Plain strings and numbers, which always serialize.
        json::to_string(self).unwrap_or_default()
    }

    /// Returns what is left of the batch after the stores of these pages have taken theirs; `None` if
    /// that is nothing. It keeps its number, so that a page whose store has taken it counts it once.
    #[must_use]
    pub fn without(mut self, stored: &[PageId]) -> Option<Self> {
        self.pages.retain(|rows| !stored.contains(&rows.page));
        // An empty batch would come again until the queue gives it up.
        (!self.pages.is_empty()).then_some(self)
    }
}

impl PageRows {
    pub(super) fn new(account: KeyId, page: PageId, previous: u64, dropped: u64, segment: &Segment) -> Self {
        Self { account, page, previous, dropped, rows: segment.to_text() }
    }

    /// Reads the events.
    ///
    /// # Errors
    /// If they are not a segment.
    pub fn segment(&self) -> Result<Segment, RowsError> {
        Segment::from_text(&self.rows)
    }
}

/// Returns the seconds until a message comes again of which not all was taken, when it is `age`
/// milliseconds old. So a short failure costs little time, and sixty retries last for three
/// days and a half, which is within the four days for which the queue keeps a message.
pub fn retry_delay(age: u64) -> u32 {
    u32::try_from((age / 2_000).clamp(2, 7_200)).unwrap_or(7_200)
}

/// Groups batches by page, so that each page's store gets one message.
pub fn deliveries(batches: Vec<Batch>) -> Vec<PageDelivery> {
    let mut deliveries: Vec<PageDelivery> = Vec::new();
    for (place, Batch { isolate, number, coalesced, pages }) in batches.into_iter().enumerate() {
        for rows in pages {
            let part = Part { isolate: isolate.clone(), number, coalesced, rows };
            // Each message to a store is a request that is charged.
            match deliveries.iter_mut().find(|delivery| delivery.page == part.rows.page) {
                Some(delivery) => {
                    delivery.parts.push(part);
                    delivery.batches.push(place);
                }
                None => deliveries.push(PageDelivery {
                    account: part.rows.account,
                    page: part.rows.page,
                    parts: vec![part],
                    batches: vec![place],
                }),
            }
        }
    }
    deliveries
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hundred_retries_last_for_four_days() {
        let mut age = 5_000;
        for _ in 0..100 {
            age += u64::from(retry_delay(age)) * 1_000;
        }
        assert!(age > 4 * 86_400_000, "{age}");
    }
}
