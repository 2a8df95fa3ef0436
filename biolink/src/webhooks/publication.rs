//! A publication: what changed with a revision that went live.

mod diff;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use shared::json;
use shared::time::UnixMillis;

use self::diff::changed;
use crate::page::{PageDocument, ProductId, document::Product};

/// A publication of a page.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Publication {
    /// The cause.
    pub trigger: Trigger,
    /// The moment at which the revision went live.
    pub at: UnixMillis,
    /// The revision.
    pub revision: u64,
    /// The revision that was live before; `None` for the first one, and after the page was taken down.
    pub previous_revision: Option<u64>,
    /// JSON Pointers (RFC 6901) into the document, at most [`MAX_CHANGES`]. There are none if no
    /// revision was live before.
    #[serde(default)]
    pub changes: Vec<String>,
    /// The number of entries in the list of links.
    #[serde(default)]
    pub links_count: u32,
    /// The number of products.
    #[serde(default)]
    pub products_count: u32,
    /// Products that the previous revision did not have.
    #[serde(default)]
    pub added: Vec<ProductRef>,
    /// Products that differ from those of the previous revision.
    #[serde(default)]
    pub updated: Vec<ProductRef>,
    /// Products that only the previous revision had.
    #[serde(default)]
    pub removed: Vec<ProductRef>,
}

/// The cause of a publication.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Trigger {
    /// A call of the API.
    Api,
    /// A moment that was set before.
    Schedule,
    /// A product source had changes.
    ProductSync,
}

/// A product that changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProductRef {
    /// Its id.
    pub id: ProductId,
    /// Its name in the shop.
    pub external_id: Option<String>,
}

/// Most pointers of a publication. Beyond, those of the members of the document are given.
pub const MAX_CHANGES: usize = 50;

impl Publication {
    /// Returns the publication of a revision. `previous` is the revision that was live before.
    pub fn new(
        trigger: Trigger,
        at: UnixMillis,
        (revision, document): (u64, &PageDocument),
        previous: Option<(u64, &PageDocument)>,
    ) -> Self {
        let before = previous.map_or(&[][..], |(_, before)| &before.products.items);
        let now = &document.products.items;
        let find = |products: &[Product], id| products.iter().position(|product| product.id == id);
        let is_added = |product: &&Product| find(before, product.id).is_none();
        let is_updated = |product: &&Product| {
            find(before, product.id).and_then(|at| before.get(at)).is_some_and(|old| old != *product)
        };
        Self {
            trigger,
            at,
            revision,
            previous_revision: previous.map(|(revision, _)| revision),
            changes: previous.map(|(_, before)| changes(before, document)).unwrap_or_default(),
            links_count: count(document.links.len()),
            products_count: count(now.len()),
            added: now.iter().filter(is_added).map(ProductRef::of).collect(),
            updated: now.iter().filter(is_updated).map(ProductRef::of).collect(),
            removed: before
                .iter()
                .filter(|product| find(now, product.id).is_none())
                .map(ProductRef::of)
                .collect(),
        }
    }
}

impl ProductRef {
    fn of(product: &Product) -> Self {
        Self { id: product.id, external_id: product.external_id.clone() }
    }
}

fn count(length: usize) -> u32 {
    u32::try_from(length).unwrap_or(u32::MAX)
}

/// Returns pointers to what differs between two documents.
fn changes(before: &PageDocument, now: &PageDocument) -> Vec<String> {
    let (before, now) = (value(before), value(now));
    [usize::MAX, 1]
        .into_iter()
        .map(|depth| changed(&before, &now, depth))
        .fold(Vec::new(), |all, next| if all.is_empty() || all.len() > MAX_CHANGES { next } else { all })
}

/// Returns the document as JSON. It goes through text, since a second serializer for every type of a
/// page would be a tenth of the worker.
fn value(document: &PageDocument) -> Value {
    json::to_string(document).ok().and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default()
}

#[cfg(test)]
mod tests;
