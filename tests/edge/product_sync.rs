//! Product sync: a page shows the products of shops, which are fetched.

use std::time::Duration;

use biolink::product_feed::{Feed, FeedFormat, FormatChoice};
use serde_json::{Value, json};
use tests::{
    http::{Request, Response},
    objects::Object,
    shop::{Page, Shop},
    stack::{Edge, NOWHERE},
    wait::wait_for,
};

use super::{
    pages::{issue, request},
    site::Site,
};

/// A page whose products come from a shop.
pub(crate) struct Store {
    pub(crate) site: Site,
    pub(crate) shop: Shop,
}

impl Store {
    /// Makes one with its own worker.
    pub(crate) fn start() -> Self {
        Self { site: Site::start(), shop: Shop::start() }
    }

    /// Makes one at a worker that tests share.
    pub(crate) fn shared() -> Self {
        Self { site: Site::shared(), shop: Shop::start() }
    }

    pub(crate) fn path(&self, rest: &str) -> String {
        format!("/pages/{}/product-sources{rest}", self.site.id())
    }

    pub(crate) fn call(&self, method: &str, rest: &str, body: &Value) -> Response {
        let request = match method {
            "GET" | "DELETE" => Request::new(method, &self.path(rest)),
            _ => request(method, &self.path(rest), body),
        };
        request.key(&self.site.key).send(self.site.edge.addr)
    }

    /// Creates a source. Returns it.
    pub(crate) fn create(&self, body: &Value) -> Value {
        let response = self.call("POST", "", body);
        assert_eq!(response.status, 201, "{}", response.text());
        response.json()
    }

    /// Creates a source for a feed of the shop. Returns its id, once it has run.
    pub(crate) fn create_for(&self, target: &str, more: Value) -> String {
        let mut body = json!({"url": self.shop.url(target)});
        body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let id = self.create(&body)["id"].as_str().unwrap().to_owned();
        self.wait_for_runs(&id, 1);
        id
    }

    pub(crate) fn read(&self, id: &str) -> Value {
        let response = self.call("GET", &format!("/{id}"), &json!(null));
        assert_eq!(response.status, 200, "{}", response.text());
        response.json()
    }

    /// Returns the runs, the newest first.
    pub(crate) fn runs(&self, id: &str) -> Vec<Value> {
        // Past the API, which has a quota.
        let response = Object::product_source(&self.site.edge, id).send(&json!("runs"));
        assert_eq!(response.status, 200, "{}", response.text());
        response.json()["data"].as_array().unwrap().clone()
    }

    /// Waits until the source has run so often. Returns the last run.
    pub(crate) fn wait_for_runs(&self, id: &str, count: usize) -> Value {
        wait_for(Duration::from_secs(40), || {
            let mut runs = self.runs(id);
            (runs.len() >= count).then(|| runs.remove(0))
        })
    }

    /// Makes the next run due, and waits for it. Returns it.
    pub(crate) fn run_again(&self, id: &str) -> Value {
        let count = self.runs(id).len();
        let object = Object::product_source(&self.site.edge, id);
        object.sql(
            "UPDATE part SET j = json_set(j, '$.next_run.at', 0, '$.held_at', 0, '$.edited_at', NULL) WHERE k = 'state'",
        );
        object.restart();
        object.run_alarm();
        self.wait_for_runs(id, count + 1)
    }

    /// Returns the titles of the products that visitors see.
    pub(crate) fn titles(&self) -> Vec<String> {
        let response = self.site.send(&Request::get(&self.site.at("/products.json")));
        assert_eq!(response.status, 200, "{}", response.text());
        let items = response.json()["items"].as_array().unwrap().clone();
        items.iter().map(|item| item["title"].as_str().unwrap().to_owned()).collect()
    }

    /// Waits until visitors see these products beside the one that was made by hand.
    pub(crate) fn wait_for_titles(&self, expected: &[&str]) {
        self.wait_for_titles_within(Duration::from_secs(30), expected);
    }

    pub(crate) fn wait_for_titles_within(&self, limit: Duration, expected: &[&str]) {
        let expected: Vec<String> =
            ["Engine"].iter().chain(expected).map(|title| (*title).to_owned()).collect();
        wait_for(limit, || (self.titles() == expected).then_some(()));
    }

    pub(crate) fn page(&self) -> Value {
        let path = format!("/pages/{}", self.site.id());
        Request::get(&path).key(&self.site.key).send(self.site.edge.addr).json()
    }
}

/// Returns a Merchant feed with products of these titles.
pub(crate) fn rss(titles: &[&str]) -> Page {
    let item = |title: &&str| {
        format!(
            "<item><g:id>{title}</g:id><g:title>{title}</g:title><g:link>https://shop.example/{title}</g:link><g:price>15.00 EUR</g:price></item>"
        )
    };
    let items: String = titles.iter().map(item).collect();
    let xml = format!(
        "<?xml version=\"1.0\"?><rss xmlns:g=\"http://base.google.com/ns/1.0\" version=\"2.0\"><channel><title>Shop</title>{items}</channel></rss>"
    );
    Page::ok("application/rss+xml", xml)
}

/// A table of one product as a file in gzip.
const ZIPPED: &[u8] =
    b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x02\x03\xcb\x4c\xe1\x2c\xc9\x2c\xc9\x49\xe5\xcc\xc9\xcc\
    \xcb\xe6\x32\xe4\x8c\xca\x2c\x28\x48\x4d\xe1\xcc\x28\x29\x29\x28\xb6\xd2\xd7\x2f\xce\xc8\
    \x2f\xd0\x4b\xad\x48\xcc\x2d\xc8\x49\xd5\xaf\xe2\x02\x00\x08\xea\xbb\x61\x2e\x00\x00\x00";

#[test]
fn each_format_is_shown_on_the_page() {
    let store = Store::shared();
    let shopify = |first: usize, count: usize| {
        let product = |id: usize| json!({"id": id, "title": format!("s{id}"), "handle": format!("s{id}"), "variants": [{"price": "9.00", "available": true}]});
        json!({"products": (first..first + count).map(product).collect::<Vec<_>>()}).to_string()
    };
    store.shop.set("/products.json?limit=250&page=1", Page::ok("application/json", shopify(0, 250)));
    store.shop.set("/products.json?limit=250&page=2", Page::ok("application/json", shopify(250, 7)));
    let woocommerce = json!([{"id": 5, "name": "Woo", "permalink": "https://shop.example/woo", "prices":
        {"price": "1299", "regular_price": "1299", "currency_code": "EUR", "currency_minor_unit": 2}}]);
    store.shop.set(
        "/wp-json/wc/store/v1/products?per_page=100&page=1",
        Page::ok("application/json", woocommerce.to_string()),
    );
    store.shop.set(
        "/feed.tsv",
        Page::ok("text/plain", "id\ttitle\tlink\tprice\n1\tTable\thttps://shop.example/t\t3.50 EUR\n"),
    );
    let atom = r#"<feed xmlns="http://www.w3.org/2005/Atom" xmlns:g="http://base.google.com/ns/1.0"><entry><g:id>1</g:id><title>Atom</title><link href="https://shop.example/a"/></entry></feed>"#;
    store.shop.set("/atom", Page::ok("application/xml", atom));
    let own = json!({"items": [{"external_id": "o", "title": "Own", "url": "https://shop.example/o", "price": {"amount": "1.00", "currency": "EUR"}}]});
    store.shop.set("/own", Page::ok("application/json", own.to_string()));
    store.shop.set("/rss", rss(&["RSS"]));
    store.shop.set("/feed.tsv.gz", Page::ok("application/gzip", ZIPPED));
    let cases = [
        (
            "/products.json",
            json!({"currency": "EUR", "max_items": 2, "store_url": "https://shop.example"}),
            "shopify",
            257,
            vec!["s0", "s1"],
        ),
        ("/wp-json/wc/store/v1/products", json!({}), "woocommerce", 1, vec!["Woo"]),
        ("/feed.tsv", json!({}), "merchant_table", 1, vec!["Table"]),
        ("/atom", json!({}), "merchant_xml", 1, vec!["Atom"]),
        ("/own", json!({}), "items", 1, vec!["Own"]),
        ("/rss", json!({}), "merchant_xml", 1, vec!["RSS"]),
        ("/feed.tsv.gz", json!({}), "merchant_table", 1, vec!["Zipped"]),
    ];
    for (target, more, format, items, titles) in cases {
        let id = store.create_for(target, more);
        let run = &store.runs(&id)[0];
        assert_eq!(
            (&run["outcome"], &run["trigger"]),
            (&json!("updated"), &json!("settings")),
            "{target}: {run}"
        );
        assert_eq!((&run["format"], &run["items"]), (&json!(format), &json!(items)), "{target}: {run}");
        store.wait_for_titles(&titles);
        let html = store.site.send(&Request::get(&store.site.path)).text();
        assert!(titles.iter().all(|title| html.contains(title)), "{target}");
        assert_eq!(store.call("DELETE", &format!("/{id}"), &json!(null)).status, 204);
        store.wait_for_titles(&[]);
    }
}

#[test]
fn feed_that_did_not_change_is_not_published_again() {
    let store = Store::shared();
    store.shop.set("/feed", rss(&["Mug"]).with("etag: \"one\""));
    let id = store.create_for("/feed", json!({}));
    store.wait_for_titles(&["Mug"]);
    let version = || store.page()["revision"].clone();
    let before = version();
    assert_eq!(store.run_again(&id)["outcome"], "not_modified");
    let visit = store.shop.visits().pop().unwrap();
    assert!(visit.headers.contains(&"if-none-match: \"one\"".to_owned()), "{visit:?}");
    store.shop.set("/feed", rss(&["Mug"]).with("etag: \"two\""));
    assert_eq!(store.run_again(&id)["outcome"], "unchanged");
    assert_eq!(version(), before);
    store.shop.set("/feed", rss(&["Mug", "Pot"]).with("etag: \"three\""));
    let run = store.run_again(&id);
    assert_eq!((&run["outcome"], &run["products"]["added"]), (&json!("updated"), &json!(1)));
    store.wait_for_titles(&["Mug", "Pot"]);
    let sync = &store.read(&id)["sync"];
    assert_eq!((&sync["status"], &sync["products"]), (&json!("ok"), &json!(2)));
}

#[test]
fn products_stay_while_the_shop_fails() {
    let store = Store::shared();
    store.shop.set("/feed", rss(&["Mug"]));
    let id = store.create_for("/feed", json!({}));
    store.wait_for_titles(&["Mug"]);
    let bomb = r#"<!DOCTYPE a [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;">]><rss><channel><item><title>&b;</title></item></channel></rss>"#;
    let failures = [
        (Page::Response(503, vec!["retry-after: 7200".to_owned()], Vec::new()), "status 503"),
        (
            Page::Response(302, vec![format!("location: {}", store.shop.url("/other"))], Vec::new()),
            "redirect",
        ),
        (Page::ok("text/xml", vec![b' '; 5 * 1024 * 1024 + 1]), "longer than 5242880 bytes"),
        (Page::ok("text/xml", bomb), "DOCTYPE"),
        (Page::ok("text/html", "<!doctype html><title>Sorry</title>"), "web page"),
        (
            Page::ok("text/xml", "<rss><channel><item><title>a</title></item></channel></rss>"),
            "none of the 1 items",
        ),
    ];
    for (number, (page, expected)) in failures.into_iter().enumerate() {
        store.shop.set("/feed", page);
        let run = store.run_again(&id);
        assert_eq!(run["outcome"], "failed", "{run}");
        assert!(run["error"].as_str().unwrap().contains(expected), "{run}");
        let sync = store.read(&id)["sync"].clone();
        assert_eq!(sync["status"], if number < 2 { "stale" } else { "failing" });
        assert_eq!(sync["error"], run["error"]);
        if number == 0 {
            let object = Object::product_source(&store.site.edge, &id);
            let waits = object.sql("SELECT json_extract(j, '$.next_run.at') - json_extract(j, '$.last_run_at') FROM part WHERE k = 'state'");
            let wait = waits[0][0].as_f64().unwrap();
            assert!((7_200_000.0..7_210_000.0).contains(&wait), "{wait}");
        }
    }
    assert!(store.shop.visits().iter().all(|visit| visit.target == "/feed"), "no redirect is followed");
    store.wait_for_titles(&["Mug"]);
    store.shop.set("/feed", rss(&["Mug", "Pot"]));
    assert_eq!(store.run_again(&id)["outcome"], "updated");
    assert_eq!(store.read(&id)["sync"]["status"], "ok");
}

#[test]
fn shop_that_hangs_is_given_up() {
    let store = Store::shared();
    store.shop.set("/feed", Page::Hang);
    let id = store.create_for("/feed", json!({}));
    let run = &store.runs(&id)[0];
    assert_eq!(
        (&run["outcome"], &run["error"]),
        (&json!("failed"), &json!("the shop did not respond within 15000 ms"))
    );
    store.wait_for_titles(&[]);
}

#[test]
fn feed_that_lost_most_products_is_held_for_one_run() {
    let store = Store::shared();
    let many = ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j"];
    store.shop.set("/feed", rss(&many));
    let id = store.create_for("/feed", json!({}));
    store.wait_for_titles(&many);
    store.shop.set("/feed", rss(&["a"]));
    assert_eq!(store.run_again(&id)["outcome"], "held");
    assert_eq!(store.read(&id)["sync"]["held"], true);
    store.wait_for_titles(&many);
    assert_eq!(store.run_again(&id)["outcome"], "updated");
    store.wait_for_titles(&["a"]);
    assert_eq!(store.read(&id)["sync"]["held"], false);
}

#[test]
fn source_is_filtered_refreshed_and_limited() {
    let store = Store::shared();
    store.shop.set("/feed", rss(&["c", "a", "b"]));
    let id = store.create_for("/feed", json!({"sort": "title", "max_items": 2}));
    store.wait_for_titles(&["a", "b"]);
    let refreshed = store.call("POST", &format!("/{id}/refresh"), &json!({}));
    assert_eq!((refreshed.status, &refreshed.json()["id"]), (202, &json!(id)), "{}", refreshed.text());
    assert_eq!(store.wait_for_runs(&id, 2)["trigger"], "refresh");
    let listed = store.call("GET", &format!("/{id}/runs"), &json!(null));
    assert_eq!((listed.status, &listed.json()["data"][0]["trigger"]), (200, &json!("refresh")));
    let early = store.call("POST", &format!("/{id}/refresh"), &json!({}));
    assert_eq!((early.status, early.code().as_str()), (429, "refresh-too-early"));
    assert!(early.header("retry-after").is_some());
    let patched = store.call("PATCH", &format!("/{id}"), &json!({"max_items": 1}));
    assert_eq!(patched.status, 200, "{}", patched.text());
    store.wait_for_titles(&["a"]);
}

#[test]
fn source_that_leads_inside_is_refused() {
    let edge = Edge::shared();
    let (key, _) = issue(&edge, None);
    let page = super::pages::created(&edge, &key, &json!({"title": "Ada"})).0;
    let create = |url: &str| {
        let path = format!("/pages/{page}/product-sources");
        Request::post(&path, &json!({"url": url})).key(&key).send(edge.addr)
    };
    for url in [
        "https://10.0.0.1/feed".to_owned(),
        "https://metadata.google.internal/".to_owned(),
        "https://169.254.169.254/".to_owned(),
        format!("http://{}/pages", edge.addr),
        "ftp://shop.example/".to_owned(),
        "https://shop.example/feed\r\nhost: 127.0.0.1".to_owned(),
        // A host of ORIGIN_URLS.
        format!("{NOWHERE}/feed"),
    ] {
        let response = create(&url);
        assert_eq!((response.status, response.code().as_str()), (422, "fields-invalid"), "{url}");
        assert_eq!(response.json()["errors"][0]["pointer"], "#/url");
    }
}

#[test]
fn sources_end_with_their_page_and_are_in_the_export() {
    let store = Store::shared();
    store.shop.set("/feed", rss(&["Mug"]));
    let id = store.create_for("/feed", json!({"push": {"enabled": true}}));
    store.wait_for_titles(&["Mug"]);
    let export = Request::get("/account/export").key(&store.site.key).send(store.site.edge.addr).text();
    let lines: Vec<Value> = export.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let line = lines.iter().find(|line| line["object"] == "product_source").unwrap();
    assert_eq!((&line["id"], line["push"].get("sealed")), (&json!(id), None));
    let object = Object::product_source(&store.site.edge, &id);
    let rows = || object.sql("SELECT COUNT(*) FROM part")[0][0].as_u64().unwrap();
    assert_eq!(rows(), 2);
    let path = format!("/pages/{}", store.site.id());
    assert_eq!(Request::new("DELETE", &path).key(&store.site.key).send(store.site.edge.addr).status, 204);
    wait_for(Duration::from_secs(30), || (rows() == 0).then_some(()));
    assert_eq!(object.alarm(), None);
}

#[test]
fn products_are_kept_when_their_source_is_deleted_so() {
    let store = Store::shared();
    store.shop.set("/feed", rss(&["Mug"]));
    let id = store.create_for("/feed", json!({}));
    store.wait_for_titles(&["Mug"]);
    assert_eq!(store.page()["products"]["items"][1]["source"], json!(id));
    assert_eq!(store.call("DELETE", &format!("/{id}?keep_products=true"), &json!(null)).status, 204);
    store.wait_for_titles(&["Mug"]);
    assert_eq!(store.page()["products"]["items"][1]["source"], json!(null));
    assert_eq!(store.call("GET", &format!("/{id}"), &json!(null)).code(), "source-unknown");
}

#[test]
fn published_feed_is_read_back_and_conditional() {
    let store = Store::shared();
    store.shop.set("/feed", rss(&["Mug", "Pot"]));
    store.create_for("/feed", json!({}));
    store.wait_for_titles(&["Mug", "Pot"]);
    for (path, format) in [("/products.xml", FeedFormat::MerchantXml), ("/products.json", FeedFormat::Items)]
    {
        let path = store.site.at(path);
        let response = store.site.send(&Request::get(&path));
        let feed = Feed::parse(&response.body, FormatChoice::Auto, "https://p.example/", None).unwrap();
        assert_eq!((feed.format, feed.products.len(), feed.faulty), (format, 3, 0));
        assert_eq!(feed.products[1].price.as_ref().unwrap().amount, "15.00");
        for (validator, header) in [("etag", "If-None-Match"), ("last-modified", "If-Modified-Since")] {
            let value = response.header(validator).unwrap_or_else(|| panic!("{path} {validator}"));
            let again = store.site.send(&Request::get(&path).header(header, value));
            assert_eq!((again.status, again.body.len()), (304, 0), "{path} {header}");
        }
        let changed = Request::get(&path).header("If-Modified-Since", "Sat, 21 Nov 2020 08:00:00 GMT");
        assert_eq!(store.site.send(&changed).status, 200);
    }
    let xml = store.site.send(&Request::get(&store.site.at("/products.xml"))).body;
    let channel = rss::Channel::read_from(xml.as_slice()).unwrap();
    let items = channel.items();
    let google = |item: &rss::Item, name: &str| item.extensions()["g"][name][0].value().unwrap().to_owned();
    assert_eq!((channel.title(), items.len()), ("Ada Example", 3));
    assert_eq!(
        (google(&items[1], "title"), google(&items[1], "price")),
        ("Mug".to_owned(), "15.00 EUR".to_owned())
    );
}
