//! The choice of products that a page shows.

use serde::{Deserialize, Serialize};
use shared::sorting::{sort_by, sort_by_key};
use shared::time::UnixMillis;
use strum::{EnumString, IntoStaticStr, VariantArray};

use super::{FeedProduct, price};
use crate::page::document::Availability;

/// What a source takes of its feed, and in which order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Selection {
    /// Which products.
    #[serde(default)]
    pub filter: ProductFilter,
    /// In which order.
    #[serde(default)]
    pub order: Order,
    /// How many at most.
    pub max_items: usize,
}

/// The products that a source takes. Conditions are combined.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ProductFilter {
    /// Tags, types or categories in lower case, of which a product has at least one; empty for all.
    pub tags: Vec<String>,
    /// Availabilities; empty for all.
    pub availability: Vec<Availability>,
    /// The lowest price, as a decimal number.
    pub min_price: Option<String>,
    /// The highest price, as a decimal number.
    pub max_price: Option<String>,
}

/// The order of products.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[derive(EnumString, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "snake_case")]
pub enum Order {
    /// That of the feed.
    #[default]
    Feed,
    /// By title.
    Title,
    /// The cheapest first.
    #[strum(serialize = "price")]
    PriceAscending,
    /// The dearest first.
    #[strum(serialize = "-price")]
    PriceDescending,
}

shared::named!(Order);

impl Order {
    /// Every order once.
    pub const ALL: [Self; 4] = *Self::VARIANTS.as_array().unwrap();
}

impl Selection {
    /// Returns the products that pass the filter at `now`, in order, at most `limit`.
    #[must_use]
    pub fn select(&self, products: &[FeedProduct], limit: usize, now: UnixMillis) -> Vec<FeedProduct> {
        let mut chosen: Vec<&FeedProduct> =
            products.iter().filter(|product| self.filter.takes(product, now)).collect();
        // Products without a price come last. The feed decides between equals.
        match self.order {
            Order::Feed => {}
            Order::Title => {
                let titled = chosen.into_iter().map(|product| (product.title.to_lowercase(), product));
                let mut titled: Vec<_> = titled.collect();
                sort_by(&mut titled, |(one, _), (other, _)| one.cmp(other));
                chosen = titled.into_iter().map(|(_, product)| product).collect();
            }
            Order::PriceAscending => {
                sort_by_key(&mut chosen, |product| product.amount(now).unwrap_or(u64::MAX))
            }
            Order::PriceDescending => {
                sort_by_key(&mut chosen, |product| {
                    std::cmp::Reverse(product.amount(now).map_or(0, |amount| amount.saturating_add(1)))
                });
            }
        }
        chosen.into_iter().take(limit).cloned().collect()
    }
}

impl ProductFilter {
    /// Returns true if a product passes. With a bound on the price, one without a price does not.
    #[must_use]
    pub fn takes(&self, product: &FeedProduct, now: UnixMillis) -> bool {
        let bound = |text: &Option<String>| text.as_deref().and_then(price::amount_of);
        let (min, max, amount) = (bound(&self.min_price), bound(&self.max_price), product.amount(now));
        let has_tag = self.tags.is_empty() || self.tags.iter().any(|tag| product.tags.contains(tag));
        let is_there = self.availability.is_empty() || self.availability.contains(&product.availability);
        has_tag
            && is_there
            && min.is_none_or(|min| amount.is_some_and(|amount| amount >= min))
            && max.is_none_or(|max| amount.is_some_and(|amount| amount <= max))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::page::{WebUrl, document::Price};

    fn product(id: &str, amount: Option<&str>, tag: &str) -> FeedProduct {
        let price = amount.map(|amount| Price { amount: amount.to_owned(), currency: "EUR".to_owned() });
        FeedProduct {
            external_id: id.to_owned(),
            title: id.to_owned(),
            description: None,
            url: WebUrl::parse("https://shop.example/").unwrap(),
            image: None,
            price,
            sale_price: None,
            sale_from: None,
            sale_until: None,
            price_varies: false,
            availability: Availability::InStock,
            tags: vec![tag.to_owned()],
        }
    }

    fn ids(selection: &Selection, limit: usize) -> String {
        let sold_out =
            FeedProduct { availability: Availability::OutOfStock, ..product("e", Some("1.00"), "gift") };
        let products = [
            product("b", Some("9.50"), "gift"),
            product("a", Some("10.00"), "mug"),
            product("d", None, "gift"),
            product("c", Some("100"), "gift"),
            sold_out,
        ];
        selection
            .select(&products, limit, UnixMillis(0))
            .into_iter()
            .map(|product| product.external_id)
            .collect()
    }

    #[test]
    fn products_are_filtered_sorted_and_cut() {
        let selection = |order, filter| Selection { filter, order, max_items: 50 };
        let all = ProductFilter::default();
        assert_eq!(ids(&selection(Order::Feed, all.clone()), 99), "badce");
        assert_eq!(ids(&selection(Order::Title, all.clone()), 3), "abc");
        assert_eq!(ids(&selection(Order::PriceAscending, all.clone()), 99), "ebacd");
        assert_eq!(ids(&selection(Order::PriceDescending, all.clone()), 99), "cabed");
        let gifts = ProductFilter { tags: vec!["gift".to_owned()], ..all.clone() };
        assert_eq!(ids(&selection(Order::Feed, gifts), 99), "bdce");
        let there = ProductFilter { availability: vec![Availability::InStock], ..all.clone() };
        assert_eq!(ids(&selection(Order::Feed, there), 99), "badc");
        let (min, max) = (Some("9.50".to_owned()), Some("10".to_owned()));
        let bounded = ProductFilter { min_price: min, max_price: max, ..all };
        assert_eq!(ids(&selection(Order::Feed, bounded), 99), "ba");
    }
}
