//! Products on a page.

use serde::{Deserialize, Serialize};

use shared::time::UnixMillis;

use super::{Image, is_within, moment};
use crate::page::{ProductId, SourceId, WebUrl};

/// The products of a page.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Products {
    /// Whether they are shown.
    pub enabled: bool,
    /// The heading above them, at most 80 characters; empty for none.
    pub title: String,
    /// Their layout.
    pub layout: Layout,
    /// The products, at most 50, in the order in which they are shown.
    pub items: Vec<Product>,
}

/// A layout of products.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Layout {
    /// In columns.
    #[default]
    Grid,
    /// One below the other.
    List,
}

/// A product.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Product {
    /// Its name, which an edit keeps.
    pub id: ProductId,
    /// Its name in the shop, at most 100 characters.
    pub external_id: Option<String>,
    /// Its title, 1 to 120 characters.
    pub title: String,
    /// A second line, at most 200 characters.
    pub description: Option<String>,
    /// The address at which it is sold.
    pub url: WebUrl,
    /// Its image.
    pub image: Option<Image>,
    /// Its price.
    pub price: Option<Price>,
    /// A lower price in the same currency, for a while.
    pub sale_price: Option<Price>,
    /// The moment from which the sale price counts.
    #[serde(default, with = "moment")]
    pub sale_from: Option<UnixMillis>,
    /// The moment from which it counts no longer.
    #[serde(default, with = "moment")]
    pub sale_until: Option<UnixMillis>,
    /// Whether variants have other prices, of which this is the lowest.
    #[serde(default)]
    pub price_varies: bool,
    /// Whether it can be bought.
    #[serde(default)]
    pub availability: Availability,
    /// The source that it comes from; `None` if it was made by hand.
    pub source: Option<SourceId>,
}

/// An amount of money.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Price {
    /// A decimal number: up to nine digits, and up to three more behind a point.
    pub amount: String,
    /// Three capital letters (ISO 4217).
    pub currency: String,
}

/// Whether a product can be bought (Google Merchant Center's terms).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Availability {
    /// It can.
    #[default]
    InStock,
    /// It cannot.
    OutOfStock,
    /// It can be ordered before it is released.
    Preorder,
    /// It can be ordered and is sent later.
    Backorder,
}

impl Product {
    /// Returns the sale price if it counts at `now`.
    pub fn sale(&self, now: UnixMillis) -> Option<&Price> {
        self.sale_price.as_ref().filter(|_| is_within(self.sale_from, self.sale_until, now))
    }
}

impl Default for Products {
    fn default() -> Self {
        Self { enabled: true, title: String::new(), layout: Layout::default(), items: Vec::new() }
    }
}
