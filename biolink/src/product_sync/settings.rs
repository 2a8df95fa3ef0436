//! The settings of a source, and how they are read.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use shared::{
    fields::{Fields, TypeError, text, with_decimal_point},
    json,
};
use thiserror::Error;

use crate::{
    page::{UrlError, WebUrl, document::Availability},
    product_feed::{
        FeedFormat, FormatChoice, NumberFormat, Order, PriceRules, ProductFilter, Selection, amount_of,
        standard_name,
    },
};

/// Most products of a source: as many as a page has.
pub const MAX_ITEMS: usize = 50;
/// Most tags of a filter.
pub const MAX_TAGS: usize = 20;

/// The settings of a source.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SourceSettings {
    /// The URL of the feed. It is checked again each time it is fetched.
    pub url: String,
    /// The format; `None` if the response shows it.
    pub format: Option<FeedFormat>,
    /// The encoding of the feed, by the name of WHATWG's Encoding Standard; `None` if the response shows it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub encoding: Option<String>,
    /// The currency of prices without one.
    pub currency: Option<String>,
    /// The number format of prices.
    #[serde(default)]
    pub number_format: NumberFormat,
    /// The address of the shop, if its feed lies elsewhere: Shopify's products are linked to below it.
    pub store_url: Option<WebUrl>,
    /// The part of the feed that it takes.
    pub selection: Selection,
    /// Whether the shop may push changes.
    #[serde(default)]
    pub push: bool,
}

#[derive(Debug, Error)]
enum SettingError {
    #[error(transparent)]
    Type(#[from] TypeError),
    #[error(transparent)]
    Url(#[from] UrlError),
    #[error("must be three capital letters such as EUR (ISO 4217)")]
    Currency,
    #[error(
        "must be an encoding of WHATWG's Encoding Standard, such as windows-1250, ISO-8859-2 or Shift_JIS"
    )]
    Encoding,
    #[error("must be a whole number from 1 to {MAX_ITEMS}")]
    Count,
    #[error("must be one of {}", .0.join(", "))]
    Name(Vec<&'static str>),
    #[error("must be an array of at most {MAX_TAGS} texts of 1 to 60 characters")]
    Tags,
    #[error("must be an array of in_stock, out_of_stock, preorder and backorder")]
    Availabilities,
    #[error("must be a string such as \"15.00\"")]
    Amount,
}

impl SourceSettings {
    /// Reads settings. Returns `None` after an error that left the URL unknown.
    pub(super) fn read(fields: &mut Fields) -> Option<Self> {
        let url = fields.required("url", |value| Ok::<_, TypeError>(text(value)?.to_owned()));
        let format = fields.nullable("format", parse_format).flatten();
        let encoding = fields.nullable("encoding", parse_encoding);
        let currency = fields.nullable("currency", parse_currency);
        let number_format = fields.nullable("number_format", parse_numbers).unwrap_or_default();
        let store_url =
            fields.nullable("store_url", |value| Ok::<_, SettingError>(WebUrl::parse(text(value)?)?));
        let filter = fields.nullable_object("filter", read_filter).unwrap_or_default();
        let order = fields.nullable("sort", parse_order).unwrap_or_default();
        let max_items = fields.nullable("max_items", parse_count).unwrap_or(MAX_ITEMS);
        let push = fields.nullable_object("push", |push| {
            // What a read has shown may be sent back.
            push.ignore(&["url", "secret", "sealed"]);
            push.nullable("enabled", |value| {
                value.as_bool().ok_or_else(|| TypeError::new("true or false", value))
            })
        });
        let is_shopify = format == Some(FeedFormat::Shopify)
            || url.as_deref().is_some_and(|url| {
                url.split(['?', '#']).next().is_some_and(|path| path.ends_with("/products.json"))
            });
        // Found here and not at each run: no price could be shown.
        if is_shopify && currency.is_none() {
            fields.add_error(
                "currency",
                "is missing; Shopify's products.json has prices without a currency".to_owned(),
            );
        }
        let selection = Selection { filter, order, max_items };
        Some(Self {
            url: url?,
            format,
            encoding,
            currency,
            number_format,
            store_url,
            selection,
            push: push.flatten().unwrap_or_default(),
        })
    }

    /// Returns the URL below which products without one are.
    pub fn base(&self) -> &str {
        self.store_url.as_ref().map_or(&self.url, WebUrl::as_str)
    }

    /// Returns how the prices of its feed are read.
    pub fn price_rules(&self) -> PriceRules<'_> {
        PriceRules { currency: self.currency.as_deref(), numbers: self.number_format }
    }

    /// Returns the format that is expected.
    pub fn choice(&self) -> FormatChoice {
        self.format.map_or(FormatChoice::Auto, FormatChoice::Only)
    }
}

fn read_filter(fields: &mut Fields) -> ProductFilter {
    let filter = ProductFilter {
        tags: fields.nullable("tags", parse_tags).unwrap_or_default(),
        availability: fields.nullable("availability", parse_availabilities).unwrap_or_default(),
        min_price: fields.nullable("min_price", parse_amount),
        max_price: fields.nullable("max_price", parse_amount),
    };
    let bound = |text: &Option<String>| text.as_deref().and_then(amount_of);
    if let (Some(min), Some(max)) = (bound(&filter.min_price), bound(&filter.max_price))
        && max < min
    {
        fields.add_error("max_price", "must not be lower than `min_price`".to_owned());
    }
    filter
}

fn parse_format(value: &Value) -> Result<Option<FeedFormat>, SettingError> {
    let names = || ["auto"].into_iter().chain(FeedFormat::ALL.map(FeedFormat::as_str)).collect();
    match text(value)? {
        "auto" => Ok(None),
        name => name.parse().map(Some).map_err(|_| SettingError::Name(names())),
    }
}

fn parse_currency(value: &Value) -> Result<String, SettingError> {
    let currency = text(value)?;
    let is_valid = currency.len() == 3 && currency.bytes().all(|byte| byte.is_ascii_uppercase());
    if is_valid { Ok(currency.to_owned()) } else { Err(SettingError::Currency) }
}

fn parse_encoding(value: &Value) -> Result<String, SettingError> {
    standard_name(text(value)?.trim()).map(str::to_owned).ok_or(SettingError::Encoding)
}

fn parse_numbers(value: &Value) -> Result<NumberFormat, SettingError> {
    let numbers = value.as_str().and_then(|name| name.parse().ok());
    numbers.ok_or_else(|| SettingError::Name(NumberFormat::ALL.map(NumberFormat::as_str).to_vec()))
}

fn parse_order(value: &Value) -> Result<Order, SettingError> {
    let order = value.as_str().and_then(|name| name.parse().ok());
    order.ok_or_else(|| SettingError::Name(Order::ALL.map(Order::as_str).to_vec()))
}

fn parse_count(value: &Value) -> Result<usize, SettingError> {
    let count = value.as_u64().and_then(|count| usize::try_from(count).ok());
    count.filter(|count| (1..=MAX_ITEMS).contains(count)).ok_or(SettingError::Count)
}

fn parse_tags(value: &Value) -> Result<Vec<String>, SettingError> {
    let tags = value.as_array().filter(|tags| tags.len() <= MAX_TAGS).ok_or(SettingError::Tags)?;
    let tag = |tag: &Value| {
        let tag = tag.as_str().map(|tag| tag.trim().to_lowercase());
        tag.filter(|tag| (1..=60).contains(&tag.chars().count())).ok_or(SettingError::Tags)
    };
    tags.iter().map(tag).collect()
}

fn parse_availabilities(value: &Value) -> Result<Vec<Availability>, SettingError> {
    let names = value.as_array().filter(|names| names.len() <= 4).ok_or(SettingError::Availabilities)?;
    let name = |name: &Value| {
        let name = name.as_str().and_then(|name| json::variant(name).ok());
        name.ok_or(SettingError::Availabilities)
    };
    names.iter().map(name).collect()
}

fn parse_amount(value: &Value) -> Result<String, SettingError> {
    let amount = with_decimal_point(value.as_str().ok_or(SettingError::Amount)?).into_owned();
    let (whole, fraction) = amount.split_once('.').unwrap_or((&amount, "0"));
    let digits =
        |part: &str, max: usize| (1..=max).contains(&part.len()) && part.bytes().all(|b| b.is_ascii_digit());
    if digits(whole, 9) && digits(fraction, 3) { Ok(amount) } else { Err(SettingError::Amount) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A price of a page was read as people type it, and the bounds of a product source were not.
    #[test]
    fn bound_of_prices_is_read_as_people_type_it() {
        let read = |typed: &str| parse_amount(&typed.into()).ok();
        for (typed, amount) in [("9,90", "9.90"), (" 9,9 ", "9.9"), ("15.00", "15.00"), ("1500", "1500")] {
            assert_eq!(read(typed).as_deref(), Some(amount), "{typed}");
        }
        for typed in ["1,500", "1.500,00", "9,", ",90", "nine", "9,90 EUR", ""] {
            assert_eq!(read(typed), None, "{typed}");
        }
    }
}
