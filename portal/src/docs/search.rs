//! The index of the search: every place of the reference, with the words that are found there.

use std::collections::HashSet;

use maud::Markup;
use serde::Serialize;

use super::text::plain;

/// A place of the reference, as a list of four texts.
#[derive(Serialize)]
pub(super) struct Entry(String, String, String, String);

impl Entry {
    /// Returns the entry of a section. `place` is what the results show below its title.
    pub(super) fn new(title: &str, place: &str, address: String, section: &Markup) -> Self {
        Self(title.to_owned(), place.to_owned(), address, words(&plain(&section.0)))
    }
}

/// Returns the words of a text, each once and in small letters: a search asks for words and not for phrases.
fn words(text: &str) -> String {
    let text = text.to_lowercase();
    let mut seen = HashSet::new();
    let words = text.split_whitespace().map(|word| word.trim_matches(['.', ',', ':', '(', ')']));
    words.filter(|word| !word.is_empty() && seen.insert(*word)).collect::<Vec<_>>().join(" ")
}
