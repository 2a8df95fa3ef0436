//! One product of a feed.

use serde::{Deserialize, Serialize};
use shared::time::UnixMillis;
use thiserror::Error;

use super::{
    character_references::decode,
    number_format::NumberFormat,
    price::{self, Evidence, PriceRules},
    sale_dates,
    texts::{one_line, without_tags},
};
use crate::page::{
    UrlError, WebUrl,
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

/// An item of a feed that cannot be shown.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ProductError {
    /// It has no id.
    #[error("has no id")]
    NoId,
    /// Its id is too long.
    #[error("has an id longer than {max} characters", max = FeedProduct::MAX_ID)]
    IdTooLong,
    /// It has no title.
    #[error("has no title")]
    NoTitle,
    /// It has no link.
    #[error("has no link")]
    NoUrl,
    /// Its link cannot be linked to.
    #[error("its link {0}")]
    Url(UrlError),
    /// Its price cannot be read.
    #[error("its price `{0}` is not such as `15.00 EUR`")]
    Price(String),
    /// Its price has no currency, and its source has none either.
    #[error("its price `{0}` has no currency; set `currency` of the source")]
    NoCurrency(String),
    /// Its price can be read in both number formats.
    #[error(
        "its price `{price}` could mean two amounts, and the other prices do not show which; set `number_format` of the source to `dot` for {dot} or to `comma` for {comma}"
    )]
    AmbiguousPrice {
        /// The price.
        price: String,
        /// The amount with a point before the fraction.
        dot: String,
        /// The amount with a comma before it.
        comma: String,
    },
    /// Its price is in another number format than the one that was chosen.
    #[error("its price `{price}` is not in the number format `{format}`; set `number_format` of the source to `{}` or `auto`", other(*.format))]
    OtherNumberFormat {
        /// The price.
        price: String,
        /// The format that was chosen.
        format: NumberFormat,
    },
    /// The dates of its sale price cannot be read.
    #[error("its sale dates `{0}` are not such as `2027-01-31T12:00+0100/2027-02-07T12:00+0100`")]
    SaleDates(String),
    /// Its id is that of another item before it.
    #[error("has the id of an item before it")]
    Duplicate,
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
    /// Read already.
    Read(Price),
}

impl FeedProduct {
    /// The longest id, in characters.
    pub const MAX_ID: usize = 100;
    const MAX_TITLE: usize = 120;
    const MAX_DESCRIPTION: usize = 200;
    const MAX_TAG: usize = 60;
    const MAX_TAGS: usize = 30;

    /// Returns the price that is to be paid at `now`, in thousandths.
    pub fn amount(&self, now: UnixMillis) -> Option<u64> {
        let sale = self.sale_price.as_ref().filter(|_| is_within(self.sale_from, self.sale_until, now));
        price::amount_of(&sale.or(self.price.as_ref())?.amount)
    }
}

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
            self.image = other.image.or(self.image.take());
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
        self.tags.sort_unstable();
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

impl Draft {
    /// Adds what its prices say about the number format of the feed.
    pub(super) fn show_numbers(&self, evidence: &mut Evidence, rules: &PriceRules<'_>) {
        for cost in [&self.price, &self.sale_price] {
            if let Cost::Text(text) = cost {
                evidence.add(text, rules);
            }
        }
    }

    /// Checks the item, and brings its texts into the form of a page's products.
    pub(super) fn product(self, rules: &PriceRules<'_>) -> Result<FeedProduct, ProductError> {
        let text =
            |text: Option<String>| text.map(|text| text.trim().to_owned()).filter(|text| !text.is_empty());
        let external_id = text(self.id).map(|id| one_line(&id, usize::MAX)).filter(|id| !id.is_empty());
        let external_id = external_id.ok_or(ProductError::NoId)?;
        if external_id.chars().count() > FeedProduct::MAX_ID {
            return Err(ProductError::IdTooLong);
        }
        let title = text(self.title).map(|title| one_line(&decode(&title), FeedProduct::MAX_TITLE));
        let title = title.filter(|title| is_visible(title)).ok_or(ProductError::NoTitle)?;
        let url = text(self.url).ok_or(ProductError::NoUrl)?;
        let url = WebUrl::parse(&url).map_err(ProductError::Url)?;
        // An image that browsers would not show is left out.
        let image = text(self.image).and_then(|url| WebUrl::parse(&url).ok()).filter(WebUrl::is_https);
        let description = text(self.description)
            .map(|text| one_line(&decode(&without_tags(&text)), FeedProduct::MAX_DESCRIPTION))
            .filter(|text| !text.is_empty());
        let price = self.price.read(rules)?;
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
        tags.sort_unstable();
        tags.dedup();
        tags.truncate(FeedProduct::MAX_TAGS);
        let availability = self.availability.unwrap_or_default();
        Ok(FeedProduct {
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
        })
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

    /// Returns a price that was read already.
    pub(super) fn of_price(price: Option<Price>) -> Self {
        price.map_or(Self::None, Self::Read)
    }

    fn read(self, rules: &PriceRules<'_>) -> Result<Option<Price>, ProductError> {
        match self {
            Self::None => Ok(None),
            Self::Read(price) => Ok(Some(price)),
            Self::Text(text) => rules.read(&text).map(Some),
            Self::Number(text) => rules.of_programs().read(&text).map(Some),
        }
    }
}

/// Returns the number format that is not this one.
const fn other(format: NumberFormat) -> &'static str {
    match format {
        NumberFormat::Dot => "comma",
        NumberFormat::Comma | NumberFormat::Auto => "dot",
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
