//! Addresses that a page may link to.

mod international;
mod parts;

use std::fmt;

use serde::{Deserialize, Serialize};
use shared::url::is_at_or_below;
use thiserror::Error;

pub(crate) use international::to_ascii as host_to_ascii;
pub(crate) use parts::UrlParts;

/// A public `http` or `https` address in a form that the URL standard leaves as it is: the host in
/// lower case and punycode, the path without dot segments, and everything else percent-encoded where
/// browsers would.
///
/// A stored address is read as it is, because it may break a rule that came later.
/// [`WebUrl::is_allowed`] checks it again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WebUrl(String);

/// A text that is not an address which a page may link to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum UrlError {
    /// It cannot be read.
    #[error("must be an address such as https://example.com/path")]
    Malformed,
    /// It has another scheme than `http` and `https`.
    #[error("must be an address such as https://example.com/path, which begins with https:// or http://")]
    Scheme,
    /// It is a name at a site.
    #[error("must be the whole address, such as https://www.instagram.com/ada; a name alone leads nowhere")]
    Handle,
    /// It is an e-mail address, or a phone number with its scheme.
    #[error(
        "must be an address of the web; an e-mail address needs a link of the type `email`, a phone number one of the type `phone`"
    )]
    Contact,
    /// It has spaces, line breaks or other control characters.
    #[error("must have no spaces, backslashes or control characters")]
    Characters,
    /// It has a user name or password.
    #[error("must have no user name or password")]
    Credentials,
    /// Its host is no public name.
    #[error("must have a public host name such as example.com")]
    Host,
    /// Its host has characters that are not read, or punycode that encodes none.
    #[error(
        "has an international host name that cannot be read; expected letters, digits and hyphens, or valid punycode (xn--…)"
    )]
    International,
    /// It is too long.
    #[error("is longer than {max} characters", max = WebUrl::MAX_LEN)]
    TooLong,
}

impl WebUrl {
    /// The longest address, in bytes of its normal form.
    pub const MAX_LEN: usize = 2_048;
    /// Names that are never public (RFC 6761, RFC 8375, RFC 9476, and common use).
    const PRIVATE: [&str; 10] =
        ["localhost", "local", "internal", "home.arpa", "lan", "intranet", "corp", "onion", "invalid", "alt"];

    /// Reads an address.
    ///
    /// # Errors
    /// Returns the first rule that it breaks.
    pub fn parse(text: &str) -> Result<Self, UrlError> {
        let parts = UrlParts::parse(text)?;
        if !is_public_host(&parts.host) {
            return Err(UrlError::Host);
        }
        // Of the parts: what was checked is what is stored, in the form in which browsers read it.
        let text = parts.to_string();
        if text.len() > Self::MAX_LEN { Err(UrlError::TooLong) } else { Ok(Self(text)) }
    }

    /// Reads an address as people type it: `example.com/path` begins with `https://`.
    ///
    /// # Errors
    /// Returns the first rule that it breaks, or what it is instead.
    pub fn parse_typed(text: &str) -> Result<Self, UrlError> {
        let text = text.trim();
        let begins = |start: &str| text.get(..start.len()).is_some_and(|it| it.eq_ignore_ascii_case(start));
        match Self::parse(text) {
            Err(UrlError::Scheme) if text.starts_with('@') => Err(UrlError::Handle),
            Err(UrlError::Scheme) if ["mailto:", "tel:", "sms:"].into_iter().any(begins) => {
                Err(UrlError::Contact)
            }
            Err(UrlError::Scheme) if !text.contains("://") => Self::parse(&format!("https://{text}"))
                .map_err(|error| match error {
                    // With a scheme in front, the part of an e-mail address before `@` looks like a
                    // user name.
                    UrlError::Credentials => UrlError::Contact,
                    _ => UrlError::Scheme,
                }),
            read => read,
        }
    }

    /// Returns an address that was stored, and may break a rule that came later.
    pub(super) const fn stored(text: String) -> Self {
        Self(text)
    }

    /// Returns the address.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the address as text.
    pub fn into_string(self) -> String {
        self.0
    }

    /// Returns true if it keeps the rules of today.
    pub fn is_allowed(&self) -> bool {
        // Equal, because a stored text that is read as another address is not the one that was
        // checked.
        Self::parse(&self.0).is_ok_and(|parsed| parsed == *self)
    }

    /// Returns true if it is encrypted.
    pub fn is_https(&self) -> bool {
        self.0.starts_with("https://")
    }

    /// Returns scheme, host and port: all before the path.
    pub fn origin(&self) -> &str {
        let (scheme, rest) = self.0.split_once("://").unwrap_or_default();
        let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
        self.0.get(..scheme.len() + 3 + end).unwrap_or_default()
    }

    /// Returns the host name, in lower case.
    pub fn host(&self) -> &str {
        let (_, rest) = self.0.split_once("://").unwrap_or_default();
        let end = rest.find(['/', '?', '#', ':']).unwrap_or(rest.len());
        rest.get(..end).unwrap_or_default()
    }
}

/// Returns true for a name of labels with a dot, whose last one is not a number, and that does not
/// lie below a private one. Browsers read a name that ends in a number as an IPv4 address.
pub(crate) fn is_public_host(name: &str) -> bool {
    is_domain_name(name) && !is_private_name(name)
}

/// Returns true for labels with a dot between them, of which the last begins with a letter.
pub(crate) fn is_domain_name(name: &str) -> bool {
    let is_label = |label: &str| {
        (1..=63).contains(&label.len())
            && !label.starts_with('-')
            && !label.ends_with('-')
            && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_')
    };
    let last = name.rsplit('.').next().unwrap_or_default();
    name.len() <= 253
        && name.contains('.')
        && name.split('.').all(is_label)
        && last.len() >= 2
        && last.starts_with(|c: char| c.is_ascii_alphabetic())
}

/// Returns true for a name that is private everywhere, and for each below it.
pub(crate) fn is_private_name(name: &str) -> bool {
    WebUrl::PRIVATE.iter().any(|private| is_at_or_below(name, private))
}

/// Returns true if the URL standard reads the host as an address: brackets, or a last label that is
/// a number (decimal, octal or hexadecimal).
pub(crate) fn is_ip_address(name: &str) -> bool {
    let last = name.rsplit('.').next().unwrap_or_default();
    let is_hex = |digits: &str| digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    let is_decimal = !last.is_empty() && last.bytes().all(|byte| byte.is_ascii_digit());
    // `0x` alone is a number too, by the URL standard.
    name.starts_with('[') || is_decimal || last.strip_prefix("0x").is_some_and(is_hex)
}

impl fmt::Display for WebUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn address_is_brought_into_its_normal_form() {
        for (text, normal) in [
            ("HTTPS://Example.COM", "https://example.com/"),
            ("https://example.com:443/a?b#c", "https://example.com/a?b#c"),
            ("http://example.com:8080?q=\u{fc}", "http://example.com:8080/?q=%C3%BC"),
            ("https://xn--bcher-kva.example/<x>", "https://xn--bcher-kva.example/%3Cx%3E"),
            ("https://M\u{fc}nchen.de/\u{fc}", "https://xn--mnchen-3ya.de/%C3%BC"),
            ("https://\u{4f8b}\u{3048}.jp", "https://xn--r8jz45g.jp/"),
            ("https://XN--R8JZ45G.jp", "https://xn--r8jz45g.jp/"),
            ("https://xn--i-7iq.ws", "https://xn--i-7iq.ws/"),
            // As people type them: decomposed, wide, with another full stop, an emoji, a Roman numeral.
            ("https://mu\u{308}nchen.de", "https://xn--mnchen-3ya.de/"),
            ("https://exa\u{308}mple.com/", "https://xn--exmple-cua.com/"),
            ("https://\u{ff4d}\u{fc}nchen.de", "https://xn--mnchen-3ya.de/"),
            ("https://\u{ff45}xample\u{ff0e}com/", "https://example.com/"),
            ("https://m\u{fc}nchen\u{3002}de/", "https://xn--mnchen-3ya.de/"),
            ("https://\u{1f98a}.ws/", "https://xn--9s9h.ws/"),
            ("https://\u{2167}.example.com/", "https://viii.example.com/"),
            ("https://stra\u{df}e.de/", "https://xn--strae-oqa.de/"),
            ("https://\u{e44}\u{e17}\u{e22}.com", "https://xn--o3cw4h.com/"),
            (
                "https://\u{43f}\u{440}\u{438}\u{43c}\u{435}\u{440}.\u{440}\u{444}/",
                "https://xn--e1afmkfd.xn--p1ai/",
            ),
            ("https://example.com/a%20b", "https://example.com/a%20b"),
            (
                "https://example.com/a/%2e%2E/b/./c/..?d=/../'#/../e'",
                "https://example.com/b/?d=/../%27#/../e'",
            ),
            ("https://example.com/../..", "https://example.com/"),
            ("https://example.com/a//../b/%2e", "https://example.com/a/b/"),
            ("https://example.com/a/.../.b", "https://example.com/a/.../.b"),
        ] {
            let parsed = WebUrl::parse(text).unwrap();
            assert_eq!(parsed.as_str(), normal);
            assert!(parsed.is_allowed());
        }
    }

    #[test]
    fn address_that_is_not_public_or_not_plain_is_refused() {
        for text in [
            "javascript:alert(1)",
            "https:example.com",
            "https:///example.com",
            "https://",
            "https://localhost/",
            "https://printer.local/",
            "https://metadata.internal/",
            "https://127.0.0.1/",
            "https://2130706433/",
            "https://0x7f.0.0.1/",
            "https://127.0.0.0x1/",
            "https://[::1]/",
            "https://example.com./",
            "https://example..com/",
            "https://-example.com/",
            "https://user@example.com/",
            "https://example.com:0/",
            "https://example.com:99999/",
            "https://example.com:/",
            "https://example.com:+80/",
            // What only the mapping shows.
            "https://\u{ff11}\u{ff12}\u{ff17}.0.0.1/",
            "https://127\u{3002}0\u{3002}0\u{3002}1/",
            "https://example.com\u{ff0f}.evil.com/",
            "https://user\u{ff20}example.com/",
            "https://example.com\u{ff1a}80/",
            "https://\u{2460}\u{24ea}\u{ff0e}1/",
            "https://\u{ff4c}ocalhost/",
            "https://printer.\u{24db}ocal/",
            "https://\u{200b}/",
            "https://exam\u{378}ple.com/",
            "https://xn--.example/",
            "https://xn--a.example/",
            "https://xn--example-.com/",
            "https://xn--mnchen-3yA-.de/",
            "https://example.com\\@evil.com/",
            "https://example.com/a b",
            "https://example.com/\n",
            "//example.com/",
            "ftp://example.com/",
        ] {
            assert!(WebUrl::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn address_as_people_type_it_is_read_or_explained() {
        for (text, expected) in [
            ("site.de/x", Ok("https://site.de/x")),
            (" Site.de:8080 ", Ok("https://site.de:8080/")),
            ("m\u{fc}nchen.de?a=b", Ok("https://xn--mnchen-3ya.de/?a=b")),
            ("http://site.de", Ok("http://site.de/")),
            ("@ada", Err(UrlError::Handle)),
            ("ada@example.com", Err(UrlError::Contact)),
            ("MAILTO:ada@example.com", Err(UrlError::Contact)),
            ("tel:+4930123456", Err(UrlError::Contact)),
            ("javascript:alert(1)", Err(UrlError::Scheme)),
            ("data:text/html,x", Err(UrlError::Scheme)),
            ("//site.de/x", Err(UrlError::Scheme)),
            ("/x", Err(UrlError::Scheme)),
            ("localhost", Err(UrlError::Scheme)),
            ("127.0.0.1/x", Err(UrlError::Scheme)),
            ("ftp://site.de/", Err(UrlError::Scheme)),
            ("site de", Err(UrlError::Characters)),
        ] {
            assert_eq!(
                WebUrl::parse_typed(text).as_ref().map(WebUrl::as_str),
                expected.as_ref().map(|it| *it),
                "{text}"
            );
        }
    }

    proptest! {
        #[test]
        fn parsing_twice_changes_nothing(text in "https?://[a-zA-Z0-9.:@-]{1,20}[/?#]?\\PC{0,30}") {
            if let Ok(parsed) = WebUrl::parse(&text) {
                prop_assert_eq!(WebUrl::parse(parsed.as_str()), Ok(parsed.clone()));
                prop_assert!(parsed.as_str().is_ascii());
            }
        }
    }
}
