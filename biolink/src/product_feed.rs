//! Feeds of products that shops publish, read into the products that a page shows.
//!
//! The format is found from the content. An item that cannot be shown is a separate [`ProductError`] and
//! leaves the rest of the feed as it is.

mod address;
mod ampersand;
mod character_references;
mod content;
mod currency;
mod download;
mod encoding;
mod feed;
mod feed_error;
mod format;
mod items;
mod json;
mod number_format;
mod parse;
mod price;
mod product;
mod product_error;
mod publish;
mod sale_dates;
mod selection;
mod shop_event;
mod shop_export;
mod shopify;
mod table;
mod texts;
mod variants;
mod woocommerce;
mod xml;

pub use download::{Download, DownloadStep};
pub use encoding::{Body, Encoding, NAMES as ENCODINGS, standard_name};
pub use feed::{Feed, FeedFault, MAX_FEED_PRODUCTS};
pub use feed_error::FeedError;
pub use format::{FeedFormat, FormatChoice};
pub use number_format::NumberFormat;
pub use price::PriceRules;
pub use product::FeedProduct;
pub use product_error::ProductError;
pub use publish::{products_json, products_xml};
pub use selection::{Order, ProductFilter, Selection};
pub use shop_event::ShopEvent;
pub use shop_export::ShopExport;
pub use shopify::shopify_event;
pub use woocommerce::woocommerce_event;

pub(crate) use items::read_push;
pub(crate) use price::amount_of;
