//! The content of a response, which shows its format.

use serde_json::Value;

use super::{feed_error::FeedError, format::FeedFormat, shop_export::ShopExport, table};

/// The content of a response, by its format.
pub(super) enum Content<'a> {
    Xml(&'a str),
    Table(&'a str),
    Shopify(Vec<Value>),
    WooCommerce(Vec<Value>),
    Items(Vec<Value>),
}

impl<'a> Content<'a> {
    /// Returns the content of a response without spaces around it.
    ///
    /// # Errors
    /// Returns an error if it has no format.
    pub(super) fn detect(text: &'a str) -> Result<Self, FeedError> {
        match text.bytes().next() {
            None => Err(FeedError::Unknown),
            // A shop that is down, or asks for a password, responds with a page and 200.
            Some(b'<') if is_web_page(text) => Err(FeedError::WebPage),
            Some(b'<') => Ok(Content::Xml(text)),
            Some(b'{' | b'[') => {
                let value = serde_json::from_str(text);
                of_json(value.map_err(|error| FeedError::Json { line: error.line() })?)
            }
            Some(_) => {
                let (_, table) = table::begin(text);
                let header = table.lines().next().unwrap_or_default().to_lowercase();
                // An export of a shop has ids too, and columns that mean something else.
                if let Some(export) = ShopExport::of(&header) {
                    return Err(FeedError::Export(export));
                }
                let is_table = header.contains(table::DELIMITERS) && header.contains("id");
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
        // WooCommerce has `prices` where our own form has `price`.
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
