//! Pushes that arrived since a fetch began.

use serde::{Deserialize, Serialize};
use shared::time::UnixMillis;

use super::Catalog;
use crate::product_feed::{FeedProduct, Selection};

/// Products and names that are kept. Behind more, the feed is fetched again.
const MAX_CHANGES: usize = 250;

/// Pushes that arrived since a fetch began, which its feed may not have.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct PushedSince {
    pushes: Vec<(Vec<FeedProduct>, Vec<String>)>,
    /// Whether there were more than are kept.
    is_truncated: bool,
}

impl PushedSince {
    pub(super) fn add(&mut self, upserts: &[FeedProduct], deletes: &[String]) {
        self.pushes.push((upserts.to_vec(), deletes.to_vec()));
        if self.pushes.iter().map(|(upserts, deletes)| upserts.len() + deletes.len()).sum::<usize>()
            > MAX_CHANGES
        {
            // Dropped whole: a part of the pushes over the feed would be a state that the shop
            // never had.
            *self = Self { pushes: Vec::new(), is_truncated: true };
        }
    }

    /// Applies the pushes over the feed. Returns false if some are not kept.
    pub(super) fn apply(self, catalog: &mut Catalog, selection: &Selection, now: UnixMillis) -> bool {
        for (upserts, deletes) in self.pushes {
            catalog.push(upserts, &deletes, selection, now);
        }
        !self.is_truncated
    }
}
