//! The products of a source that are kept: those that pass its filter, in its order.

use serde::{Deserialize, Serialize};
use shared::json;
use shared::{secret::sha256, time::UnixMillis};

use crate::product_feed::{Feed, FeedProduct, Selection};

/// Products that are kept. A page shows the first ones; the others follow when those go.
const MAX_KEPT: usize = 250;
/// The fewest products of which a feed must keep a part.
const BRAKE_FROM: usize = 10;

/// The kept products of a source.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Catalog(Vec<FeedProduct>);

impl Catalog {
    /// Returns the products of a feed.
    pub(super) fn of(feed: &Feed, selection: &Selection, now: UnixMillis) -> Self {
        Self(selection.select(&feed.products, MAX_KEPT, now))
    }

    /// Returns true if a feed lacks more than four fifths of at least ten products that are kept.
    pub(super) fn would_lose_most(&self, feed: &Feed) -> bool {
        let lost = self.0.iter().filter(|product| !feed.has(&product.external_id)).count();
        // A shop with few products may well replace them all.
        self.0.len() >= BRAKE_FROM && lost.saturating_mul(5) > self.0.len().saturating_mul(4)
    }

    /// Takes in a push. What is new comes first, because a page may show a few products only.
    pub(super) fn push(
        &mut self,
        upserts: Vec<FeedProduct>,
        deletes: &[String],
        selection: &Selection,
        now: UnixMillis,
    ) {
        self.0.retain(|product| !deletes.contains(&product.external_id));
        // In reverse, because each is inserted at the front: they stand in the order of the push.
        for product in upserts.into_iter().rev() {
            match self.0.iter_mut().find(|kept| kept.external_id == product.external_id) {
                Some(kept) => *kept = product,
                None => self.0.insert(0, product),
            }
        }
        // Again over all: a push may have changed what the filter looks at.
        self.0 = selection.select(&self.0, MAX_KEPT, now);
    }

    /// Returns the products that the page is to show from `now`.
    pub fn shown(&self, selection: &Selection, now: UnixMillis) -> Vec<FeedProduct> {
        selection.select(&self.0, selection.max_items, now)
    }

    /// Returns the currency of its prices.
    pub fn currency(&self) -> Option<&str> {
        self.0.iter().find_map(|product| product.price.as_ref()).map(|price| price.currency.as_str())
    }
}

/// Returns a digest of products.
pub(super) fn digest(products: &[FeedProduct]) -> String {
    // Products are plain data, which always serializes.
    let text = json::to_string(products).unwrap_or_default();
    sha256(&[b"utg.products.v1", text.as_bytes()]).iter().take(16).map(|byte| format!("{byte:02x}")).collect()
}
