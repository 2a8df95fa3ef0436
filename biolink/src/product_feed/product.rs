//! One product of a feed.

use serde::{Deserialize, Serialize};
use shared::time::UnixMillis;
use thiserror::Error;

use super::{
    character_references::decode,
    price, sale_dates,
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
    /// Takes the prices of another variant if they are lower. A sale that ends counts for neither.
    pub(super) fn add_variant(&mut self, other: &Self) {
        let lasting = |product: &Self| {
            let is_lasting = product.sale_from.or(product.sale_until).is_none();
            let sale = product.sale_price.as_ref().filter(|_| is_lasting);
            price::amount_of(&sale.or(product.price.as_ref())?.amount)
        };
        let (own, others) = (lasting(self), lasting(other));
        self.price_varies |= own != others;
        if others.is_some_and(|others| own.is_none_or(|own| others < own)) {
            self.price.clone_from(&other.price);
            self.sale_price.clone_from(&other.sale_price);
            (self.sale_from, self.sale_until) = (other.sale_from, other.sale_until);
        }
    }
}

impl Draft {
    /// Checks the item, and brings its texts into the form of a page's products.
    pub(super) fn product(self, currency: Option<&str>) -> Result<FeedProduct, ProductError> {
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
        let price = self.price.read(currency)?;
        let sale_price = self.sale_price.read(currency)?.filter(|sale| is_lower(sale, price.as_ref()));
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

    /// Returns a price that was read already.
    pub(super) fn of_price(price: Option<Price>) -> Self {
        price.map_or(Self::None, Self::Read)
    }

    fn read(self, currency: Option<&str>) -> Result<Option<Price>, ProductError> {
        match self {
            Self::None => Ok(None),
            Self::Read(price) => Ok(Some(price)),
            Self::Text(text) => match price::price(&text, currency) {
                Some(price) => Ok(Some(price)),
                None => Err(ProductError::Price(one_line(&text, 40))),
            },
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
