//! Formats of feeds, and how a response shows which one it has.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::FeedError;

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

/// The content of a response, by its format.
pub(super) enum Content<'a> {
    Xml(&'a str),
    Table(&'a str),
    Shopify(Vec<Value>),
    WooCommerce(Vec<Value>),
    Items(Vec<Value>),
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

    /// Returns the format of a response without spaces around it.
    ///
    /// # Errors
    /// Returns an error if it has none.
    pub(super) fn detect(text: &str) -> Result<Content<'_>, FeedError> {
        match text.bytes().next() {
            None => Err(FeedError::Unknown),
            Some(b'<') if is_web_page(text) => Err(FeedError::WebPage),
            Some(b'<') => Ok(Content::Xml(text)),
            Some(b'{' | b'[') => {
                let value = serde_json::from_str(text);
                of_json(value.map_err(|error| FeedError::Json { line: error.line() })?)
            }
            Some(_) => {
                let header = text.lines().next().unwrap_or_default().to_ascii_lowercase();
                let is_table = header.contains(['\t', ',', ';']) && header.contains("id");
                if is_table { Ok(Content::Table(text)) } else { Err(FeedError::Unknown) }
            }
        }
    }
}

impl Content<'_> {
    pub(super) const fn format(&self) -> FeedFormat {
        match self {
            Self::Xml(_) => FeedFormat::MerchantXml,
            Self::Table(_) => FeedFormat::MerchantTable,
            Self::Shopify(_) => FeedFormat::Shopify,
            Self::WooCommerce(_) => FeedFormat::Woocommerce,
            Self::Items(_) => FeedFormat::Items,
        }
    }

    /// Returns true for a JSON list without items, which every JSON format has.
    pub(super) const fn is_empty_list(&self) -> bool {
        matches!(self, Self::Shopify(list) | Self::WooCommerce(list) | Self::Items(list) if list.is_empty())
    }
}

fn of_json(value: Value) -> Result<Content<'static>, FeedError> {
    let is_shopify = |list: &[Value]| list.iter().all(|item| item.get("variants").is_some());
    match value {
        Value::Array(list) if list.iter().any(|item| item.get("prices").is_some()) => {
            Ok(Content::WooCommerce(list))
        }
        Value::Array(list) => Ok(Content::Items(list)),
        Value::Object(mut members) => match (members.remove("items"), members.remove("products")) {
            (Some(Value::Array(list)), _) => Ok(Content::Items(list)),
            (_, Some(Value::Array(list))) if is_shopify(&list) => Ok(Content::Shopify(list)),
            (_, Some(Value::Array(list))) => Ok(Content::Items(list)),
            (_, Some(Value::Object(mut products))) => match products.remove("items") {
                Some(Value::Array(list)) => Ok(Content::Items(list)),
                _ => Err(FeedError::Unknown),
            },
            _ => Err(FeedError::Unknown),
        },
        _ => Err(FeedError::Unknown),
    }
}

fn is_web_page(text: &str) -> bool {
    let start: String = text.chars().take(1_000).collect::<String>().to_ascii_lowercase();
    start.contains("<!doctype html") || start.contains("<html")
}

impl fmt::Display for FeedFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
