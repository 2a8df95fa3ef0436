//! Campaign parameters that are added to the destinations of links.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde::{Deserialize, Serialize};

use crate::page::with_parameters;

/// Values of the `utm_` parameters, with placeholders. The destination keeps parameters that it has.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
#[allow(missing_docs, reason = "the names say what each one is")]
pub struct UtmTemplate {
    pub source: Option<String>,
    pub medium: Option<String>,
    pub campaign: Option<String>,
    pub term: Option<String>,
    pub content: Option<String>,
}

/// The values of placeholders.
#[derive(Clone, Copy, Debug)]
pub struct UtmValues<'a> {
    /// `{slug}`: the page's.
    pub slug: &'a str,
    /// `{link}`: the id of the link or product.
    pub link: &'a str,
    /// `{title}`: its title.
    pub title: &'a str,
    /// `{via}`: the short link or QR code by which the visitor came.
    pub via: &'a str,
}

/// Bytes that a value of a query has as they are (RFC 3986, unreserved).
const ESCAPED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

impl UtmTemplate {
    /// The placeholders.
    pub const PLACEHOLDERS: [&'static str; 4] = ["{slug}", "{link}", "{title}", "{via}"];

    /// Returns true if all braces of a value are those of placeholders.
    pub fn is_value(text: &str) -> bool {
        let rest = Self::PLACEHOLDERS.iter().fold(text.to_owned(), |text, name| text.replace(name, ""));
        !rest.contains(['{', '}'])
    }

    /// Returns this template, with the parameters of `usual` where it has none.
    #[must_use]
    pub fn or(&self, usual: &Self) -> Self {
        let first = |own: &Option<String>, usual: &Option<String>| own.as_ref().or(usual.as_ref()).cloned();
        Self {
            source: first(&self.source, &usual.source),
            medium: first(&self.medium, &usual.medium),
            campaign: first(&self.campaign, &usual.campaign),
            term: first(&self.term, &usual.term),
            content: first(&self.content, &usual.content),
        }
    }

    /// Returns an address of the web with the parameters that it does not have. An empty value adds none.
    pub fn add_to(&self, url: &str, values: &UtmValues<'_>) -> String {
        let parameters = [
            ("utm_source", &self.source),
            ("utm_medium", &self.medium),
            ("utm_campaign", &self.campaign),
            ("utm_term", &self.term),
            ("utm_content", &self.content),
        ];
        let pairs = parameters.into_iter().filter_map(|(name, template)| {
            let value = values.fill(template.as_deref()?);
            (!value.is_empty()).then(|| format!("{name}={}", utf8_percent_encode(&value, ESCAPED)))
        });
        let pairs: Vec<String> = pairs.collect();
        with_parameters(url, pairs.iter().map(String::as_str))
    }
}

impl UtmValues<'_> {
    fn fill(&self, template: &str) -> String {
        let values = [self.slug, self.link, self.title, self.via];
        let mut text = template.to_owned();
        for (name, value) in UtmTemplate::PLACEHOLDERS.into_iter().zip(values) {
            text = text.replace(name, value);
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::page::WebUrl;

    const VALUES: UtmValues<'static> =
        UtmValues { slug: "ada", link: "lnk_1", title: "Sale & more", via: "flyer" };

    fn template(source: &str, campaign: &str) -> UtmTemplate {
        let some = |text: &str| Some(text.to_owned());
        UtmTemplate { source: some(source), campaign: some(campaign), ..UtmTemplate::default() }
    }

    #[test]
    fn parameters_are_added_before_the_fragment_and_never_replaced() {
        let template = template("{slug}", "{title}-{via}");
        for (url, expected) in [
            ("https://a.example/", "https://a.example/?utm_source=ada&utm_campaign=Sale%20%26%20more-flyer"),
            (
                "https://a.example/x?a=b#top",
                "https://a.example/x?a=b&utm_source=ada&utm_campaign=Sale%20%26%20more-flyer#top",
            ),
            (
                "https://a.example/?utm_source=own&utm_campaign=x",
                "https://a.example/?utm_source=own&utm_campaign=x",
            ),
            ("https://a.example/?utm_source=&utm_campaign", "https://a.example/?utm_source=&utm_campaign"),
            (
                "https://a.example/?utm%5Fsource=own&utm_c%61mpaign=",
                "https://a.example/?utm%5Fsource=own&utm_c%61mpaign=",
            ),
            ("https://a.example/?", "https://a.example/?utm_source=ada&utm_campaign=Sale%20%26%20more-flyer"),
        ] {
            assert_eq!(template.add_to(url, &VALUES), expected);
            assert!(WebUrl::parse(expected).is_ok_and(|url| url.as_str() == expected), "its normal form");
        }
    }

    #[test]
    fn value_that_is_empty_adds_nothing() {
        let without_via = UtmValues { via: "", ..VALUES };
        assert_eq!(template("{via}", "").add_to("https://a.example/", &without_via), "https://a.example/");
    }

    #[test]
    fn link_has_its_own_parameters_before_those_of_the_page() {
        let (own, usual) = (template("own", "own"), template("usual", "usual"));
        let own = UtmTemplate { campaign: None, ..own };
        assert_eq!(own.or(&usual), template("own", "usual"));
    }

    #[test]
    fn unknown_placeholder_is_no_value() {
        assert!(UtmTemplate::is_value("{slug}-{via}") && UtmTemplate::is_value("plain"));
        assert!(!UtmTemplate::is_value("{campaign}") && !UtmTemplate::is_value("a}"));
    }
}
