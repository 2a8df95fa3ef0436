//! What shops mean is what visitors see: prices, sales, stock, texts and images of feeds, through the worker.

use serde_json::{Value, json};
use tests::{http::Request, shop::Page};

use super::product_sync::Store;

const ENCODINGS: &str = include_str!("../../biolink/tests/feeds/encodings.tsv");

fn item(id: &str, price: &str, more: &str) -> String {
    format!(
        "<item><g:id>{id}</g:id><title>P{id}</title><link>https://shop.example/{id}</link><g:price>{price}</g:price>{more}</item>"
    )
}

fn rss(items: &[String]) -> String {
    format!(
        "<?xml version=\"1.0\"?><rss version=\"2.0\" xmlns:g=\"http://base.google.com/ns/1.0\"><channel>{}</channel></rss>",
        items.concat()
    )
}

/// A source of one page, whose feeds come one after the other.
struct Values {
    store: Store,
    source: String,
}

impl Values {
    fn of(feed: &str, settings: Value) -> Self {
        let store = Store::shared();
        store.shop.set("/feed", Page::ok("application/xml", feed));
        let source = store.create_for("/feed", settings);
        Self { store, source }
    }

    /// Has another response read. Returns the run.
    fn then(&self, page: Page) -> Value {
        self.store.shop.set("/feed", page);
        self.store.run_again(&self.source)
    }

    /// Returns what the API has of a product.
    fn product(&self, id: &str) -> Option<Value> {
        let page = self.store.page();
        page["products"]["items"].as_array().unwrap().iter().find(|item| item["external_id"] == id).cloned()
    }

    fn price(&self, id: &str) -> Option<String> {
        let price = &self.product(id)?["price"];
        Some(format!("{} {}", price["amount"].as_str()?, price["currency"].as_str()?))
    }

    /// Returns the details of the last run's faults.
    fn faults(&self) -> Vec<String> {
        let run = self.store.runs(&self.source).remove(0);
        run["faults"]
            .as_array()
            .unwrap()
            .iter()
            .map(|fault| fault["detail"].as_str().unwrap().to_owned())
            .collect()
    }

    fn html(&self) -> String {
        self.store.site.send(&Request::get(&self.store.site.path)).text()
    }
}

#[test]
fn price_with_a_dot_for_thousands_is_never_too_low() {
    let feed = rss(&[
        item("1", "1.299 EUR", ""),
        item("2", "15.000 COP", ""),
        item("3", "1.299 \u{20ac}", ""),
        item("4", "1.299,00 EUR", ""),
        item("5", "12.99 EUR", ""),
    ]);
    let values = Values::of(&feed, json!({}));
    let prices = ["1", "2", "3", "4", "5"].map(|id| values.price(id));
    // The feed has prices of both kinds, so nothing says what the first three mean.
    let expected = [None, None, None, Some("1299.00 EUR"), Some("12.99 EUR")];
    assert_eq!(prices, expected.map(|price| price.map(str::to_owned)));
    let faults = values.faults();
    assert!(
        faults.len() == 3 && faults.iter().all(|fault| fault.contains("set `number_format`")),
        "{faults:?}"
    );
    let patched =
        values.store.call("PATCH", &format!("/{}", values.source), &json!({"number_format": "comma"}));
    assert_eq!((patched.status, &patched.json()["number_format"]), (200, &json!("comma")));
    values.store.wait_for_runs(&values.source, 2);
    assert_eq!(values.price("1").as_deref(), Some("1299 EUR"));
    let bad = values.store.call("PATCH", &format!("/{}", values.source), &json!({"number_format": "point"}));
    assert_eq!(bad.json()["errors"][0]["pointer"], "#/number_format");
}

#[test]
fn prices_are_the_same_in_api_page_and_metadata() {
    let feed = rss(&[item("1", "1.299 EUR", ""), item("2", "199.000 VND", ""), item("3", "49,90 EUR", "")]);
    let values = Values::of(&feed, json!({}));
    let prices = ["1", "2", "3"].map(|id| values.price(id).unwrap());
    assert_eq!(prices, ["1299 EUR", "199000 VND", "49.90 EUR"]);
    let html = values.html();
    for (shown, amount, currency) in [
        ("\u{20ac}1,299", "1299", "EUR"),
        ("VND\u{a0}199,000", "199000", "VND"),
        ("\u{20ac}49.90", "49.90", "EUR"),
    ] {
        assert!(html.contains(shown), "{shown}: {html}");
        let offer = format!("\"price\":\"{amount}\",\"priceCurrency\":\"{currency}\"");
        assert!(html.contains(&offer), "{offer}: {html}");
    }
}

#[test]
fn woocommerce_sale_is_shown_while_it_runs() {
    let product = |id: u32, price: &str, on_sale: bool| {
        json!({"id": id, "name": format!("W{id}"), "permalink": format!("https://shop.example/{id}"), "on_sale": on_sale,
            "prices": {"price": price, "regular_price": "1500", "sale_price": "1000", "price_range": null,
                "currency_code": "EUR", "currency_minor_unit": 2}, "images": [], "is_in_stock": true})
    };
    let body =
        json!([product(1, "1500", false), product(2, "1000", true), product(3, "1200", false)]).to_string();
    let values = Values::of(&body, json!({}));
    let sale = |id: &str| values.product(id).unwrap()["sale_price"]["amount"].clone();
    assert_eq!([sale("1"), sale("2"), sale("3")], [json!(null), json!("10.00"), json!(null)]);
    assert_eq!(values.price("3").as_deref(), Some("12.00 EUR"), "a discount for a role");
    assert_eq!(values.html().matches("\u{20ac}10.00").count(), 1);
}

#[test]
fn group_with_a_variant_in_stock_passes_the_filter() {
    let variant = |id: &str, price: &str, availability: &str| {
        item(
            id,
            price,
            &format!("<g:availability>{availability}</g:availability><g:item_group_id>G</g:item_group_id>"),
        )
    };
    let feed = rss(&[
        variant("a", "20.00 EUR", "out_of_stock"),
        variant("b", "21.00 EUR", "in_stock"),
        variant("c", "22.00 EUR", "in_stock"),
    ]);
    let values = Values::of(&feed, json!({"filter": {"availability": ["in_stock"]}}));
    let product = values.product("a").expect("the product can be bought");
    assert_eq!((&product["availability"], &product["price_varies"]), (&json!("in_stock"), &json!(true)));
    assert_eq!(
        (values.price("a").as_deref(), &product["url"]),
        (Some("21.00 EUR"), &json!("https://shop.example/b"))
    );
}

#[test]
fn image_of_a_shop_is_shown_or_named() {
    let image = |id: &str, url: &str| item(id, "15.00 EUR", &format!("<g:image_link>{url}</g:image_link>"));
    let feed = rss(&[
        image("1", "https://cdn.example/My Image, Front.jpg"),
        image("2", "//cdn.example/2.jpg"),
        image("3", "http://cdn.example/3.jpg?a=1&b=2"),
        image("4", "/media/4.jpg"),
    ]);
    let values = Values::of(&feed, json!({}));
    let images = ["1", "2", "3", "4"].map(|id| values.product(id).unwrap()["image"]["url"].clone());
    assert_eq!(
        images,
        [
            json!("https://cdn.example/My%20Image,%20Front.jpg"),
            json!("https://cdn.example/2.jpg"),
            json!("https://cdn.example/3.jpg?a=1&b=2"),
            json!(null)
        ]
    );
    let faults = values.faults();
    assert!(
        faults[0].contains("line 1 has a bare `&`") && faults[1].contains("`/media/4.jpg` is left out"),
        "{faults:?}"
    );
    assert_eq!(values.store.runs(&values.source)[0]["faulty"], 0);
}

/// Oracle: bytes of Python's codecs. `page` makes a response of the name of an encoding and a title in it.
fn check_encodings(page: impl Fn(&str, &[u8]) -> Page) {
    // A log has 50 runs, so each source reads the table once.
    let values = Values::of(&rss(&[item("1", "15.00 EUR", "")]), json!({}));
    let mut last = "P1".to_owned();
    for row in ENCODINGS.lines().filter(|line| !line.starts_with('#')) {
        let [label, hex, text] = row.split('\t').collect::<Vec<_>>()[..] else { panic!("{row}") };
        let byte = |at: usize| u8::from_str_radix(&hex[at..at + 2], 16).unwrap();
        let bytes: Vec<u8> = (0..hex.len()).step_by(2).map(byte).collect();
        let run = values.then(page(label, &bytes));
        if text == "!" {
            let error = run["error"].as_str().unwrap_or_default();
            assert!(run["outcome"] == "failed" && error.contains(&format!("`{label}`")), "{row}: {run}");
        } else {
            assert!(run["outcome"] != "failed", "{row}: {run}");
            text.clone_into(&mut last);
        }
        // What cannot be read leaves what was there.
        assert_eq!(values.product("1").unwrap()["title"], last, "{row}: {run}");
    }
    assert!(values.html().contains(&last));
    let unnamed = b"id,title,link\n1,\x83\x65\x83\x58\x83\x67\x81\x5b,https://shop.example/1";
    let run = values.then(Page::ok("text/csv", unnamed));
    assert!(run["error"].as_str().unwrap().contains("charset="), "{run}");
}

#[test]
fn table_in_the_encoding_of_its_header_is_read() {
    check_encodings(|label, title| {
        let table = [b"id\ttitle\tlink\n1\t", title, b"\thttps://shop.example/1\n"].concat();
        Page::ok(&format!("text/csv; charset={label}"), table)
    });
}

/// A shop that names no encoding was refused or read as Windows-1252.
#[test]
fn table_in_the_encoding_of_its_source_is_read() {
    let values = Values::of(&rss(&[item("1", "15.00 EUR", "")]), json!({"encoding": "Windows-1251"}));
    let run = values
        .then(Page::ok("text/csv", b"id,title,link\n1,\xcf\xf0\xe8\xe2\xe5\xf2,https://shop.example/1"));
    assert!(run["outcome"] != "failed", "{run}");
    assert_eq!(values.product("1").unwrap()["title"], "\u{41f}\u{440}\u{438}\u{432}\u{435}\u{442}");
    let path = format!("/{}", values.source);
    let bad = values.store.call("PATCH", &path, &json!({"encoding": "latin-9"}));
    assert_eq!(bad.json()["errors"][0]["pointer"], "#/encoding");
}

#[test]
fn xml_in_the_encoding_of_its_declaration_is_read() {
    check_encodings(|label, title| {
        let head =
            format!("<?xml version=\"1.0\" encoding=\"{label}\"?><rss><channel><item><id>1</id><title>");
        let end = b"</title><link>https://shop.example/1</link></item></channel></rss>";
        Page::ok("text/xml", [head.as_bytes(), title, end].concat())
    });
}

#[test]
fn export_that_is_no_feed_says_what_to_use() {
    let store = Store::shared();
    store.shop.set(
        "/feed",
        Page::ok("text/csv", "Handle,Title,Vendor,Variant Price,Image Src\nmug,Mug,Ada,15.00,\n"),
    );
    let id = store.create_for("/feed", json!({}));
    let run = store.runs(&id).remove(0);
    assert!(run["error"].as_str().unwrap().contains("https://your.store/products.json"), "{run}");
}
