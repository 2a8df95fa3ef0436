use std::io::Write as _;

use super::*;
use crate::page::{IdSource, Reader};

const NOW: UnixMillis = UnixMillis(1_763_712_000_000);

fn document(body: Value) -> PageDocument {
    Reader::new(None, IdSource::new([7; 16])).page(body.as_object().cloned().unwrap()).unwrap().document
}

fn shown(document: &PageDocument) -> Response {
    let slug = Slug::parse("ada").unwrap();
    render(&PageView { document, slug: &slug, base: "https://p.example", now: NOW, published_at: NOW })
}

fn many(links: usize, products: usize) -> PageDocument {
    let link = |n| json!({"title": format!("My link number {n}"), "url": format!("https://example.com/some/path/{n}")});
    let product = |n| {
        json!({"title": format!("Product {n}"), "url": format!("https://shop.example.com/p/{n}"),
        "price": {"amount": "15.00", "currency": "EUR"}, "image": {"url": format!("https://img.example.com/{n}.jpg")}})
    };
    document(json!({"title": "Ada Example", "bio": "Mathematician and writer",
        "avatar": {"url": "https://img.example.com/ada.jpg", "alt": "Portrait of Ada"},
        "socials": [{"platform": "github", "url": "https://github.com/ada"}],
        "links": (0..links).map(link).collect::<Vec<_>>(),
        "products": {"title": "Shop", "items": (0..products).map(product).collect::<Vec<_>>()}}))
}

#[test]
fn hostile_texts_stay_texts() {
    let evil = "</script><script>alert(1)</script>\"'><img src=x onerror=alert(1)>";
    let page = shown(&document(json!({
        "title": evil.chars().take(80).collect::<String>(), "bio": evil,
        "links": [{"title": evil, "url": "https://example.com/?q=%22%3E%3Cscript%3E", "description": evil, "direct": true}],
        "products": {"title": "x", "items": [{"title": evil, "url": "https://example.com/'\"><b>"}]},
    })));
    assert_eq!(page.body.matches("<script").count(), 1, "{}", page.body);
    assert_eq!(page.body.matches("</script>").count(), 1);
    assert!(!page.body.contains("<img") && !page.body.contains("\"><b>"), "{}", page.body);
}

#[test]
fn policy_allows_exactly_the_style_and_the_images_of_the_page() {
    let page = shown(&many(1, 1));
    let (_, rest) = page.body.split_once("<style>").unwrap();
    let (style, _) = rest.split_once("</style>").unwrap();
    let policy = page.header("content-security-policy").unwrap();
    let digest = STANDARD.encode(sha256(&[style.as_bytes()]));
    assert!(policy.contains(&format!("style-src 'sha256-{digest}'")), "{policy}");
    assert!(policy.contains("img-src 'self' https://img.example.com;"), "{policy}");
    assert!(!page.body.contains("style=\""));
}

#[test]
fn links_lead_through_the_page_and_follow_their_schedule() {
    let page = document(json!({"title": "Ada", "links": [
        {"title": "Now", "url": "https://example.com/now"},
        {"title": "Later", "url": "https://example.com/later", "visible_from": "2099-01-01T00:00:00Z"},
        {"title": "Off", "url": "https://example.com/off", "enabled": false},
        {"title": "Mail", "type": "email", "url": "ada@example.com"},
        {"title": "Direct", "url": "https://example.com/direct", "direct": true, "rel": ["sponsored"]},
    ]}));
    let html = shown(&page).body;
    assert!(html.contains(&format!("/ada/l/{}", page.links[0].id)) && !html.contains("example.com/now"));
    assert!(!html.contains("Later") && !html.contains("Off"));
    assert!(html.contains("href=\"mailto:ada@example.com\""));
    assert!(html.contains("rel=\"noopener sponsored\" href=\"https://example.com/direct\""), "{html}");
}

#[test]
fn page_is_laid_out_in_its_own_direction_and_mode() {
    let html = shown(&document(json!({"title": "عادة", "locale": "ar"}))).body;
    assert!(html.contains("<html lang=\"ar\" dir=\"rtl\">"), "{html}");
    assert!(html.contains("prefers-color-scheme:dark"));
    let dark = shown(&document(json!({"title": "x", "theme": {"mode": "dark"}}))).body;
    assert!(!dark.contains("prefers-color-scheme") && dark.contains("content=\"dark\""));
}

#[test]
fn page_is_small() {
    let gzipped = |page: &Response| {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
        encoder.write_all(page.body.as_bytes()).unwrap();
        encoder.finish().unwrap().len()
    };
    let (typical, full) = (gzipped(&shown(&many(12, 6))), gzipped(&shown(&many(100, 50))));
    assert!(typical <= 4_096, "12 links and 6 products: {typical} bytes");
    assert!(full <= 10_240, "100 links and 50 products: {full} bytes");
}

#[test]
fn gate_is_a_form_without_script() {
    let page = confirm(&document(json!({"title": "Ada"})), Gate::Age { min: 18 }, "/ada");
    assert!(page.body.contains("I am 18 or older") && page.body.contains("method=\"get\""));
    assert!(!page.body.contains("<script"));
    assert!(page.header("content-security-policy").unwrap().contains("form-action 'self'"));
}
