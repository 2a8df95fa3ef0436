//! The language of a page.

use serde::{Deserialize, Serialize};

use crate::visitor::preferred;

/// A language tag (BCP 47): a language of two or three letters, then subtags of two to eight
/// letters and digits.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Locale(String);

impl Default for Locale {
    fn default() -> Self {
        Self("en".to_owned())
    }
}

impl Locale {
    /// Languages that are written from right to left.
    const RIGHT_TO_LEFT: [&str; 12] =
        ["ar", "arc", "ckb", "dv", "fa", "he", "ks", "ps", "sd", "ug", "ur", "yi"];

    /// Reads a language tag; `None` if it is not one.
    pub fn parse(text: &str) -> Option<Self> {
        let mut parts = text.split('-');
        let language = parts.next().filter(|part| (2..=3).contains(&part.len()))?;
        let is_subtag = |part: &str| {
            (1..=8).contains(&part.len()) && part.bytes().all(|byte| byte.is_ascii_alphanumeric())
        };
        let valid = language.bytes().all(|byte| byte.is_ascii_alphabetic()) && parts.all(is_subtag);
        (valid && text.len() <= 35).then(|| Self(text.to_owned()))
    }

    /// Returns the language that a person likes best, by the `Accept-Language` of a browser; `None` if it says nothing.
    ///
    /// Why: docs/decisions/pages.md, "A new page's language is guessed, and an old one's never".
    pub fn preferred(accept_language: Option<&str>) -> Option<Self> {
        Self::parse(&preferred(accept_language)?.replace('_', "-"))
    }

    /// Returns the tag as it was written.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the language without script and region, in lower case.
    pub fn language(&self) -> String {
        self.0.split('-').next().unwrap_or_default().to_ascii_lowercase()
    }

    pub(super) fn is_right_to_left(&self) -> bool {
        Self::RIGHT_TO_LEFT.contains(&self.language().as_str())
    }

    /// Returns true if the page's region or script has the traditional characters of Chinese.
    pub(crate) fn is_traditional_chinese(&self) -> bool {
        let subtag = |names: &[&str]| {
            self.0.split('-').skip(1).any(|part| names.iter().any(|name| part.eq_ignore_ascii_case(name)))
        };
        self.language() == "zh" && (subtag(&["Hant"]) || subtag(&["TW", "HK", "MO"]) && !subtag(&["Hans"]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn preferred_language_is_that_of_the_browser() {
        for (header, expected) in [
            (Some("pl-PL,pl;q=0.9,en;q=0.8"), Some("pl-PL")),
            (Some("en;q=0.5, zh_TW"), Some("zh-TW")),
            (Some("de;q=0.2, ja;q=0.9, *"), Some("ja")),
            // What scripts send.
            (Some("*"), None),
            (Some(""), None),
            (Some("en;q=0"), None),
            (Some("de-\u{e4}"), None),
            (None, None),
        ] {
            let found = Locale::preferred(header);
            assert_eq!(found.as_ref().map(Locale::as_str), expected, "{header:?}");
        }
    }
}
