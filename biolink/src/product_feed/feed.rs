//! A feed that was read: its products, and the faults of those that were not.

use std::{
    collections::{HashMap, HashSet},
    mem::discriminant,
};

use shared::sorting::sort_by_key;

use super::{
    format::FeedFormat,
    number_format::NumberFormat,
    price::{Evidence, PriceRules},
    product::{Draft, FeedProduct},
    product_error::ProductError,
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
    /// The first faults of items that are shown, without what is wrong.
    pub notes: Vec<FeedFault>,
    /// Whether it has more products than are read.
    pub truncated: bool,
    /// The evidence of its prices for a number format.
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
    fn new(item: usize, id: Option<String>, error: ProductError) -> Self {
        let id = id.map(|id| id.chars().take(FeedProduct::MAX_ID).collect());
        Self { item, id, error }
    }

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
            notes: Vec::new(),
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
        // Before the bound and before faults: the prices of products that are left out show the
        // format too.
        draft.show_numbers(&mut self.evidence, rules);
        if self.products.len() >= MAX_FEED_PRODUCTS {
            self.truncated = true;
            return;
        }
        let (id, group) = (draft.id.clone(), draft.group.clone());
        let read = draft.product(rules);
        let first = group.as_ref().and_then(|group| self.groups.get(group));
        match read {
            // A page shows one entry for all variants. Each as its own would fill it with one
            // shirt.
            Ok((variant, note)) if let Some(first) = first.and_then(|at| self.products.get_mut(*at)) => {
                first.add_variant(variant);
                self.note(id, note);
            }
            Ok((product, note)) if self.ids.insert(product.external_id.clone()) => {
                self.groups.extend(group.map(|group| (group, self.products.len())));
                self.products.push(product);
                self.note(id, note);
            }
            // The first one stays: with two of an id, each sync would turn one into the other.
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
        for (list, more) in [(&mut self.faults, next.faults), (&mut self.notes, next.notes)] {
            for fault in more {
                keep(list, FeedFault { item: fault.item.saturating_add(before), ..fault });
            }
        }
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
        for fault in self.faults.iter().chain(&self.notes) {
            let list = if first.iter().any(|other| other.is_like(fault)) { &mut more } else { &mut first };
            list.push(fault);
        }
        let mut chosen: Vec<&FeedFault> = first.into_iter().chain(more).take(max).collect();
        sort_by_key(&mut chosen, |fault| fault.item);
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
        let fault = FeedFault::new(self.items, id, error);
        keep(&mut self.faults, fault);
    }

    fn note(&mut self, id: Option<String>, error: Option<ProductError>) {
        if let Some(error) = error {
            keep(&mut self.notes, FeedFault::new(self.items, id, error));
        }
    }

    /// Says that the XML had bare ampersands: the line of the first, and the items that began before it.
    pub(super) fn note_ampersand(&mut self, (line, item): (usize, usize)) {
        keep(&mut self.notes, FeedFault::new(item, None, ProductError::Ampersand { line }));
    }
}

/// Keeps one of the first faults. The first of a new kind replaces one whose kind is listed twice.
fn keep(faults: &mut Vec<FeedFault>, fault: FeedFault) {
    if faults.len() < MAX_FAULTS {
        faults.push(fault);
    // A kind that is new takes the place of a repeated one: twenty of one kind would hide all
    // others.
    } else if faults.iter().all(|kept| !kept.is_like(&fault)) {
        let is_repeat = |at: &usize| {
            faults.get(*at).is_some_and(|fault| faults.iter().take(*at).any(|before| before.is_like(fault)))
        };
        if let Some(at) = (0..faults.len()).rev().find(is_repeat) {
            faults.remove(at);
            faults.push(fault);
        }
    }
}
