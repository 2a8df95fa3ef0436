use serde_json::{Value, json};
use shared::request_id::RequestId;

use super::*;
use crate::page::document::*;

fn reader() -> Reader<'static> {
    Reader::new(None, IdSource::new([7; 16]))
}

fn read(body: Value) -> Result<PageInput, Problem> {
    reader().page(body.as_object().cloned().unwrap())
}

/// Returns the pointers and details of a body's faults.
fn faults(body: Value) -> Vec<(String, String)> {
    let problem = read(body).unwrap_err().render(&RequestId([0; 16]));
    let problem: Value = serde_json::from_str(&problem.body).unwrap();
    let errors = problem["errors"].as_array().unwrap().iter();
    errors
        .map(|e| (e["pointer"].as_str().unwrap().to_owned(), e["detail"].as_str().unwrap().to_owned()))
        .collect()
}

fn pointers(body: Value) -> Vec<String> {
    faults(body).into_iter().map(|(pointer, _)| pointer).collect()
}

fn full() -> Value {
    json!({
        "slug": "Ada.Example", "external_id": "crm-42", "status": "published",
        "title": " Ada Example ", "bio": "Mathematician\r\nand writer",
        "avatar": {"url": "https://img.example.com/ada.jpg", "alt": "Portrait of Ada"},
        "locale": "ar-EG", "dir": "auto",
        "theme": {"preset": "ocean", "mode": "dark", "light": {"bg": "#fff"}, "dark": {"accent": "#93C5FD"},
                  "shape": "pill", "density": "compact"},
        "socials": [{"platform": "github", "url": "https://github.com/ada"}],
        "links": [
            {"title": "News", "url": "HTTPS://Example.com/a b".replace(' ', "%20"), "highlight": true,
             "visible_from": "2027-01-01T00:00:00+01:00", "visible_until": "2027-02-01T00:00:00Z",
             "gate": {"kind": "age", "min": 18}, "rel": ["sponsored"]},
            {"type": "heading", "title": "Contact"},
            {"type": "divider"},
            {"type": "text", "title": "two\nlines"},
            {"type": "email", "title": "Mail", "url": "ada@example.com"},
            {"type": "phone", "title": "Call", "url": "+49 (30) 123-4567"},
            {"type": "whatsapp", "title": "Chat", "url": "+49 30 1234567"},
            {"type": "vcard", "title": "Save contact"},
        ],
        "products": {"title": "Shop", "layout": "list", "items": [
            {"title": "Mug", "url": "https://shop.example.com/mug", "price": {"amount": "15.00", "currency": "EUR"},
             "sale_price": {"amount": "9", "currency": "EUR"}, "availability": "preorder",
             "image": {"url": "https://img.example.com/mug.jpg"}}]},
        "seo": {"title": "Ada", "noindex": true, "type": "organization"},
        "gate": {"kind": "sensitive"},
        "tags": ["client:acme"], "metadata": {"k": "v"},
    })
}

/// A text with one meaning is read as an amount. Any other is refused with an example of a right one.
#[test]
fn amount_is_read_as_people_type_it() {
    let page = |amount: &str| {
        let price = json!({"amount": amount, "currency": "EUR"});
        json!({"title": "Ada", "products": {"items": [
            {"title": "Mug", "url": "https://shop.example.com/mug", "price": price}]}})
    };
    for (typed, amount) in [
        ("9.90", "9.90"),
        ("9,90", "9.90"),
        (" 9,9 ", "9.9"),
        ("0,5", "0.5"),
        ("1500", "1500"),
        ("1.299", "1.299"),
        ("123456789.123", "123456789.123"),
    ] {
        let read = read(page(typed)).unwrap();
        let price = read.document.products.items[0].price.as_ref().unwrap();
        assert_eq!(price.amount, amount, "{typed}");
    }
    for typed in [
        "1,299",
        "1.299,00",
        "1,299.00",
        "9,",
        "9.",
        ",90",
        ".9",
        "-1",
        "09",
        "9 90",
        "\u{663}",
        "9\u{20ac}",
        "",
    ] {
        let faults = faults(page(typed));
        let expected = "must be a string such as \"1500.00\": digits, with a point before the decimals";
        let pointer = "#/products/items/0/price/amount";
        assert_eq!(faults, [(pointer.to_owned(), expected.to_owned())], "{typed}");
    }
}

#[test]
fn typed_name_and_handle_are_answered_with_what_would_be_right() {
    let code = json!({"title": "Ada", "codes": [{"via": "Flyer Mai"}]});
    let found = faults(code);
    assert!(found[0].0 == "#/codes/0/via" && found[0].1.contains("`flyer-mai` would do"), "{found:?}");
    let links = |url: &str| json!({"title": "Ada", "links": [{"title": "N", "url": url}]});
    let read = read(links("site.de/x")).unwrap();
    assert_eq!(read.document.links[0].url.as_deref(), Some("https://site.de/x"));
    let found = faults(links("@ada"));
    assert_eq!(
        (found[0].0.as_str(), found[0].1.contains("instagram.com/ada")),
        ("#/links/0/url", true),
        "{found:?}"
    );
}

#[test]
fn full_page_is_read_and_normalized() {
    let page = read(full()).unwrap();
    assert_eq!(page.slug.unwrap().as_str(), "ada.example");
    assert_eq!(page.status, Some(StatusChange::Publish));
    let document = page.document;
    assert_eq!(
        (document.title.as_str(), document.bio.as_str()),
        ("Ada Example", "Mathematician\nand writer")
    );
    assert_eq!(document.direction(), Direction::Rtl);
    let urls: Vec<_> = document.links.iter().map(|link| link.url.as_deref().unwrap_or("-")).collect();
    assert_eq!(
        urls,
        [
            "https://example.com/a%20b",
            "-",
            "-",
            "-",
            "mailto:ada@example.com",
            "tel:+49301234567",
            "https://wa.me/49301234567",
            "-"
        ]
    );
    assert_eq!(document.theme.light.bg, Color::parse("#ffffff"));
    assert_eq!(document.products.items[0].availability, Availability::Preorder);
    assert!(
        document.links.iter().filter(|link| link.kind.has_url()).all(|link| link.destination().is_some())
    );
}

#[test]
fn document_reads_back_from_its_stored_form() {
    let document = read(full()).unwrap().document;
    let stored = serde_json::to_string(&document).unwrap();
    assert_eq!(serde_json::from_str::<PageDocument>(&stored).unwrap(), document);
    assert_eq!(serde_json::from_str::<PageDocument>("{}").unwrap(), PageDocument::default());
}

#[test]
fn title_alone_is_a_page() {
    let page = read(json!({"title": "Ada"})).unwrap();
    let expected = PageInput {
        document: PageDocument { title: "Ada".to_owned(), ..Default::default() },
        ..Default::default()
    };
    assert_eq!(page, expected);
}

#[test]
fn every_fault_is_named_with_its_place() {
    let body = json!({
        "slug": "a", "status": "live", "locale": "english please",
        "links": [
            {"title": "ok", "url": "https://example.com"},
            {"title": "", "url": "javascript:alert(1)", "visible_from": "soon", "rel": ["me"]},
            {"type": "heading", "title": "x", "url": "https://example.com"},
            {"type": "button", "title": "x"},
            7,
        ],
        "products": {"items": [{"title": "Mug", "url": "ftp://x", "price": {"amount": 15, "currency": "eur"}}]},
        "theme": {"light": {"bg": "red"}, "preset": "neon"},
        "metadata": {"k": 1},
    });
    assert_eq!(
        pointers(body),
        [
            "#/slug",
            "#/status",
            "#/title",
            "#/locale",
            "#/theme/preset",
            "#/theme/light/bg",
            "#/links/1/title",
            "#/links/1/url",
            "#/links/1/visible_from",
            "#/links/1/rel",
            "#/links/2/url",
            "#/links/3/type",
            "#/links/3/url",
            "#/links/4",
            "#/products/items/0/url",
            "#/products/items/0/price/amount",
            "#/products/items/0/price/currency",
            "#/metadata",
        ]
    );
}

#[test]
fn names_of_other_products_lead_to_ours() {
    let body = json!({
        "title": "Ada", "username": "ada", "blocks": [], "avatar_url": "x", "published": true, "socialLinks": [],
        "metadata_": {}, "links": [
            {"title": "x", "url": "https://example.com", "is_enabled": true, "position": 1, "start_date": "x",
             "visibleFrm": null}
        ],
    });
    let faults = faults(body);
    for (pointer, hint) in [
        ("#/username", "`slug`"),
        ("#/blocks", "`links`"),
        ("#/avatar_url", "`avatar`"),
        ("#/published", "`status`"),
        ("#/socialLinks", "`socials`"),
        ("#/metadata_", "did you mean `metadata`?"),
        ("#/links/0/is_enabled", "`enabled`"),
        ("#/links/0/position", "PUT /pages/{id}/links/order"),
        ("#/links/0/start_date", "`visible_from`"),
        ("#/links/0/visibleFrm", "did you mean `visible_from`?"),
    ] {
        let found = faults.iter().find(|(place, _)| place == pointer);
        assert!(found.is_some_and(|(_, detail)| detail.contains(hint)), "{pointer}: {found:?}");
    }
    assert_eq!(faults.len(), 10, "{faults:?}");
}

#[test]
fn response_may_be_sent_back_as_a_request() {
    let mut body = full();
    for name in READ_ONLY {
        body[*name] = json!("anything");
    }
    assert_eq!(read(body).unwrap(), read(full()).unwrap());
}

#[test]
fn ids_are_kept_if_the_page_has_them_and_refused_otherwise() {
    let known = read(full()).unwrap().document;
    let [first, second, ..] = &known.links[..] else { panic!() };
    let link = |id: &str| json!({"id": id, "title": "x", "url": "https://example.com"});
    let again = |links: Vec<Value>| {
        let body = json!({"title": "Ada", "links": links});
        Reader::new(Some(&known), IdSource::new([8; 16])).page(body.as_object().cloned().unwrap())
    };
    let (a, b) = (first.id.to_string(), second.id.to_string());
    let page = again(vec![link(&b), link(&a)]).unwrap();
    assert_eq!(page.document.links.iter().map(|link| link.id).collect::<Vec<_>>(), [second.id, first.id]);
    assert!(again(vec![link(&a), link(&a)]).is_err(), "the same link twice");
    for id in ["lnk_00000000000000001", "x"] {
        assert!(again(vec![link(id)]).unwrap_err().detail().contains("leave `id` out"), "{id}");
    }
}

#[test]
fn bounds_hold() {
    let link = json!({"title": "x", "url": "https://example.com"});
    assert!(read(json!({"title": "x", "links": vec![link.clone(); 100]})).is_ok());
    assert_eq!(pointers(json!({"title": "x", "links": vec![link; 101]})), ["#/links"]);
    let long = json!({"title": "x", "url": format!("https://example.com/{}", "a".repeat(2_000))});
    let problem = read(json!({"title": "x", "links": vec![long; 40]})).unwrap_err();
    assert_eq!(problem.code(), codes::BODY_TOO_LARGE);
    for (field, value) in [
        ("title", json!("x".repeat(81))),
        ("title", json!("a\nb")),
        ("title", json!("\u{202e}evil")),
        ("bio", json!("1\n2\n3\n4\n5\n6")),
        ("bio", json!("x".repeat(301))),
        ("tags", json!(["", "x"])),
        ("gate", json!({"kind": "age", "min": 3})),
        ("avatar", json!({"url": "http://img.example.com/x.png", "alt": "x"})),
        ("avatar", json!({"url": "https://img.example.com/x.png"})),
    ] {
        let mut body = json!({"title": "x"});
        body[field] = value.clone();
        assert!(read(body).is_err(), "{field}: {value}");
    }
}

#[test]
fn schedule_must_end_after_it_begins() {
    let link = |from: &str, until: &str| json!({"title": "x", "links": [{"title": "x", "url": "https://example.com", "visible_from": from, "visible_until": until}]});
    assert!(read(link("2027-01-01T00:00:00Z", "2027-01-01T00:00:00Z")).is_err());
    let page = read(link("2027-01-01T00:00:00Z", "2027-01-01T00:00:01Z")).unwrap();
    let link = &page.document.links[0];
    let from = link.visible_from.unwrap();
    let seen = [from.minus(1), from, from.plus(999), from.plus(1_000)].map(|now| link.is_visible(now));
    assert_eq!(seen, [false, true, true, false]);
}

#[test]
fn title_without_a_visible_character_is_refused() {
    for title in ["\u{200b}", "\u{2800}\u{2800}", "\u{3164}", "\u{ad}\u{fe0f}", "\u{e0041}"] {
        let body = json!({"title": title, "links": [{"title": title, "url": "https://example.com"}]});
        let problem = Reader::new(None, IdSource::new([1; 16])).page(body.as_object().cloned().unwrap());
        let body = problem.unwrap_err().render(&RequestId([0; 16])).body;
        assert_eq!(body.matches("has no visible character").count(), 2, "{title:?}: {body}");
    }
    for title in ["\u{1f44d}\u{fe0f}", ".", "\u{645}\u{200c}"] {
        let body = json!({"title": title});
        assert!(Reader::new(None, IdSource::new([1; 16])).page(body.as_object().cloned().unwrap()).is_ok());
    }
}

#[test]
fn slugs_of_well_known_files_are_reserved() {
    for slug in [
        "ads.txt",
        "app-ads.txt",
        "apple-app-site-association",
        "sw.js",
        "cdn-cgi",
        "postmaster",
        "hostmaster",
    ] {
        assert_eq!(Slug::parse(slug), Err(crate::page::SlugError::Reserved), "{slug}");
    }
}

/// Members that need another one, or contradict it.
#[test]
fn members_that_do_not_go_together_are_named() {
    let link = |members: Value| {
        let mut link = json!({"title": "x", "url": "https://a.example"});
        link.as_object_mut().unwrap().extend(members.as_object().cloned().unwrap());
        json!({"title": "Ada", "links": [link]})
    };
    let target = |target: Value| link(json!({"targets": [target]}));
    let to = "https://b.example";
    let product = |members: Value| {
        let mut product = json!({"title": "Mug", "url": to, "price": {"amount": "2", "currency": "EUR"}});
        product.as_object_mut().unwrap().extend(members.as_object().cloned().unwrap());
        json!({"title": "Ada", "products": {"items": [product]}})
    };
    let later = json!({"sale_from": "2027-02-01T00:00:00Z", "sale_until": "2027-01-01T00:00:00Z"});
    for (body, pointer, expected) in [
        (link(json!({"direct": true, "gate": {"kind": "age", "min": 18}})), "/links/0/direct", "`gate`"),
        (
            link(json!({"direct": true, "targets": [{"countries": ["de"], "url": to}]})),
            "/links/0/targets",
            "redirect",
        ),
        (link(json!({"fallback": {"url": to}})), "/links/0/fallback", "visible_until"),
        (link(json!({"gate": {"kind": "scary"}})), "/links/0/gate/kind", "age, sensitive"),
        (target(json!({"url": to})), "/links/0/targets/0", "countries"),
        (target(json!({"url": to, "countries": ["DEU"]})), "/links/0/targets/0/countries", "ISO 3166-1"),
        (target(json!({"url": to, "languages": ["de-AT"]})), "/links/0/targets/0/languages", "RFC 5646"),
        (
            target(json!({"url": to, "languages": ["de"], "name": "default"})),
            "/links/0/targets/0/name",
            "default",
        ),
        (
            product(json!({"sale_price": {"amount": "1", "currency": "USD"}})),
            "/products/items/0/sale_price",
            "currency",
        ),
        (product(later), "/products/items/0/sale_until", "sale_from"),
        (json!({"title": "Ada", "theme": {"background": "image"}}), "/theme/background", "`image`"),
        (
            json!({"title": "Ada", "codes": [{"via": "a1", "link": "x"}]}),
            "/codes/0/link",
            "link of this page",
        ),
        (json!({"title": "Ada", "codes": [{"via": "a1"}, {"via": "a1"}]}), "/codes/1/via", "another code"),
        (json!({"title": "Ada", "metadata": {"": "x"}}), "/metadata", "1 to 40"),
    ] {
        let found = faults(body);
        let is_named =
            |(at, detail): &(String, String)| *at == format!("#{pointer}") && detail.contains(expected);
        assert!(found.iter().any(is_named), "{pointer}: {found:?}");
    }
}
