//! The campaign of a visit.

use percent_encoding::percent_decode_str;

/// The greatest length of a value in characters. The rest is cut off.
const MAX_CHARS: usize = 100;

/// The campaign parameters of an address. Values are as written, save that control characters and
/// white space around them are removed and that they are cut to 100 characters. Empty ones are
/// `None`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Utm {
    /// `utm_source`: the site or app that led here.
    pub source: Option<String>,
    /// `utm_medium`: the kind of link, for example `email` or `cpc`.
    pub medium: Option<String>,
    /// `utm_campaign`.
    pub campaign: Option<String>,
    /// `utm_term`.
    pub term: Option<String>,
    /// `utm_content`.
    pub content: Option<String>,
}

impl Utm {
    /// Reads the query of an address, with or without its `?`. If a parameter is repeated, its
    /// first value that is not empty counts.
    ///
    /// ```
    /// use biolink::visitor::Utm;
    ///
    /// let utm = Utm::read(Some("utm_source=News+letter&utm_medium=%20email"));
    /// assert_eq!(utm.source.as_deref(), Some("News letter"));
    /// assert_eq!(utm.medium.as_deref(), Some("email"));
    /// ```
    pub fn read(query: Option<&str>) -> Self {
        let mut utm = Self::default();
        let query = query.unwrap_or_default();
        for pair in query.strip_prefix('?').unwrap_or(query).split('&') {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            let field = match name {
                "utm_source" => &mut utm.source,
                "utm_medium" => &mut utm.medium,
                "utm_campaign" => &mut utm.campaign,
                "utm_term" => &mut utm.term,
                "utm_content" => &mut utm.content,
                _ => continue,
            };
            if field.is_none() {
                *field = clean(value);
            }
        }
        utm
    }
}

fn clean(value: &str) -> Option<String> {
    let value = value.replace('+', " ");
    let value = percent_decode_str(&value).decode_utf8_lossy();
    let value: String = value.chars().filter(|c| !c.is_control()).collect();
    let value: String = value.trim().chars().take(MAX_CHARS).collect();
    (!value.is_empty()).then_some(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_decoded_trimmed_and_cut() {
        let long = format!("utm_term={}", "%C3%A4".repeat(200));
        assert_eq!(Utm::read(Some(&long)).term.map(|term| term.chars().count()), Some(100));
        let utm = Utm::read(Some(
            "?a=1&utm_source=&utm_source=In%00st%0Aagram&utm_source=b&utm_medium=%20%09&utm_campaign=Sp%C3%A4t&utm_content=%FF",
        ));
        assert_eq!(utm.source.as_deref(), Some("Instagram"));
        assert_eq!(utm.medium, None);
        assert_eq!(utm.campaign.as_deref(), Some("Spät"));
        assert_eq!(utm.content.as_deref(), Some("\u{fffd}"));
    }

    #[test]
    fn query_without_parameters_has_none() {
        for query in [None, Some(""), Some("?"), Some("utm_source"), Some("&&=&utm_source=%20")] {
            assert_eq!(Utm::read(query), Utm::default(), "{query:?}");
        }
    }
}
