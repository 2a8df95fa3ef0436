#![no_main]

use biolink::{
    page::PageDocument,
    product_feed::{Feed, FormatChoice, products_json, products_xml},
};
use fuzz::document;
use libfuzzer_sys::fuzz_target;
use roxmltree::Document;
use serde_json::Value;

const ELEMENTS: [&str; 15] = [
    "rss",
    "channel",
    "title",
    "link",
    "description",
    "item",
    "id",
    "image_link",
    "price",
    "sale_price",
    "sale_price_effective_date",
    "availability",
    "brand",
    "condition",
    "identifier_exists",
];

fuzz_target!(|data: &[u8]| {
    if let Some(document) = document(data) {
        check(&document);
    }
});

/// Oracle: roxmltree and serde_json, and what was stored. The products of a page are XML of our elements
/// and JSON, both with each product that is shown, by its title and address. Both are read as a feed
/// without a fault. A document survives being stored.
fn check(document: &PageDocument) {
    let stored = serde_json::to_string(document).expect("a document");
    assert_eq!(shared::json::from_str::<PageDocument>(&stored).as_ref(), Ok(document));
    let (xml, json) = (
        products_xml(document, "/ada", "https://p.example"),
        products_json(document, "/ada", "https://p.example"),
    );
    let items = if document.products.enabled { document.products.items.as_slice() } else { &[] };
    let expected: Vec<_> =
        items.iter().map(|item| (item.title.clone(), item.url.as_str().to_owned())).collect();

    let tree = Document::parse(&xml).unwrap_or_else(|error| panic!("{error}: {xml}"));
    let elements = || tree.descendants().filter(roxmltree::Node::is_element);
    assert!(elements().all(|element| ELEMENTS.contains(&element.tag_name().name())), "{xml}");
    assert!(tree.descendants().all(|node| !node.is_comment() && !node.is_pi()), "{xml}");
    let shown = elements().filter(|element| element.has_tag_name("item")).map(|item| {
        let text = |name: &str| {
            let child = item.children().find(|child| child.tag_name().name() == name);
            child.and_then(|child| child.text()).unwrap_or_default().to_owned()
        };
        (text("title"), text("link"))
    });
    assert_eq!(shown.collect::<Vec<_>>(), expected, "{xml}");

    let tree: Value = serde_json::from_str(&json).unwrap_or_else(|error| panic!("{error}: {json}"));
    let text = |item: &Value, name: &str| item[name].as_str().unwrap_or_default().to_owned();
    let shown = tree["items"].as_array().into_iter().flatten();
    let shown: Vec<_> = shown.map(|item| (text(item, "title"), text(item, "url"))).collect();
    assert_eq!(shown, expected, "{json}");
    for feed in [&xml, &json] {
        let read = Feed::parse(feed.as_bytes(), FormatChoice::Auto, "https://p.example/ada", None);
        let read = read.unwrap_or_else(|error| panic!("{error}: {feed}"));
        assert_eq!((read.items, read.truncated), (expected.len(), false), "{feed}");
    }
}
