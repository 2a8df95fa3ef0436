#![no_main]

use std::sync::LazyLock;

use biolink::page::{PageDocument, confirm, document::Gate, render};
use fuzz::{document, with_view};
use html5gum::{DefaultEmitter, Token, Tokenizer};
use libfuzzer_sys::fuzz_target;
use url::Url;

const TAGS: [&str; 32] = [
    "a", "b", "bdi", "body", "button", "div", "footer", "form", "h1", "h2", "head", "header", "hr", "html",
    "i", "img", "input", "li", "link", "main", "meta", "nav", "p", "path", "s", "script", "section", "span",
    "style", "svg", "title", "ul",
];
const VOID: [&str; 5] = ["hr", "img", "input", "link", "meta"];
const ADDRESSES: [&str; 5] = ["href", "src", "action", "ping", "formaction"];
const SCHEMES: [&str; 5] = ["https", "http", "mailto", "tel", "sms"];

static BASE: LazyLock<Url> = LazyLock::new(|| Url::parse("https://p.example/ada").expect("a URL"));

fuzz_target!(|data: &[u8]| {
    if let Some(document) = document(data) {
        check(&document);
    }
});

/// Oracle: html5gum and the URL standard. A page is HTML without an error or a comment. Each tag is one
/// of ours and is closed in order, no attribute runs a script, each address has a scheme that may be
/// linked to, and the texts of the title are the page's.
fn check(document: &PageDocument) {
    let page = with_view(document, render).body;
    let title = document.seo.title.as_ref().unwrap_or(&document.title);
    check_html(&page, &[("h1", &document.title), ("title", title)]);
    check_html(&confirm(document, Gate::Age { min: 18 }, "/ada", Some("utm_source=\"><h1>&a=%00")).body, &[("h1", &document.title)]);
}

fn check_html(html: &str, texts: &[(&str, &str)]) {
    let mut emitter = DefaultEmitter::default();
    emitter.naively_switch_states(true);
    let (mut open, mut found) = (Vec::<String>::new(), Vec::<(String, String)>::new());
    for token in Tokenizer::new_with_emitter(html, emitter) {
        match token.unwrap_or_else(|error| match error {}) {
            Token::StartTag(tag) => {
                let name = string(&tag.name);
                assert!(TAGS.contains(&name.as_str()), "<{name}>: {html}");
                for (attribute, value) in &tag.attributes {
                    check_attribute(&name, &string(attribute), &string(value));
                }
                if !VOID.contains(&name.as_str()) {
                    open.push(name.clone());
                    found.push((name, String::new()));
                }
            }
            Token::EndTag(tag) => assert_eq!(open.pop(), Some(string(&tag.name)), "{html}"),
            Token::String(text) => {
                let at = open.last().and_then(|name| found.iter().rposition(|(found, _)| found == name));
                if let Some(at) = at {
                    found[at].1.push_str(&string(&text));
                }
            }
            Token::Doctype(doctype) => assert_eq!(**doctype.name, *b"html"),
            Token::Comment(_) => panic!("a comment: {html}"),
            Token::Error(error) => panic!("{}: {html}", error.value),
        }
    }
    assert!(open.is_empty(), "{open:?} stay open: {html}");
    for (name, text) in texts {
        let shown: Vec<_> = found.iter().filter(|(found, _)| found == name).map(|(_, text)| text).collect();
        assert_eq!(shown, [text], "{name}: {html}");
    }
    for (_, data) in found.iter().filter(|(name, _)| name == "script") {
        serde_json::from_str::<serde_json::Value>(data).unwrap_or_else(|error| panic!("{error}: {data}"));
    }
}

fn check_attribute(tag: &str, name: &str, value: &str) {
    assert!(!name.starts_with("on") && name != "style" && name != "srcdoc", "<{tag} {name}={value:?}>");
    assert!(name.bytes().all(|b| b.is_ascii_lowercase() || b == b'-'), "<{tag} {name}={value:?}>");
    assert!(tag != "script" || (name, value) == ("type", "application/ld+json"), "<{tag} {name}={value:?}>");
    if !ADDRESSES.contains(&name) || tag == "link" && value.starts_with("data:image/svg+xml,") {
        return;
    }
    let url = BASE.join(value).unwrap_or_else(|error| panic!("<{tag} {name}={value:?}>: {error}"));
    assert!(SCHEMES.contains(&url.scheme()), "<{tag} {name}={value:?}>");
    let stays = !value.starts_with('/') || url.host_str() == Some("p.example");
    assert!(stays, "<{tag} {name}={value:?}> leads to {url}");
}

fn string(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).expect("a document that was a string")
}
