//! A feed that was read: its products, and the faults of those that were not.

use std::{
    collections::{HashMap, HashSet},
    mem::discriminant,
};

use super::{
    format::FeedFormat,
    number_format::NumberFormat,
    price::{Evidence, PriceRules},
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
    /// What its prices say about their number format.
    evidence: Evidence,
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

impl FeedFault {
    /// Returns true if the other one is of the same kind.
    fn is_like(&self, other: &Self) -> bool {
        discriminant(&self.error) == discriminant(&other.error)
    }
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
            evidence: Evidence::default(),
            groups: HashMap::new(),
            ids: HashSet::new(),
        }
    }

    /// Adds an item. Of items that share an id or a group, the first one stays, a group with
    /// what its variants offer.
    pub(super) fn add(&mut self, draft: Draft, rules: &PriceRules<'_>) {
        self.items = self.items.saturating_add(1);
        draft.show_numbers(&mut self.evidence, rules);
        if self.products.len() >= MAX_FEED_PRODUCTS {
            self.truncated = true;
            return;
        }
        let (id, group) = (draft.id.clone(), draft.group.clone());
        let read = draft.product(rules);
        let first = group.as_ref().and_then(|group| self.groups.get(group));
        match read {
            Ok(variant) if let Some(first) = first.and_then(|at| self.products.get_mut(*at)) => {
                first.add_variant(variant);
            }
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
        self.evidence = self.evidence.and(next.evidence);
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

    /// Returns the number format that its prices show, all together; `Auto` if they show none.
    #[must_use]
    pub const fn numbers(&self) -> NumberFormat {
        self.evidence.format()
    }

    /// Returns up to `max` faults in the order of their items, with the first of each kind among them: what
    /// one setting cures is not hidden behind twenty items without a title.
    #[must_use]
    pub fn main_faults(&self, max: usize) -> Vec<&FeedFault> {
        let (mut first, mut more) = (Vec::<&FeedFault>::new(), Vec::new());
        for fault in &self.faults {
            let list = if first.iter().any(|other| other.is_like(fault)) { &mut more } else { &mut first };
            list.push(fault);
        }
        let mut chosen: Vec<&FeedFault> = first.into_iter().chain(more).take(max).collect();
        chosen.sort_by_key(|fault| fault.item);
        chosen
    }

    /// Returns true if a price is read otherwise, or only, in the format that all of them show.
    pub(super) const fn is_open(&self) -> bool {
        self.evidence.is_open() && !matches!(self.numbers(), NumberFormat::Auto)
    }

    /// Returns true if the feed has a product with this name.
    #[must_use]
    pub fn has(&self, external_id: &str) -> bool {
        self.ids.contains(external_id)
    }

    fn refuse(&mut self, id: Option<String>, error: ProductError) {
        self.faulty = self.faulty.saturating_add(1);
        let id = id.map(|id| id.chars().take(FeedProduct::MAX_ID).collect());
        let fault = FeedFault { item: self.items, id, error };
        if self.faults.len() < MAX_FAULTS {
            self.faults.push(fault);
        } else if self.faults.iter().all(|kept| !kept.is_like(&fault)) {
            // A kind that comes late is told of in place of one that is there twice.
            let is_repeat = |at: &usize| {
                self.faults
                    .iter()
                    .take(*at)
                    .zip(self.faults.get(*at))
                    .any(|(before, fault)| before.is_like(fault))
            };
            if let Some(at) = (0..self.faults.len()).rev().find(is_repeat) {
                self.faults.remove(at);
                self.faults.push(fault);
            }
        }
    }
}
