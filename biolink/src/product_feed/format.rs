//! Formats of feeds.

use serde::{Deserialize, Serialize};
use strum::{Display, EnumString, IntoStaticStr, VariantArray};

/// The format of a feed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[derive(Display, EnumString, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "snake_case")]
pub enum FeedFormat {
    /// Google Merchant Center's RSS 2.0 or Atom.
    MerchantXml,
    /// Google Merchant Center's table: TSV or CSV.
    MerchantTable,
    /// Shopify's `products.json`.
    Shopify,
    /// WooCommerce's Store API.
    Woocommerce,
    /// Our own JSON: `items` as a page has them.
    Items,
}

shared::named!(FeedFormat);

/// The format that a source expects.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FormatChoice {
    /// Any: the response shows it.
    #[default]
    Auto,
    /// This one.
    Only(FeedFormat),
}

impl FeedFormat {
    /// Every format once.
    pub const ALL: [Self; 5] = *Self::VARIANTS.as_array().unwrap();
}
