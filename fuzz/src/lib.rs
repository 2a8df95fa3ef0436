//! The inputs that several targets share: one moment, one signing secret, and pages made of any bytes.

use std::sync::LazyLock;

use biolink::page::{IdSource, PageDocument, PageView, Reader, Slug};
use serde_json::{Value, json};
use shared::{secret::MacKeys, time::UnixMillis};

/// The moment at which everything happens.
pub const NOW: UnixMillis = UnixMillis(1_763_712_000_000);

/// The signing secret.
pub static KEYS: LazyLock<MacKeys> =
    LazyLock::new(|| MacKeys::parse("0123456789abcdef0123456789abcdef").expect("a secret"));

/// Returns a copy of a text in which pairs of bytes, place and replacement, have changed characters.
pub fn mutated(text: &str, changes: &[u8]) -> Vec<u8> {
    let mut bytes = text.as_bytes().to_vec();
    for change in changes.chunks_exact(2) {
        let place = usize::from(change[0]) % bytes.len();
        bytes[place] = change[1];
    }
    bytes
}

/// Returns the document of a page: of JSON as clients send it, or of texts between zero bytes, which
/// stand in every place that takes a text or an address.
pub fn document(data: &[u8]) -> Option<PageDocument> {
    let text = std::str::from_utf8(data).ok()?;
    let body = if text.starts_with('{') { serde_json::from_str(text).ok()? } else { body_of(text) };
    let Value::Object(members) = body else { return None };
    Some(Reader::new(None, IdSource::new([7; 16])).page(members).ok()?.document)
}

fn body_of(text: &str) -> Value {
    let mut texts = text.split('\0').filter(|text| !text.trim().is_empty()).cycle();
    let mut next = || texts.next().unwrap_or("Ada");
    let mut at = |host: &str| format!("https://{host}.example.com/{}", next());
    let (avatar, profile, first, second, shop) = (at("img"), at("github"), at("a"), at("b"), at("shop"));
    json!({
        "title": next(), "bio": next(), "avatar": {"url": avatar, "alt": next()},
        "socials": [{"platform": "github", "url": profile, "label": next()}],
        "links": [
            {"title": next(), "url": first, "description": next()},
            {"title": next(), "url": second, "direct": true},
            {"type": "heading", "title": next()}, {"type": "text", "title": next()},
        ],
        "products": {"title": next(), "items": [
            {"title": next(), "url": shop, "description": next(), "price": {"amount": "1.50", "currency": "EUR"}},
        ]},
        "seo": {"title": next(), "description": next()},
    })
}

/// Returns the result of `read` for the view of a page.
pub fn with_view<R>(document: &PageDocument, read: impl FnOnce(&PageView<'_>) -> R) -> R {
    let slug = Slug::parse("ada").expect("a slug");
    let base = "https://p.example";
    read(&PageView { document, slug: &slug, base, path: "/ada", now: NOW, published_at: NOW, image: None })
}
