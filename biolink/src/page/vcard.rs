//! The contact card of a page (vCard 4.0, RFC 6350).

use std::fmt::Write as _;

use shared::response::Response;

use super::{
    PageView,
    document::{LinkType, Subject},
};

/// The longest line, in bytes without its end (RFC 6350, section 3.2).
const MAX_LINE: usize = 75;

/// Returns the card: the page's name, text, image and address, its profiles, and the e-mail
/// addresses and phone numbers that it shows now without asking.
pub fn card(view: &PageView<'_>) -> Response {
    let disposition = format!("attachment; filename=\"{}.vcf\"", view.slug);
    Response::page("text/vcard; charset=utf-8", text(view))
        .with_headers([("content-disposition", disposition), ("x-robots-tag", "noindex".to_owned())])
}

fn text(view: &PageView<'_>) -> String {
    let document = view.document;
    let name = escape(&document.title);
    let mut card = Card(String::with_capacity(512));
    card.line("BEGIN", "VCARD");
    card.line("VERSION", "4.0");
    match document.seo.kind {
        // Address books want a structured name. Ours is not, so all of it is the given name.
        Subject::Person => {
            card.line("KIND", "individual");
            card.line("N", &format!(";{name};;;"));
        }
        Subject::Organization => {
            card.line("KIND", "org");
            card.line("ORG", &name);
        }
    }
    card.line("FN", &name);
    if !document.bio.is_empty() {
        card.line("NOTE", &escape(&document.bio));
    }
    if let Some(avatar) = document.avatar.as_ref().filter(|avatar| avatar.url.is_allowed()) {
        card.line("PHOTO", &avatar.url.absolute(view.base));
    }
    card.line("URL", &view.address());
    // What the page shows behind a question must not be had by a download.
    for link in document.links.iter().filter(|link| link.is_visible(view.now) && link.gate.is_none()) {
        let Some((_, value)) = link.bare_destination().and_then(|url| url.split_once(':')) else { continue };
        match link.kind {
            LinkType::Email => card.line("EMAIL", &escape(&value.replace("%23", "#"))),
            LinkType::Phone => card.line("TEL;TYPE=voice", value),
            LinkType::Sms => card.line("TEL;TYPE=text", value),
            _ => {}
        }
    }
    for social in document.socials.iter().filter(|social| social.url.is_allowed()) {
        // RFC 9554, section 3.5.
        card.line(&format!("SOCIALPROFILE;SERVICE-TYPE={}", social.platform.label()), social.url.as_str());
    }
    card.line("LANG", document.locale.as_str());
    card.line("REV", &revision(&view.published_at.to_rfc3339()));
    card.line("END", "VCARD");
    card.0
}

struct Card(String);

impl Card {
    /// Adds a line, folded so that no part of it is longer than [`MAX_LINE`].
    fn line(&mut self, name: &str, value: &str) {
        let mut line = String::with_capacity(name.len() + value.len() + 1);
        // Writing to a `String` cannot fail.
        let _written = write!(line, "{name}:{value}");
        let mut width = 0;
        // A line break in a title would begin another property.
        for c in line.chars().filter(|c| !c.is_control()) {
            // Between characters: a fold within one would break its bytes apart.
            if width + c.len_utf8() > MAX_LINE {
                self.0.push_str("\r\n ");
                width = 1;
            }
            self.0.push(c);
            width += c.len_utf8();
        }
        self.0.push_str("\r\n");
    }
}

/// Escapes a text value (RFC 6350, section 3.4).
fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\n' => escaped.push_str("\\n"),
            '\\' | ',' | ';' => escaped.extend(['\\', c]),
            c => escaped.push(c),
        }
    }
    escaped
}

/// Returns a moment in the basic format of ISO 8601, in seconds.
fn revision(rfc3339: &str) -> String {
    let seconds = rfc3339.split(['.', 'Z']).next().unwrap_or_default();
    let digits: String = seconds.chars().filter(|c| !matches!(c, '-' | ':')).collect();
    digits + "Z"
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};
    use shared::time::UnixMillis;

    use super::*;
    use crate::page::{IdSource, PageDocument, Reader, Slug};

    const NOW: UnixMillis = UnixMillis(1_763_712_000_123);

    fn document(body: Value) -> PageDocument {
        Reader::new(None, IdSource::new([7; 16])).page(body.as_object().cloned().unwrap()).unwrap().document
    }

    fn shown(document: &PageDocument) -> Response {
        let slug = Slug::parse("ada").unwrap();
        card(&PageView {
            document,
            slug: &slug,
            base: "https://p.example",
            path: "/ada",
            now: NOW,
            published_at: NOW,
            image: None,
        })
    }

    #[test]
    fn card_has_what_the_page_shows() {
        let response = shown(&document(json!({
            "title": "Ada, Countess; of \\ Lovelace", "bio": "Mathematician\nand writer", "locale": "en-GB",
            "avatar": {"url": "https://img.example.com/ada.jpg", "alt": "Ada"},
            "socials": [{"platform": "github", "url": "https://github.com/ada"}],
            "links": [
                {"type": "email", "title": "Mail", "url": "ada#1@example.com?subject=Hello"},
                {"type": "phone", "title": "Call", "url": "+49 30 1234567"},
                {"type": "sms", "title": "Text", "url": "+49 30 7654321?body=Hello"},
                {"type": "email", "title": "Off", "url": "off@example.com", "enabled": false},
                {"type": "email", "title": "Gated", "url": "gated@example.com", "gate": {"kind": "sensitive"}},
                {"type": "email", "title": "Later", "url": "later@example.com", "visible_from": "2099-01-01T00:00:00Z"},
                {"title": "Site", "url": "https://example.com"},
            ],
        })));
        assert_eq!(
            response.body,
            "BEGIN:VCARD\r\nVERSION:4.0\r\nKIND:individual\r\nN:;Ada\\, Countess\\; of \\\\ Lovelace;;;\r\n\
             FN:Ada\\, Countess\\; of \\\\ Lovelace\r\nNOTE:Mathematician\\nand writer\r\n\
             PHOTO:https://img.example.com/ada.jpg\r\nURL:https://p.example/ada\r\nEMAIL:ada#1@example.com\r\n\
             TEL;TYPE=voice:+49301234567\r\nTEL;TYPE=text:+49307654321\r\n\
             SOCIALPROFILE;SERVICE-TYPE=GitHub:https://github.com/ada\r\nLANG:en-GB\r\n\
             REV:20251121T080000Z\r\nEND:VCARD\r\n"
        );
        assert_eq!(response.header("content-disposition"), Some("attachment; filename=\"ada.vcf\""));
        assert_eq!(response.header("content-type"), Some("text/vcard; charset=utf-8"));
    }

    #[test]
    fn organization_has_its_own_kind() {
        let body = shown(&document(json!({"title": "Acme", "seo": {"type": "organization"}}))).body;
        assert!(body.contains("KIND:org\r\nORG:Acme\r\nFN:Acme\r\n"), "{body}");
    }

    #[test]
    fn long_lines_are_folded_between_characters_and_read_back() {
        let bio = "äöü€😀 ".repeat(49);
        let body = shown(&document(json!({"title": "Ada", "bio": bio}))).body;
        assert!(body.split("\r\n").all(|line| line.len() <= MAX_LINE), "{body}");
        let unfolded = body.replace("\r\n ", "");
        assert!(unfolded.contains(&format!("\r\nNOTE:{}\r\n", bio.trim())), "{unfolded}");
    }

    #[test]
    fn text_cannot_add_a_line() {
        let document = PageDocument { title: "Ada\r\nTEL:1\u{85}".to_owned(), ..Default::default() };
        let body = shown(&document).body;
        assert!(body.contains("\r\nFN:Ada\\nTEL:1\r\n"), "{body}");
    }
}
