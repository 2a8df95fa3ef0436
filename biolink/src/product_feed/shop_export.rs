//! Files that shops export for themselves, and what to use in their place: they have no addresses of
//! products.

use std::fmt;

/// A shop's own export of products, by the columns that only it has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ShopExport {
    /// Shopify, *Products → Export*.
    Shopify,
    /// WooCommerce, *Products → Export*.
    WooCommerce,
    /// Etsy, *Download data*.
    Etsy,
    /// BigCommerce, *Products → Export*.
    BigCommerce,
    /// PrestaShop, *Catalog → Products → Export*, and its sample for imports.
    PrestaShop,
}

impl ShopExport {
    /// Recognizes a header in lower case.
    pub(super) fn of(header: &str) -> Option<Self> {
        let has = |column: &str| {
            let is_column = |cell: &str| cell.trim().trim_matches('"').trim_end_matches('*').trim() == column;
            header.split(['\t', ',', ';']).any(is_column)
        };
        let all = |columns: &[&str]| columns.iter().all(|column| has(column));
        if all(&["handle", "variant price"]) || all(&["url handle", "price", "compare-at price"]) {
            Some(Self::Shopify)
        } else if all(&["sku", "name", "regular price"]) {
            Some(Self::WooCommerce)
        } else if all(&["title", "price", "currency_code", "materials"]) {
            Some(Self::Etsy)
        } else if has("product code/sku") || all(&["item", "name", "inventory tracking"]) {
            Some(Self::BigCommerce)
        } else if has("price (tax excl.)") || has("price tax excluded") {
            Some(Self::PrestaShop)
        } else {
            None
        }
    }

    /// Returns what to use in its place.
    const fn instead(self) -> &'static str {
        match self {
            Self::Shopify => "set `url` to https://your.store/products.json, and `currency`",
            Self::WooCommerce => "set `url` to https://your.store/wp-json/wc/store/v1/products",
            Self::Etsy => {
                "Etsy has no feed for others: send the products as JSON with `items`, each with its `url`"
            }
            Self::BigCommerce => "set `url` to the feed of a Google Shopping app of BigCommerce",
            Self::PrestaShop => "set `url` to the feed of a Google Merchant module of PrestaShop",
        }
    }
}

impl fmt::Display for ShopExport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "the file is {self:?}'s export of products, which has no whole addresses of them; {}",
            self.instead()
        )
    }
}
