//! Variants of a product, of which a page shows one.

use shared::sorting::sort_by;

use super::{price, product::FeedProduct};
use crate::page::document::Availability;

impl FeedProduct {
    /// Takes in another variant of the same product. What can be bought counts: a group is in stock if one
    /// variant is, and has the lowest price of those that can be bought. A sale that ends counts for no
    /// price.
    pub(super) fn add_variant(&mut self, other: Self) {
        let lasting = |product: &Self| {
            let is_lasting = product.sale_from.or(product.sale_until).is_none();
            let sale = product.sale_price.as_ref().filter(|_| is_lasting);
            price::amount_of(&sale.or(product.price.as_ref())?.amount)
        };
        let (own, others) = (lasting(self), lasting(&other));
        let is_first_offer = !can_be_bought(self.availability) && can_be_bought(other.availability);
        if is_first_offer {
            // A visitor is led to what can be bought.
            self.url = other.url;
            self.image = other.image.or_else(|| self.image.take());
            self.price_varies = other.price_varies;
        } else if can_be_bought(self.availability) && !can_be_bought(other.availability) {
            self.add_tags(other.tags);
            return;
        } else {
            self.image = self.image.take().or(other.image);
            self.price_varies |= own != others;
        }
        if is_first_offer || others.is_some_and(|others| own.is_none_or(|own| others < own)) {
            (self.price, self.sale_price) = (other.price, other.sale_price);
            (self.sale_from, self.sale_until) = (other.sale_from, other.sale_until);
        }
        if rank(other.availability) < rank(self.availability) {
            self.availability = other.availability;
        }
        self.add_tags(other.tags);
    }

    /// Adds tags, so that a filter finds the product by each of its variants.
    fn add_tags(&mut self, tags: Vec<String>) {
        self.tags.extend(tags);
        // Sorted, so that the order of the variants does not make a product look changed.
        sort_by(&mut self.tags, String::cmp);
        self.tags.dedup();
        self.tags.truncate(Self::MAX_TAGS);
    }
}

/// Returns true if a visitor can buy or order it.
const fn can_be_bought(availability: Availability) -> bool {
    !matches!(availability, Availability::OutOfStock)
}

/// Returns the place among availabilities: that of a group is the first of its variants'.
const fn rank(availability: Availability) -> u8 {
    match availability {
        Availability::InStock => 0,
        Availability::Preorder => 1,
        Availability::Backorder => 2,
        Availability::OutOfStock => 3,
    }
}
