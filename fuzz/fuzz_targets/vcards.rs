#![no_main]

use biolink::page::{PageDocument, card};
use calcard::{Entry, Parser, vcard::VCardProperty};
use fuzz::{document, with_view};
use libfuzzer_sys::fuzz_target;

const PROPERTIES: [&str; 16] = [
    "BEGIN",
    "VERSION",
    "KIND",
    "N",
    "ORG",
    "FN",
    "NOTE",
    "PHOTO",
    "URL",
    "EMAIL",
    "TEL",
    "SOCIALPROFILE",
    "LANG",
    "REV",
    "END",
    "",
];

fuzz_target!(|data: &[u8]| {
    if let Some(document) = document(data) {
        check(&document);
    }
});

/// Oracle: calcard, and the lines of RFC 6350 unfolded. A card is one card of our properties in lines of
/// at most 75 bytes, and its name and note are the page's.
fn check(document: &PageDocument) {
    let text = with_view(document, card).body.to_string();
    assert!(text.split_terminator("\r\n").all(|line| line.len() <= 75), "{text:?}");
    let unfolded = text.replace("\r\n ", "");
    let names: Vec<_> =
        unfolded.split("\r\n").map(|line| line.split([':', ';']).next().unwrap_or_default()).collect();
    assert!(names.iter().all(|name| PROPERTIES.contains(name)), "{text:?}");
    for once in ["BEGIN", "VERSION", "FN", "URL", "END", ""] {
        assert_eq!(names.iter().filter(|name| **name == once).count(), 1, "{once}: {text:?}");
    }
    assert_eq!(unfolded.matches(['\r', '\n']).count(), 2 * (names.len() - 1), "{text:?}");
    let Entry::VCard(read) = Parser::new(&text).strict().entry() else { panic!("no card: {text:?}") };
    assert_eq!(read.entries.len(), names.len() - 3, "{text:?}");
    let value = |name: &VCardProperty| {
        let entry = read.entries.iter().find(|entry| entry.name == *name)?;
        Some(entry.values.iter().filter_map(|value| value.as_text()).collect::<String>())
    };
    assert_eq!(value(&VCardProperty::Fn).as_ref(), Some(&document.title), "{text:?}");
    let bio = (!document.bio.is_empty()).then_some(&document.bio);
    assert_eq!(value(&VCardProperty::Note).as_ref(), bio, "{text:?}");
}
