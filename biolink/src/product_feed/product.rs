//! One product of a feed.
//!
//! Why: docs/decisions/products.md, "Products and endpoints have a struct for each form".

use serde::{Deserialize, Serialize};
use shared::sorting::sort_by;
use shared::time::UnixMillis;

use super::{
    address,
    character_references::decode,
    price::{self, Evidence, PriceRules},
    product_error::{MAX_ID, ProductError},
    sale_dates,
    texts::{one_line, without_tags},
};
use crate::page::{
    WebUrl,
    document::{Availability, Price, is_within},
    is_visible,
};

/// A product of a feed, within the limits of a page's products.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FeedProduct {
    /// Its name in the shop.
    pub external_id: String,
    /// Its title.
    pub title: String,
    /// A second line.
    pub description: Option<String>,
    /// Where it is sold.
    pub url: WebUrl,
    /// Its image.
    pub image: Option<WebUrl>,
    /// Its price.
    pub price: Option<Price>,
    /// A lower price in the same currency, for a while.
    pub sale_price: Option<Price>,
    /// The moment from which the sale price counts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sale_from: Option<UnixMillis>,
    /// The moment from which it counts no longer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sale_until: Option<UnixMillis>,
    /// Whether variants have other prices, of which this is the lowest.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub price_varies: bool,
    /// Whether it can be bought.
    #[serde(default)]
    pub availability: Availability,
    /// Its tags, types and categories in the shop, in lower case.
    #[serde(default)]
    pub tags: Vec<String>,
}

/// The texts of an item, as its feed has them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Draft {
    pub(super) id: Option<String>,
    pub(super) group: Option<String>,
    pub(super) title: Option<String>,
    pub(super) description: Option<String>,
    pub(super) url: Option<String>,
    pub(super) image: Option<String>,
    pub(super) price: Cost,
    pub(super) sale_price: Cost,
    /// Two moments with a slash between them (ISO 8601).
    pub(super) sale_dates: Option<String>,
    pub(super) price_varies: bool,
    pub(super) availability: Option<Availability>,
    pub(super) tags: Vec<String>,
}

/// A price of an item.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) enum Cost {
    #[default]
    None,
    /// As text, perhaps without a currency.
    Text(String),
    /// As a text whose number a program wrote, with a point before its fraction.
    Number(String),
}

impl FeedProduct {
    /// The longest id, in characters.
    pub const MAX_ID: usize = MAX_ID;
    const MAX_TITLE: usize = 120;
    const MAX_DESCRIPTION: usize = 200;
    const MAX_TAG: usize = 60;
    pub(super) const MAX_TAGS: usize = 30;

    /// Returns the price that is to be paid at `now`, in thousandths.
    pub fn amount(&self, now: UnixMillis) -> Option<u64> {
        let sale = self.sale_price.as_ref().filter(|_| is_within(self.sale_from, self.sale_until, now));
        price::amount_of(&sale.or(self.price.as_ref())?.amount)
    }
}

impl Draft {
    /// Adds what its prices say about the number format of the feed.
    pub(super) fn show_numbers(&self, evidence: &mut Evidence, rules: &PriceRules<'_>) {
        for cost in [&self.price, &self.sale_price] {
            if let Cost::Text(text) = cost {
                evidence.add(text, rules);
            }
        }
    }

    /// Checks the item, and brings its texts into the form of a page's products. What is left out of a
    /// product that is shown is the second part.
    pub(super) fn product(
        self,
        rules: &PriceRules<'_>,
    ) -> Result<(FeedProduct, Option<ProductError>), ProductError> {
        let text =
            |text: Option<String>| text.map(|text| text.trim().to_owned()).filter(|text| !text.is_empty());
        let external_id = text(self.id).map(|id| one_line(&id, usize::MAX)).filter(|id| !id.is_empty());
        let external_id = external_id.ok_or(ProductError::NoId)?;
        if external_id.chars().count() > FeedProduct::MAX_ID {
            return Err(ProductError::IdTooLong);
        }
        let title = text(self.title).map(|title| one_line(&decode(&title), FeedProduct::MAX_TITLE));
        // A title of invisible characters would be a link without a name.
        let title = title.filter(|title| is_visible(title)).ok_or(ProductError::NoTitle)?;
        let url = text(self.url).ok_or(ProductError::NoUrl)?;
        let url = address::link(&url).map_err(ProductError::Url)?;
        let (image, note) = match text(self.image).map(|url| address::image(&url)).transpose() {
            Ok(image) => (image, None),
            // A product without its image can be sold. The fault becomes a note.
            Err(error) => (None, Some(error)),
        };
        let description = text(self.description)
            .map(|text| one_line(&decode(&without_tags(&text)), FeedProduct::MAX_DESCRIPTION))
            .filter(|text| !text.is_empty());
        let price = self.price.read(rules)?;
        // One that is not lower is no sale: shops leave it at the usual price.
        let sale_price = self.sale_price.read(rules)?.filter(|sale| is_lower(sale, price.as_ref()));
        let (sale_from, sale_until) = match text(self.sale_dates).filter(|_| sale_price.is_some()) {
            Some(dates) => {
                sale_dates::read(&dates).ok_or_else(|| ProductError::SaleDates(one_line(&dates, 60)))?
            }
            None => (None, None),
        };
        let mut tags: Vec<String> = self
            .tags
            .iter()
            .map(|tag| one_line(&decode(tag), FeedProduct::MAX_TAG).to_lowercase())
            .filter(|tag| !tag.is_empty())
            .collect();
        // In one order, so that a feed in another one is no change of the product.
        sort_by(&mut tags, String::cmp);
        tags.dedup();
        tags.truncate(FeedProduct::MAX_TAGS);
        let availability = self.availability.unwrap_or_default();
        let product = FeedProduct {
            external_id,
            title,
            description,
            url,
            image,
            price,
            sale_price,
            sale_from,
            sale_until,
            price_varies: self.price_varies,
            availability,
            tags,
        };
        Ok((product, note))
    }
}

impl Cost {
    /// Returns a price that a feed has as a text; none if the text is empty.
    pub(super) fn of_text(text: impl Into<String>) -> Self {
        let text = text.into();
        if text.trim().is_empty() { Self::None } else { Self::Text(text) }
    }

    /// Returns a price whose number a program wrote; none if the text is empty.
    pub(super) fn of_number(text: impl Into<String>) -> Self {
        let text = text.into();
        if text.trim().is_empty() { Self::None } else { Self::Number(text) }
    }

    fn read(self, rules: &PriceRules<'_>) -> Result<Option<Price>, ProductError> {
        match self {
            Self::None => Ok(None),
            Self::Text(text) => rules.read(&text).map(Some),
            Self::Number(text) => rules.of_programs().read(&text).map(Some),
        }
    }
}

/// Returns true for a sale price that is one: lower than the price, in the same currency.
fn is_lower(sale: &Price, price: Option<&Price>) -> bool {
    price.is_some_and(|price| {
        price.currency == sale.currency && price::amount_of(&sale.amount) < price::amount_of(&price.amount)
    })
}

/// Reads an availability, in Google's spelling, the older one with spaces, or schema.org's.
pub(super) fn availability(text: &str) -> Option<Availability> {
    let text = text.trim().rsplit('/').next().unwrap_or_default().to_ascii_lowercase();
    match text.replace([' ', '-', '_'], "").as_str() {
        "instock" | "available" | "instoreonly" | "limitedavailability" => Some(Availability::InStock),
        "outofstock" | "soldout" | "discontinued" => Some(Availability::OutOfStock),
        "preorder" => Some(Availability::Preorder),
        "backorder" | "onbackorder" | "availablefororder" => Some(Availability::Backorder),
        _ => None,
    }
}
