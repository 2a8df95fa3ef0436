//! Responses that are no feed.

use thiserror::Error;

use super::{format::FeedFormat, shop_export::ShopExport};

/// A response that is no feed.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum FeedError {
    /// It names no encoding, and is in none that is read without a name.
    #[error(
        "the feed is not in UTF-8 and names no other encoding; have the shop export UTF-8 or send `Content-Type: text/csv; charset=windows-1250`, or set `encoding` of the source"
    )]
    Encoding,
    /// It is not in the encoding that it names.
    #[error(
        "the feed is not in `{label}`, which {place} names; have the shop export UTF-8, or name the encoding in which it writes"
    )]
    OtherEncoding {
        /// The name.
        label: String,
        /// Its place.
        place: &'static str,
    },
    /// It names an encoding that nothing reads.
    #[error(
        "the encoding `{label}`, which {place} names, is unknown; expected UTF-8 or one of WHATWG's Encoding Standard, such as windows-1250 or Shift_JIS"
    )]
    UnknownEncoding {
        /// The name.
        label: String,
        /// Its place.
        place: &'static str,
    },
    /// It is a web page.
    #[error("the response is a web page (HTML) and no product feed")]
    WebPage,
    /// It is a web page where a Shopify store has its products.
    #[error("this is not a Shopify store: /products.json is a web page")]
    NotShopify,
    /// Nothing in it says what it is.
    #[error(
        "the response is no product feed: expected Google Merchant RSS, Atom, TSV or CSV, Shopify's products.json, WooCommerce's Store API, or JSON with `items`"
    )]
    Unknown,
    /// It is another format than the one that was chosen.
    #[error("the response is {found}, and the source expects {expected}")]
    OtherFormat {
        /// The format of the response.
        found: FeedFormat,
        /// The format that was chosen.
        expected: FeedFormat,
    },
    /// Its XML is not well-formed.
    #[error("the XML is not well-formed near byte {at}: {reason}")]
    Xml {
        /// The place.
        at: u64,
        /// The reason, as the parser says it.
        reason: String,
    },
    /// It has a document type, which could define entities.
    #[error("the XML has a DOCTYPE, which is not accepted")]
    DocumentType,
    /// It uses an entity other than those of XML and HTML.
    #[error("the XML has the entity `&{name};`; only those of XML and HTML, and numbers, are accepted")]
    Entity {
        /// The name of the entity.
        name: String,
    },
    /// Its elements lie too deep in each other.
    #[error("the XML has elements more than {max} deep")]
    TooDeep {
        /// The limit.
        max: usize,
    },
    /// It is not JSON.
    #[error("the response is not JSON, near line {line}")]
    Json {
        /// The line.
        line: usize,
    },
    /// It is a file that a shop exports for itself.
    #[error("{0}")]
    Export(ShopExport),
    /// A table lacks a column.
    #[error("the table has no column `{name}`")]
    Column {
        /// The column.
        name: &'static str,
    },
    /// Its prices have no currency.
    #[error("Shopify's products.json has prices without a currency; set `currency` of the source")]
    NoCurrency,
}
