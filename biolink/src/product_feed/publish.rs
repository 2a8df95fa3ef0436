//! The products of a page as feeds for others: Google Merchant RSS 2.0, and JSON.

use serde_json::json;
use shared::time::UnixMillis;

use super::price::unambiguous;
use crate::page::document::{Availability, PageDocument, Product};

/// Returns the products of a page as Merchant Center's RSS 2.0. `base` is the address below which
/// pages are shown, and `path` that of the page there.
#[must_use]
pub fn products_xml(document: &PageDocument, path: &str, base: &str) -> String {
    let mut xml = String::from(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<rss version=\"2.0\" xmlns:g=\"http://base.google.com/ns/1.0\">\n<channel>\n",
    );
    element(&mut xml, "title", &document.title);
    element(&mut xml, "link", &format!("{base}{path}"));
    element(&mut xml, "description", &document.bio);
    for product in shown(document) {
        item(&mut xml, product, base);
    }
    xml.push_str("</channel>\n</rss>\n");
    xml
}

/// Returns the products of a page as JSON, in the form that a source reads.
#[must_use]
pub fn products_json(document: &PageDocument, path: &str, base: &str) -> String {
    let items: Vec<_> = shown(document)
        .map(|product| {
            json!({
                "id": product.id, "external_id": name_of(product), "title": product.title,
                "description": product.description, "url": product.url, "image": product.image.as_ref().map(|image| json!({ "url": image.url.absolute(base), "alt": image.alt })),
                "price": product.price.as_ref().map(|price| json!({ "amount": unambiguous(price), "currency": price.currency })),
                "sale_price": product.sale_price.as_ref().map(|price| json!({ "amount": unambiguous(price), "currency": price.currency })),
                "sale_from": product.sale_from.map(UnixMillis::to_rfc3339),
                "sale_until": product.sale_until.map(UnixMillis::to_rfc3339),
                "price_varies": product.price_varies,
                "availability": availability(product.availability),
            })
        })
        .collect();
    json!({ "title": document.title, "url": format!("{base}{path}"), "items": items }).to_string()
}

/// Returns the products that visitors see. Those whose address breaks a rule of today lead nowhere.
fn shown(document: &PageDocument) -> impl Iterator<Item = &Product> {
    let items = if document.products.enabled { document.products.items.as_slice() } else { &[] };
    items.iter().filter(|product| product.url.is_allowed())
}

/// Returns the name of a product in its shop, or its id.
fn name_of(product: &Product) -> String {
    product.external_id.clone().unwrap_or_else(|| product.id.to_string())
}

fn item(xml: &mut String, product: &Product, base: &str) {
    xml.push_str("<item>\n");
    element(xml, "g:id", &name_of(product));
    element(xml, "g:title", &product.title);
    element(xml, "g:description", product.description.as_deref().unwrap_or(&product.title));
    element(xml, "g:link", product.url.as_str());
    if let Some(image) = &product.image {
        element(xml, "g:image_link", &image.url.absolute(base));
    }
    for (name, price) in [("g:price", &product.price), ("g:sale_price", &product.sale_price)] {
        if let Some(price) = price {
            element(xml, name, &format!("{} {}", unambiguous(price), price.currency));
        }
    }
    if product.sale_from.or(product.sale_until).is_some() {
        let end = UnixMillis(u64::MAX);
        let (from, until) = (product.sale_from.unwrap_or_default(), product.sale_until.unwrap_or(end));
        let dates = format!("{}/{}", from.to_rfc3339(), until.to_rfc3339());
        element(xml, "g:sale_price_effective_date", &dates);
    }
    element(xml, "g:availability", availability(product.availability));
    xml.push_str("</item>\n");
}

const fn availability(availability: Availability) -> &'static str {
    match availability {
        Availability::InStock => "in_stock",
        Availability::OutOfStock => "out_of_stock",
        Availability::Preorder => "preorder",
        Availability::Backorder => "backorder",
    }
}

fn element(xml: &mut String, name: &str, text: &str) {
    let text = quick_xml::escape::escape(text);
    for part in ["<", name, ">", &*text, "</", name, ">\n"] {
        xml.push_str(part);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;
    use crate::{
        page::{IdSource, Reader},
        product_feed::{Feed, FeedFormat, FeedProduct, FormatChoice, character_references::decode},
    };

    fn document(title: &str, amount: &str) -> PageDocument {
        let body = json!({"title": "Ada & Co", "products": {"items": [
            {"external_id": "sku-1", "title": title, "description": "Blue", "url": "https://shop.example/mug?a=1&b=2",
             "image": {"url": "https://cdn.example/mug.jpg"}, "price": {"amount": amount, "currency": "EUR"},
             "sale_price": {"amount": "0.01", "currency": "EUR"}, "sale_until": "2027-01-31T12:00:00Z", "availability": "preorder"},
            {"title": "By hand", "url": "https://shop.example/hand"}
        ]}});
        Reader::new(None, IdSource::new([7; 16])).page(body.as_object().cloned().unwrap()).unwrap().document
    }

    fn read(text: &str) -> (FeedFormat, Vec<FeedProduct>) {
        let feed = Feed::parse(text.as_bytes(), FormatChoice::Auto, "https://p.example/ada", None).unwrap();
        assert_eq!(feed.faulty, 0, "{:?}", feed.faults);
        (feed.format, feed.products)
    }

    proptest! {
        #[test]
        fn published_products_are_read_back(title in "[ -~\u{e0}-\u{ff}]{1,40}", amount in "[1-9][0-9]{0,6}\\.[0-9]{1,2}[1-9]") {
            // A text that is a reference is one in a feed too.
            prop_assume!(!title.trim().is_empty() && decode(&title) == title);
            let (document, path) = (document(title.trim(), &amount), "/ada");
            let (xml, products) = read(&products_xml(&document, path, "https://p.example"));
            prop_assert_eq!(xml, FeedFormat::MerchantXml);
            let (json, same) = read(&products_json(&document, path, "https://p.example"));
            prop_assert_eq!(json, FeedFormat::Items);
            let [mug, hand] = products.as_slice() else { panic!("{products:?}") };
            let normal = title.split_whitespace().collect::<Vec<_>>().join(" ");
            prop_assert_eq!((&mug.external_id, &mug.title), (&"sku-1".to_owned(), &normal));
            prop_assert_eq!(&mug.price.as_ref().unwrap().amount, &amount);
            prop_assert_eq!(mug.availability, Availability::Preorder);
            prop_assert_eq!(mug.sale_until, UnixMillis::from_rfc3339("2027-01-31T12:00:00Z"));
            prop_assert_eq!(mug.url.as_str(), "https://shop.example/mug?a=1&b=2");
            // Google's dates have a begin.
            prop_assert_eq!(&same[0], &FeedProduct { sale_from: None, ..mug.clone() });
            prop_assert_eq!(&same[1].external_id, &hand.external_id);
        }
    }

    #[test]
    fn products_that_are_not_shown_are_not_published() {
        let (mut document, path) = (document("Mug", "1.00"), "/ada");
        document.products.enabled = false;
        assert!(!products_xml(&document, path, "").contains("<item>"));
        assert!(products_json(&document, path, "").contains("\"items\":[]"));
    }
}
