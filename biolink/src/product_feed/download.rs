//! A feed that may come in several responses.

use super::{
    FormatChoice,
    feed::{Feed, MAX_FEED_PRODUCTS},
    feed_error::FeedError,
    format::FeedFormat,
    number_format::NumberFormat,
    price::PriceRules,
};

/// Products on a full page of Shopify's list.
const SHOPIFY_PAGE: usize = 250;
/// Products on a full page of WooCommerce's list.
const WOOCOMMERCE_PAGE: usize = 100;

/// The download of a feed, page by page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Download {
    url: String,
    paging: Option<Paging>,
    page: usize,
    choice: FormatChoice,
    base: Option<String>,
    currency: Option<String>,
    numbers: NumberFormat,
    feed: Option<Feed>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Paging {
    Shopify,
    WooCommerce,
}

/// What follows a response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DownloadStep {
    /// The next page is to be fetched.
    Next(Download),
    /// The feed is complete.
    Complete(Feed),
}

impl Download {
    /// Begins the download of the feed at `url`. `base` is where the shop is, if it is elsewhere, and
    /// `rules` say how its prices are read.
    #[must_use]
    pub fn new<'a>(
        url: &str,
        choice: FormatChoice,
        base: Option<&str>,
        rules: impl Into<PriceRules<'a>>,
    ) -> Self {
        let PriceRules { currency, numbers } = rules.into();
        let path = url.split(['?', '#']).next().unwrap_or_default();
        let is_bare = path.splitn(4, '/').nth(3).is_none_or(str::is_empty);
        let store = path.trim_end_matches('/');
        let (url, paging) = match choice {
            FormatChoice::Only(FeedFormat::Shopify) if is_bare => {
                (format!("{store}/products.json"), Some(Paging::Shopify))
            }
            FormatChoice::Only(FeedFormat::Woocommerce) if is_bare => {
                (format!("{store}/wp-json/wc/store/v1/products"), Some(Paging::WooCommerce))
            }
            _ if path.ends_with("/products.json") => (url.to_owned(), Some(Paging::Shopify)),
            _ if path.contains("/wp-json/wc/store/") => (url.to_owned(), Some(Paging::WooCommerce)),
            _ => (url.to_owned(), None),
        };
        let (base, currency) = (base.map(str::to_owned), currency.map(str::to_owned));
        Self { url, paging, page: 1, choice, base, currency, numbers, feed: None }
    }

    /// Returns the URL of the next response.
    #[must_use]
    pub fn url(&self) -> String {
        let Some(paging) = self.paging else { return self.url.clone() };
        let (path, query) = self.url.split_once('?').unwrap_or((&self.url, ""));
        let is_ours = |pair: &&str| {
            !["page=", "limit=", "per_page="].iter().any(|name| pair.starts_with(name)) && !pair.is_empty()
        };
        let mut pairs: Vec<String> = query.split('&').filter(is_ours).map(str::to_owned).collect();
        pairs.push(format!("{}={}", paging.size_name(), paging.size()));
        pairs.push(format!("page={}", self.page));
        format!("{path}?{}", pairs.join("&"))
    }

    /// Returns true if the feed is one response, so that its validators stand for all of it.
    #[must_use]
    pub const fn is_single(&self) -> bool {
        self.paging.is_none()
    }

    /// Takes the text of a response.
    ///
    /// # Errors
    /// Returns an error if it is no feed.
    pub fn step(mut self, text: &str) -> Result<DownloadStep, FeedError> {
        let url = self.url();
        let is_shopify = self.paging == Some(Paging::Shopify);
        let base = self.base.as_deref().unwrap_or(&url);
        let rules = PriceRules { currency: self.currency.as_deref(), numbers: self.numbers };
        let part = Feed::parse_text(text, self.choice, base, rules);
        let part = part.map_err(|error| match error {
            FeedError::WebPage if is_shopify => FeedError::NotShopify,
            error => error,
        })?;
        let items = part.items;
        let mut feed = match self.feed.take() {
            Some(feed) => feed.followed_by(part),
            None => part,
        };
        let is_full = self.paging.is_some_and(|paging| items >= paging.size());
        if is_full && feed.items < MAX_FEED_PRODUCTS {
            self.page = self.page.saturating_add(1);
            return Ok(DownloadStep::Next(Self { feed: Some(feed), ..self }));
        }
        feed.truncated |= is_full;
        Ok(DownloadStep::Complete(feed))
    }
}

impl Paging {
    const fn size(self) -> usize {
        match self {
            Self::Shopify => SHOPIFY_PAGE,
            Self::WooCommerce => WOOCOMMERCE_PAGE,
        }
    }

    const fn size_name(self) -> &'static str {
        match self {
            Self::Shopify => "limit",
            Self::WooCommerce => "per_page",
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn page(first: usize, count: usize) -> String {
        let product = |id: usize| json!({"id": id, "title": "a", "handle": format!("a{id}"), "variants": [{"price": "1.00"}]});
        let products: Vec<Value> = (first..first + count).map(product).collect();
        json!({ "products": products }).to_string()
    }

    #[test]
    fn shopify_is_read_until_a_short_page() {
        let mut download = Download::new(
            "https://shop.example/products.json?limit=5&page=9&x=y",
            FormatChoice::Auto,
            None,
            Some("EUR"),
        );
        for number in 1..=2 {
            let url = format!("https://shop.example/products.json?x=y&limit=250&page={number}");
            assert_eq!((download.url(), download.is_single()), (url, false));
            let Ok(DownloadStep::Next(next)) = download.step(&page(number * 250, 250)) else {
                panic!("{number}")
            };
            download = next;
        }
        let Ok(DownloadStep::Complete(feed)) = download.step(&page(750, 3)) else { panic!("not complete") };
        assert_eq!((feed.products.len(), feed.items, feed.truncated), (503, 503, false));
    }

    #[test]
    fn shopify_that_never_ends_is_cut() {
        let mut download = Download::new(
            "https://shop.example/",
            FormatChoice::Only(FeedFormat::Shopify),
            None,
            Some("EUR"),
        );
        assert_eq!(download.url(), "https://shop.example/products.json?limit=250&page=1");
        let feed = loop {
            match download.step(&page(0, 250)).unwrap() {
                DownloadStep::Next(next) => download = next,
                DownloadStep::Complete(feed) => break feed,
            }
        };
        assert_eq!((feed.items, feed.products.len(), feed.truncated), (25_000, 250, true));
    }

    #[test]
    fn web_page_in_place_of_a_store_is_refused() {
        let download =
            Download::new("https://shop.example/products.json", FormatChoice::Auto, None, Some("EUR"));
        assert_eq!(download.step("<!doctype html><title>Shop</title>"), Err(FeedError::NotShopify));
        let store =
            Download::new("https://shop.example", FormatChoice::Only(FeedFormat::Woocommerce), None, None);
        assert_eq!(store.url(), "https://shop.example/wp-json/wc/store/v1/products?per_page=100&page=1");
        let plain = Download::new("https://shop.example/feed.xml?a=b", FormatChoice::Auto, None, None);
        assert_eq!((plain.url().as_str(), plain.is_single()), ("https://shop.example/feed.xml?a=b", true));
    }
}
