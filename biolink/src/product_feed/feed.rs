//! A feed that was read: its products, and the faults of those that were not.

use std::collections::{HashMap, HashSet};

use super::{
    format::FeedFormat,
    product::{Draft, FeedProduct, ProductError},
};

/// Products of a feed that are read. Further ones are left out.
pub const MAX_FEED_PRODUCTS: usize = 25_000;
/// Faults that are kept with their text.
const MAX_FAULTS: usize = 20;

/// The products of a feed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Feed {
    /// Its format.
    pub format: FeedFormat,
    /// Its products, in its order.
    pub products: Vec<FeedProduct>,
    /// Items of the response, whether they could be read or not.
    pub items: usize,
    /// Items that could not be read.
    pub faulty: usize,
    /// The first of their faults.
    pub faults: Vec<FeedFault>,
    /// Whether it has more products than are read.
    pub truncated: bool,
    /// The place of the first product of each group.
    groups: HashMap<String, usize>,
    ids: HashSet<String>,
}

/// An item that cannot be shown, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FeedFault {
    /// Its place in the feed, from 1.
    pub item: usize,
    /// Its name in the shop, if it has one.
    pub id: Option<String>,
    /// Why it cannot be shown.
    pub error: ProductError,
}

impl Feed {
    pub(super) fn new(format: FeedFormat) -> Self {
        Self {
            format,
            products: Vec::new(),
            items: 0,
            faulty: 0,
            faults: Vec::new(),
            truncated: false,
            groups: HashMap::new(),
            ids: HashSet::new(),
        }
    }

    /// Adds an item. Of items that share an id or a group, the first one stays, a group with the lowest
    /// price of its variants.
    pub(super) fn add(&mut self, draft: Draft, currency: Option<&str>) {
        self.items = self.items.saturating_add(1);
        if self.products.len() >= MAX_FEED_PRODUCTS {
            self.truncated = true;
            return;
        }
        let (id, group) = (draft.id.clone(), draft.group.clone());
        let read = draft.product(currency);
        let first = group.as_ref().and_then(|group| self.groups.get(group));
        if let (Ok(variant), Some(first)) = (&read, first.and_then(|at| self.products.get_mut(*at))) {
            first.add_variant(variant);
            return;
        }
        match read {
            Ok(product) if self.ids.insert(product.external_id.clone()) => {
                self.groups.extend(group.map(|group| (group, self.products.len())));
                self.products.push(product);
            }
            Ok(_) => self.refuse(id, ProductError::Duplicate),
            Err(error) => self.refuse(id, error),
        }
    }

    /// Adds the products of the next part of the same feed.
    #[must_use]
    pub(super) fn followed_by(mut self, next: Self) -> Self {
        let before = self.items;
        self.items = self.items.saturating_add(next.items);
        self.faulty = self.faulty.saturating_add(next.faulty);
        let space = MAX_FAULTS.saturating_sub(self.faults.len());
        let faults = next.faults.into_iter().take(space);
        self.faults
            .extend(faults.map(|fault| FeedFault { item: fault.item.saturating_add(before), ..fault }));
        for product in next.products {
            if self.products.len() >= MAX_FEED_PRODUCTS {
                self.truncated = true;
            } else if self.ids.insert(product.external_id.clone()) {
                self.products.push(product);
            }
        }
        self
    }

    /// Returns true if the feed has a product with this name.
    #[must_use]
    pub fn has(&self, external_id: &str) -> bool {
        self.ids.contains(external_id)
    }

    fn refuse(&mut self, id: Option<String>, error: ProductError) {
        self.faulty = self.faulty.saturating_add(1);
        if self.faults.len() < MAX_FAULTS {
            let id = id.map(|id| id.chars().take(FeedProduct::MAX_ID).collect());
            self.faults.push(FeedFault { item: self.items, id, error });
        }
    }
}
