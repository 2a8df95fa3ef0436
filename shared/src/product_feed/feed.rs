//! A feed that was read: its products, and the faults of those that were not.

use std::collections::HashSet;

use thiserror::Error;

use super::{
    format::{FeedFormat, FormatChoice},
    items,
    product::{Draft, FeedProduct, ProductError},
    shopify, table, woocommerce, xml,
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
    groups: HashSet<String>,
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

/// A response that is no feed.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum FeedError {
    /// It is not in UTF-8.
    #[error("the feed is not UTF-8")]
    Encoding,
    /// It is a web page.
    #[error("the response is a web page (HTML) and no product feed")]
    WebPage,
    /// It is a web page where a Shopify store has its products.
    #[error("this is not a Shopify store: /products.json is a web page")]
    NotShopify,
    /// Nothing in it says what it is.
    #[error(
        "the response is no product feed: expected Google Merchant RSS, Atom, TSV or CSV, Shopify's products.json, WooCommerce's Store API, or JSON with `items`"
    )]
    Unknown,
    /// It is another format than the one that was chosen.
    #[error("the response is {found}, and the source expects {expected}")]
    OtherFormat {
        /// The format of the response.
        found: FeedFormat,
        /// The format that was chosen.
        expected: FeedFormat,
    },
    /// Its XML is not well-formed.
    #[error("the XML is not well-formed near byte {at}: {reason}")]
    Xml {
        /// The place.
        at: u64,
        /// The reason, as the parser says it.
        reason: String,
    },
    /// It has a document type, which could define entities.
    #[error("the XML has a DOCTYPE, which is not accepted")]
    DocumentType,
    /// It uses an entity other than those of XML itself.
    #[error("the XML has the entity `&{name};`; only &amp; &lt; &gt; &quot; &apos; and numbers are accepted")]
    Entity {
        /// The name of the entity.
        name: String,
    },
    /// Its elements lie too deep in each other.
    #[error("the XML has elements more than {max} deep")]
    TooDeep {
        /// The limit.
        max: usize,
    },
    /// It is not JSON.
    #[error("the response is not JSON, near line {line}")]
    Json {
        /// The line.
        line: usize,
    },
    /// A table lacks a column.
    #[error("the table has no column `{name}`")]
    Column {
        /// The column.
        name: &'static str,
    },
    /// Its prices have no currency.
    #[error("Shopify's products.json has prices without a currency; set `currency` of the source")]
    NoCurrency,
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
            groups: HashSet::new(),
            ids: HashSet::new(),
        }
    }

    /// Reads a response. `base` is its URL, and `currency` that of prices without one.
    ///
    /// # Errors
    /// Returns an error if it is no feed, or not in the chosen format.
    pub fn parse(
        body: &[u8],
        choice: FormatChoice,
        base: &str,
        currency: Option<&str>,
    ) -> Result<Self, FeedError> {
        let text = std::str::from_utf8(body).map_err(|_| FeedError::Encoding)?;
        let text = text.trim_start_matches('\u{feff}').trim();
        let is_shopify = matches!(choice, FormatChoice::Only(FeedFormat::Shopify));
        let content = match FeedFormat::detect(text) {
            Err(FeedError::WebPage) if is_shopify => Err(FeedError::NotShopify),
            detected => detected,
        }?;
        let format = content.format();
        if let FormatChoice::Only(expected) = choice
            && expected != format
            && !content.is_empty_list()
        {
            return Err(FeedError::OtherFormat { found: format, expected });
        }
        match content {
            super::format::Content::Xml(text) => xml::read(text, currency),
            super::format::Content::Table(text) => table::read(text, currency),
            super::format::Content::Shopify(products) => shopify::read(&products, base, currency),
            super::format::Content::WooCommerce(products) => Ok(woocommerce::read(&products)),
            super::format::Content::Items(list) => Ok(items::read(&list, currency)),
        }
    }

    /// Adds an item. Of items that share an id or a group, the first one stays.
    pub(super) fn add(&mut self, draft: Draft, currency: Option<&str>) {
        self.items = self.items.saturating_add(1);
        if self.products.len() >= MAX_FEED_PRODUCTS {
            self.truncated = true;
            return;
        }
        let (id, group) = (draft.id.clone(), draft.group.clone());
        let read = draft.product(currency);
        if let (Ok(_), Some(group)) = (&read, group)
            && !self.groups.insert(group)
        {
            return;
        }
        match read {
            Ok(product) if self.ids.insert(product.external_id.clone()) => self.products.push(product),
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

#[cfg(test)]
mod tests;
