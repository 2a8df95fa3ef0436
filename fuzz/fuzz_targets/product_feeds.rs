#![no_main]

use biolink::product_feed::{Feed, FeedFormat, FeedProduct, FormatChoice};
use libfuzzer_sys::fuzz_target;
use url::Url;

fuzz_target!(|body: &[u8]| check(body));

/// Oracle: the URL standard, and the limits of a product. Each product that is read has an address of the
/// web, texts of one line, and a price in digits with three letters of currency. A format that is found
/// is found again if it is asked for, and no other one is. Items are products, faults or left out.
fn check(body: &[u8]) {
    let read = |choice, currency: Option<&str>| {
        Feed::parse(body, choice, "https://shop.example/products.json", currency)
    };
    let found = read(FormatChoice::Auto, Some("EUR"));
    for format in FeedFormat::ALL {
        let chosen = read(FormatChoice::Only(format), Some("EUR"));
        match &found {
            Ok(feed) if feed.format == format => assert_eq!(chosen.as_ref(), Ok(feed)),
            Ok(feed) => assert!(chosen.is_err() || feed.items == 0, "{format}"),
            Err(_) => assert!(chosen.is_err(), "{format}"),
        }
    }
    if let Ok(feed) = &found {
        assert!(feed.products.len() + feed.faulty <= feed.items);
        assert!(feed.faults.len() <= feed.faulty);
        feed.products.iter().for_each(check_product);
        let ids: std::collections::HashSet<_> =
            feed.products.iter().map(|product| &product.external_id).collect();
        assert_eq!(ids.len(), feed.products.len());
    }
    if let Ok(feed) = read(FormatChoice::Auto, None) {
        assert!(feed.products.len() <= found.map_or(0, |feed| feed.products.len()));
    }
}

fn check_product(product: &FeedProduct) {
    let addresses = [Some(&product.url), product.image.as_ref()];
    for url in addresses.into_iter().flatten().filter(|url| !url.as_str().contains("xn--")) {
        let standard = Url::parse(url.as_str()).unwrap_or_else(|error| panic!("{url}: {error}"));
        assert!(matches!(standard.scheme(), "http" | "https"), "{url}");
        assert_eq!(standard.host_str(), Some(url.host()), "{url}");
    }
    let texts = [Some(&product.external_id), Some(&product.title), product.description.as_ref()];
    for text in texts.into_iter().flatten().chain(&product.tags) {
        assert!(!text.is_empty() && text.trim() == text && !text.chars().any(char::is_control), "{text:?}");
    }
    assert!(product.external_id.chars().count() <= FeedProduct::MAX_ID, "{product:?}");
    for price in [&product.price, &product.sale_price].into_iter().flatten() {
        let (whole, fraction) = price.amount.split_once('.').unwrap_or((&price.amount, "0"));
        for digits in [whole, fraction] {
            assert!(!digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit()), "{price:?}");
        }
        assert!(
            price.currency.len() == 3 && price.currency.bytes().all(|b| b.is_ascii_uppercase()),
            "{price:?}"
        );
    }
    let stored = serde_json::to_string(product).expect("a product");
    assert_eq!(shared::json::from_str::<FeedProduct>(&stored).as_ref(), Ok(product));
}
