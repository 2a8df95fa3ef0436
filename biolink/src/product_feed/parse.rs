//! Reading a response as a feed.

use super::{
    content::Content,
    encoding::Body,
    feed::Feed,
    feed_error::FeedError,
    format::{FeedFormat, FormatChoice},
    items,
    number_format::NumberFormat,
    price::PriceRules,
    shopify, table, woocommerce, xml,
};

impl Feed {
    /// Reads a response that names no encoding, or one that is read here.
    ///
    /// # Errors
    /// Returns an error if it is no feed, or not in the chosen format.
    pub fn parse<'a>(
        body: &[u8],
        choice: FormatChoice,
        base: &str,
        rules: impl Into<PriceRules<'a>>,
    ) -> Result<Self, FeedError> {
        match Body::read(body, None, None)? {
            Body::Text(text) => Self::parse_text(&text, choice, base, rules),
            Body::Encoded(encoding) => Err(encoding.mismatch()),
        }
    }

    /// Reads the text of a response. `base` is its URL, and `rules` say how its prices are read.
    ///
    /// # Errors
    /// Returns an error if it is no feed, or not in the chosen format.
    pub fn parse_text<'a>(
        text: &str,
        choice: FormatChoice,
        base: &str,
        rules: impl Into<PriceRules<'a>>,
    ) -> Result<Self, FeedError> {
        let rules = rules.into();
        let text = text.trim_start_matches('\u{feff}').trim();
        let is_shopify = matches!(choice, FormatChoice::Only(FeedFormat::Shopify));
        let content = match Content::detect(text) {
            Err(FeedError::WebPage) if is_shopify => Err(FeedError::NotShopify),
            detected => detected,
        }?;
        let format = content.format();
        if let FormatChoice::Only(expected) = choice
            && expected != format
            // An empty list has no form: the shop sells nothing at the moment.
            && !content.is_empty_list()
        {
            return Err(FeedError::OtherFormat { found: format, expected });
        }
        let feed = read(&content, base, &rules)?;
        // Read once more for the few feeds of which one price shows how another one is meant.
        if rules.numbers == NumberFormat::Auto && feed.is_open() {
            return read(&content, base, &PriceRules { numbers: feed.numbers(), ..rules });
        }
        Ok(feed)
    }
}

fn read(content: &Content<'_>, base: &str, rules: &PriceRules<'_>) -> Result<Feed, FeedError> {
    match content {
        Content::Xml(text) => xml::read(text, rules),
        Content::Table(text) => table::read(text, rules),
        Content::Shopify(products) => shopify::read(products, base, rules),
        Content::WooCommerce(products) => Ok(woocommerce::read(products, rules)),
        Content::Items(list) => Ok(items::read(list, rules)),
    }
}

#[cfg(test)]
mod tests;
