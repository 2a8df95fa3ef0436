//! Formats of feeds.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The format of a feed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
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
    pub const ALL: [Self; 5] =
        [Self::MerchantXml, Self::MerchantTable, Self::Shopify, Self::Woocommerce, Self::Items];

    /// Returns its name in the API.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::MerchantXml => "merchant_xml",
            Self::MerchantTable => "merchant_table",
            Self::Shopify => "shopify",
            Self::Woocommerce => "woocommerce",
            Self::Items => "items",
        }
    }
}

impl fmt::Display for FeedFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
