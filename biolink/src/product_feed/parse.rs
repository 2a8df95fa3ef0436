//! Reading a response as a feed.

use super::{
    content::Content,
    encoding,
    feed::Feed,
    feed_error::FeedError,
    format::{FeedFormat, FormatChoice},
    items, shopify, table, woocommerce, xml,
};

impl Feed {
    /// Reads a response. `base` is its URL, and `currency` that of prices without one.
    ///
    /// # Errors
    /// Returns an error if it is no feed, or not in the chosen format.
    pub fn parse(
        body: &[u8],
        choice: FormatChoice,
        base: &str,
        currency: Option<&str>,
    ) -> Result<Self, FeedError> {
        let text = encoding::text_of(body)?;
        let text = text.trim_start_matches('\u{feff}').trim();
        let is_shopify = matches!(choice, FormatChoice::Only(FeedFormat::Shopify));
        let content = match Content::detect(text) {
            Err(FeedError::WebPage) if is_shopify => Err(FeedError::NotShopify),
            detected => detected,
        }?;
        let format = content.format();
        if let FormatChoice::Only(expected) = choice
            && expected != format
            && !content.is_empty_list()
        {
            return Err(FeedError::OtherFormat { found: format, expected });
        }
        match content {
            Content::Xml(text) => xml::read(text, currency),
            Content::Table(text) => table::read(text, currency),
            Content::Shopify(products) => shopify::read(&products, base, currency),
            Content::WooCommerce(products) => Ok(woocommerce::read(&products)),
            Content::Items(list) => Ok(items::read(&list, currency)),
        }
    }
}

#[cfg(test)]
mod tests;
