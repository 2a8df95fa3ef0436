//! One entry of a page's list of links.

mod message;

use serde::{Deserialize, Serialize};
use shared::time::UnixMillis;
use strum::{IntoStaticStr, VariantArray};
use thiserror::Error;

use super::{Fallback, Follower, Gate, Image, LinkTarget, Platform, UtmTemplate, is_within, moment};
use crate::page::{LinkId, UrlError, WebUrl, host_to_ascii};

/// An entry of the list: a link, or what stands between links.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Link {
    /// Its name, which an edit keeps.
    pub id: LinkId,
    /// Its type.
    #[serde(rename = "type")]
    pub kind: LinkType,
    /// Its text, at most 120 characters; for [`LinkType::Text`] at most 500. Empty for a divider
    /// only.
    #[serde(default)]
    pub title: String,
    /// A second line, at most 200 characters.
    pub description: Option<String>,
    /// Its destination, valid for its type; `None` for types that lead nowhere, and for
    /// [`LinkType::Vcard`].
    pub url: Option<String>,
    /// Whether it is shown at all.
    #[serde(default = "yes")]
    pub enabled: bool,
    /// Whether it stands out.
    #[serde(default)]
    pub highlight: bool,
    /// Whether the page links to the destination itself, so that it can be copied. Clicks are not
    /// seen then.
    #[serde(default)]
    pub direct: bool,
    /// The moment from which it is shown.
    #[serde(default, with = "moment")]
    pub visible_from: Option<UnixMillis>,
    /// The moment from which it is no longer shown.
    #[serde(default, with = "moment")]
    pub visible_until: Option<UnixMillis>,
    /// A question that visitors confirm before they follow it.
    pub gate: Option<Gate>,
    /// Its relations, beside those that every link has.
    #[serde(default)]
    pub rel: Vec<Rel>,
    /// The icon of a site beside its text.
    pub icon: Option<Platform>,
    /// A picture beside its text, in place of the icon.
    pub image: Option<Image>,
    /// Destinations for some visitors, at most 10. The first that suits a visitor is chosen.
    #[serde(default)]
    pub targets: Vec<LinkTarget>,
    /// The destination after [`Link::visible_until`], when the page does not show it any more.
    pub fallback: Option<Fallback>,
    /// Its own campaign parameters, before those of the page.
    pub utm: Option<UtmTemplate>,
}

/// The destination that was chosen for a visitor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chosen<'a> {
    /// The destination.
    pub url: &'a str,
    /// Its name in reports; `None` for a link with a single destination.
    pub variant: Option<String>,
}

/// The type of an entry.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "snake_case")]
#[serde(rename_all = "snake_case")]
pub enum LinkType {
    /// A link to a web page.
    #[default]
    Link,
    /// A heading above the links that follow.
    Heading,
    /// A paragraph.
    Text,
    /// A line.
    Divider,
    /// An e-mail address, with a subject and a text if there are some: `mailto:`.
    Email,
    /// A phone number: `tel:`.
    Phone,
    /// A phone number for text messages, with a text if there is one: `sms:`.
    Sms,
    /// A WhatsApp chat, with a text if there is one: `https://wa.me/`.
    Whatsapp,
    /// The page's own contact card, `/{slug}/card.vcf`.
    Vcard,
    /// A file to download.
    File,
}

/// A destination that does not suit the type of its link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum LinkUrlError {
    /// It is not an address of the web that may be linked to.
    #[error(transparent)]
    Web(#[from] UrlError),
    /// It is not an e-mail address.
    #[error("must be an e-mail address such as ada@example.com")]
    Email,
    /// It is not a phone number.
    #[error("must be a phone number such as +49 30 1234567, with 5 to 15 digits")]
    Phone,
    /// What it begins a message with has other parameters than these.
    #[error("may have after `?` {0}, once each, and nothing else; `&` of a text is %26")]
    Message(&'static str),
    /// What it begins a message with is no text that people can read.
    #[error(
        "must have texts in UTF-8 without control characters and directional overrides; a `subject` is one line"
    )]
    Text,
    /// It is too long.
    #[error("is longer than {MAX_URL} characters with its texts percent-encoded")]
    TooLong,
    /// The type has none.
    #[error("must be left out: a {0} has no address")]
    None(&'static str),
}

/// A relation of a link (`rel`), for search engines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
#[serde(rename_all = "snake_case")]
pub enum Rel {
    /// Not endorsed.
    Nofollow,
    /// Paid for.
    Sponsored,
    /// Written by users.
    Ugc,
}

shared::named!(LinkType, Rel);

impl Link {
    /// Returns true if visitors see it at `now`: it is enabled, and the moment is within its
    /// schedule.
    pub fn is_visible(&self, now: UnixMillis) -> bool {
        self.enabled && is_within(self.visible_from, self.visible_until, now)
    }

    /// Returns the destination for a visitor at `now`; `None` if the link leads nowhere then. Addresses
    /// are checked again, as in [`Link::destination`].
    pub fn choose(&self, follower: &Follower<'_>, now: UnixMillis) -> Option<Chosen<'_>> {
        let is_over = self.visible_until.is_some_and(|until| until <= now);
        if let Some(fallback) = self.fallback.as_ref().filter(|_| self.enabled && is_over) {
            let url = Some(&fallback.url).filter(|url| url.is_allowed())?.as_str();
            return Some(Chosen { url, variant: Some(FALLBACK.to_owned()) });
        }
        if !self.is_visible(now) {
            return None;
        }
        let own = self.destination()?;
        let target = self.targets.iter().find(|target| target.suits(follower));
        match target.and_then(|target| Some((target, target.url.as_ref()?))) {
            Some((target, url)) if url.is_allowed() => {
                Some(Chosen { url: url.as_str(), variant: Some(target.label()) })
            }
            _ => {
                let has_others = !self.targets.is_empty() || self.fallback.is_some();
                Some(Chosen { url: own, variant: has_others.then(|| DEFAULT.to_owned()) })
            }
        }
    }

    /// Returns every address of the web that it can lead to.
    pub fn addresses(&self) -> impl Iterator<Item = &str> {
        self.destination().into_iter().chain(self.variants().map(|(_, url)| url))
    }

    /// Returns the destinations beside its own, each with the name of its variant.
    pub fn variants(&self) -> impl Iterator<Item = (String, &str)> {
        let targets = self.targets.iter().filter_map(|target| Some((target.label(), target.url.as_ref()?)));
        let fallback = self.fallback.as_ref().map(|fallback| (FALLBACK.to_owned(), &fallback.url));
        targets.chain(fallback).map(|(variant, url)| (variant, url.as_str()))
    }

    /// Returns true if the page links to the destination itself, and not through `/l/`, which counts.
    pub const fn leads_itself(&self) -> bool {
        match self.kind {
            LinkType::Vcard => true,
            LinkType::Email | LinkType::Phone | LinkType::Sms => self.gate.is_none(),
            LinkType::Link | LinkType::Whatsapp | LinkType::File => self.direct && self.gate.is_none(),
            LinkType::Heading | LinkType::Text | LinkType::Divider => false,
        }
    }

    /// Returns the destination without the texts of a message.
    pub fn bare_destination(&self) -> Option<&str> {
        let url = self.destination()?;
        match self.kind {
            LinkType::Email | LinkType::Sms | LinkType::Whatsapp => url.split('?').next(),
            _ => Some(url),
        }
    }

    /// Returns the destination if it may be linked to. The rules are checked again, so that an
    /// address which was stored under weaker rules leads nowhere.
    pub fn destination(&self) -> Option<&str> {
        self.url.as_deref().filter(|url| self.kind.check_url(url).is_ok_and(|checked| checked == *url))
    }
}

/// The variant that no condition is for.
pub(crate) const DEFAULT: &str = "default";
/// The variant after the end of a link's time.
pub(crate) const FALLBACK: &str = "fallback";

impl LinkType {
    /// Every type once.
    pub const ALL: [Self; 10] = *Self::VARIANTS.as_array().unwrap();

    /// Returns true if an entry of this type has its own destination.
    pub const fn has_url(self) -> bool {
        !matches!(self, Self::Heading | Self::Text | Self::Divider | Self::Vcard)
    }

    /// Checks a destination, and returns it in its one normal form. A bare e-mail address or phone
    /// number gets its scheme, and the texts of a message are percent-encoded.
    ///
    /// # Errors
    /// Returns what would be right.
    pub fn check_url(self, text: &str) -> Result<String, LinkUrlError> {
        match self {
            Self::Link | Self::File => Ok(WebUrl::parse_typed(text)?.into_string()),
            Self::Email => {
                let (address, parameters) = text.split_once('?').unwrap_or((text, ""));
                with_message(check_email(address)?, &message::EMAIL, parameters)
            }
            Self::Phone => Ok(format!("tel:{}", phone_number(text, "tel:")?)),
            Self::Sms => {
                // Apple's devices had `sms:1234&body=`.
                let (number, parameters) = text.split_once(['?', '&']).unwrap_or((text, ""));
                with_message(format!("sms:{}", phone_number(number, "sms:")?), &message::SMS, parameters)
            }
            Self::Whatsapp => {
                let starts =
                    ["https://wa.me/", "http://wa.me/", "wa.me/", "https://api.whatsapp.com/send?phone="];
                let number = starts.into_iter().find_map(|start| without_start(text, start)).unwrap_or(text);
                let (number, parameters) = number.split_once(['?', '&']).unwrap_or((number, ""));
                let digits = phone_number(number, "tel:")?;
                let address = format!("https://wa.me/{}", digits.trim_start_matches('+'));
                with_message(address, &message::WHATSAPP, parameters)
            }
            Self::Heading | Self::Text | Self::Divider | Self::Vcard => {
                Err(LinkUrlError::None(self.as_str()))
            }
        }
    }
}

const MAX_URL: usize = 2_048;

/// Returns an address with what the message begins with.
fn with_message(address: String, form: &message::Form, parameters: &str) -> Result<String, LinkUrlError> {
    let url = address + &form.read(parameters)?;
    if url.len() > MAX_URL { Err(LinkUrlError::TooLong) } else { Ok(url) }
}

fn check_email(text: &str) -> Result<String, LinkUrlError> {
    use email_address::{EmailAddress, Options};
    // The normal form, in which an address may come back, has escapes.
    let address = without_start(text, "mailto:").map(|address| address.replace("%23", "#"));
    let address = address.as_deref().unwrap_or(text).trim();
    let (name, host) = address.rsplit_once('@').ok_or(LinkUrlError::Email)?;
    // A host in ASCII keeps its case: stored addresses have it, and are checked again.
    let host = if host.is_ascii() { Some(host.to_owned()) } else { host_to_ascii(host) };
    let address = &format!("{name}@{}", host.ok_or(LinkUrlError::Email)?);
    let rules = Options::default().with_required_tld().without_domain_literal().without_display_text();
    // The rest of what an address may have would need escaping in a `mailto:`.
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"@.!#$*+-/=^_`{|}~'".contains(&byte);
    match EmailAddress::parse_with_options(address, rules) {
        Ok(_) if address.len() <= 254 && address.bytes().all(plain) => {
            Ok(format!("mailto:{}", address.replace('#', "%23")))
        }
        _ => Err(LinkUrlError::Email),
    }
}

/// Returns a text without its start, whatever the case: schemes and hosts have none (RFC 3986, section 3.1).
fn without_start<'a>(text: &'a str, start: &str) -> Option<&'a str> {
    let text = text.trim();
    let (head, rest) = text.split_at_checked(start.len())?;
    head.eq_ignore_ascii_case(start).then_some(rest)
}

/// Returns a number as digits, with its leading `+`.
fn phone_number(text: &str, scheme: &str) -> Result<String, LinkUrlError> {
    let number = without_start(text, scheme).unwrap_or(text).trim();
    // The zero of `+49 (0)30` is dialed within the country only.
    let number = if number.starts_with('+') { number.replace("(0)", "") } else { number.to_owned() };
    let mut digits = String::new();
    for c in number.chars().take(MAX_URL) {
        match c {
            '0'..='9' => digits.push(c),
            '+' if digits.is_empty() => digits.push(c),
            ' ' | '-' | '.' | '(' | ')' | '/' => {}
            // What a copied number has between its digits: spaces that do not break, dashes, directions.
            '\u{a0}' | '\u{202f}' | '\u{2009}' | '\u{2010}'..='\u{2014}' => {}
            '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => {}
            _ => return Err(LinkUrlError::Phone),
        }
    }
    let count = digits.trim_start_matches('+').len();
    (5..=15).contains(&count).then_some(digits).ok_or(LinkUrlError::Phone)
}

const fn yes() -> bool {
    true
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn destination_follows_the_time_and_the_visitor() {
        let link: Link =
            serde_json::from_value(json!({"id": LinkId::new([1; 12]), "type": "link", "title": "A",
            "url": "https://a.example/", "visible_from": "2027-01-01T00:00:00Z",
            "visible_until": "2027-02-01T00:00:00Z", "fallback": {"url": "https://over.example/"},
            "targets": [{"countries": ["DE"], "url": "https://de.example/"},
                        {"name": "apps", "devices": ["android"], "url": "https://app.example/"}]}))
            .unwrap();
        let german = Follower { country: Some("DE"), ..Follower::default() };
        let android = Follower {
            user_agent: Some(
                "Mozilla/5.0 (Linux; Android 14; Pixel 8) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0 Mobile Safari/537.36",
            ),
            ..german
        };
        let (from, until) = (link.visible_from.unwrap(), link.visible_until.unwrap());
        let chosen = |link: &Link, follower: &Follower<'_>, now| {
            link.choose(follower, now).map(|it| (it.url.to_owned(), it.variant.unwrap_or_default()))
        };
        let expect = |url: &str, variant: &str| Some((url.to_owned(), variant.to_owned()));
        assert_eq!(chosen(&link, &german, from.minus(1)), None);
        assert_eq!(chosen(&link, &german, from), expect("https://de.example/", "DE"));
        assert_eq!(chosen(&link, &android, from), expect("https://de.example/", "DE"), "the first");
        let elsewhere = Follower { country: Some("US"), ..android };
        assert_eq!(chosen(&link, &elsewhere, from), expect("https://app.example/", "apps"));
        assert_eq!(chosen(&link, &Follower::default(), from), expect("https://a.example/", "default"));
        assert_eq!(chosen(&link, &german, until), expect("https://over.example/", "fallback"));
        assert_eq!(link.addresses().count(), 4);
        let off = Link { enabled: false, ..link.clone() };
        assert_eq!((chosen(&off, &german, from), chosen(&off, &german, until)), (None, None));
        let plain = Link { targets: Vec::new(), fallback: None, ..link };
        assert_eq!(chosen(&plain, &german, from), expect("https://a.example/", ""));
        assert_eq!(chosen(&plain, &german, until), None);
    }

    #[test]
    fn destination_as_people_type_it_is_read() {
        for (kind, text, expected) in [
            (LinkType::Phone, "TEL:+4930123456", "tel:+4930123456"),
            (LinkType::Phone, "+49 (0)30 123456", "tel:+4930123456"),
            (LinkType::Phone, "\u{202a}+49\u{a0}30\u{2011}123456\u{202c}", "tel:+4930123456"),
            (LinkType::Sms, "Sms:030 123456", "sms:030123456"),
            (LinkType::Whatsapp, "HTTPS://WA.ME/4930123456", "https://wa.me/4930123456"),
            (LinkType::Whatsapp, "wa.me/4930123456", "https://wa.me/4930123456"),
            (LinkType::Email, "MAILTO:a@example.com", "mailto:a@example.com"),
            (LinkType::Email, "a@m\u{fc}nchen.de", "mailto:a@xn--mnchen-3ya.de"),
            (LinkType::Email, "a@mu\u{308}nchen\u{3002}de", "mailto:a@xn--mnchen-3ya.de"),
            (LinkType::Email, " A@Example.com ", "mailto:A@Example.com"),
            (LinkType::Link, "site.de/x", "https://site.de/x"),
        ] {
            assert_eq!(kind.check_url(text).as_deref(), Ok(expected), "{text}");
        }
        for (kind, text) in [
            (LinkType::Email, "a@b@example.com"),
            (LinkType::Email, "@example.com"),
            (LinkType::Email, "a@\u{ff0f}example.com"),
            (LinkType::Phone, "12+3456789"),
            (LinkType::Phone, "++4930123456"),
        ] {
            assert!(kind.check_url(text).is_err(), "{text}");
        }
    }

    #[test]
    fn message_is_percent_encoded_in_its_normal_form() {
        for (kind, text, expected) in [
            (LinkType::Sms, "+49 30 123456?body=Hello", "sms:+4930123456?body=Hello"),
            (
                LinkType::Sms,
                "sms:030123456&body=A table for 2, please",
                "sms:030123456?body=A%20table%20for%202%2C%20please",
            ),
            (LinkType::Sms, "sms:030123456?BODY=100%25%0Aof+it", "sms:030123456?body=100%25%0Aof%2Bit"),
            (LinkType::Sms, "sms:030123456?body=", "sms:030123456"),
            (
                LinkType::Email,
                "a@example.com?subject=Gr\u{fc}\u{df}e",
                "mailto:a@example.com?subject=Gr%C3%BC%C3%9Fe",
            ),
            (
                LinkType::Email,
                "MAILTO:a@example.com?Body=one%0D%0Atwo%0Athree&subject=1+1%3D2",
                "mailto:a@example.com?subject=1%2B1%3D2&body=one%0D%0Atwo%0D%0Athree",
            ),
            (LinkType::Email, "a@example.com?body=a#b", "mailto:a@example.com?body=a%23b"),
            (LinkType::Whatsapp, "+49 30 123456?text=Hi+there", "https://wa.me/4930123456?text=Hi%20there"),
            (
                LinkType::Whatsapp,
                "https://api.whatsapp.com/send?phone=4930123456&text=a%26b",
                "https://wa.me/4930123456?text=a%26b",
            ),
            (
                LinkType::Whatsapp,
                "wa.me/4930123456/?text=\u{1f389}",
                "https://wa.me/4930123456?text=%F0%9F%8E%89",
            ),
        ] {
            let checked = kind.check_url(text);
            assert_eq!(checked.as_deref(), Ok(expected), "{text}");
            assert_eq!(kind.check_url(expected).as_deref(), Ok(expected), "{expected}");
        }
    }

    /// No text of a message reaches the head of a mail, another receiver or an attachment.
    #[test]
    fn hostile_message_is_refused() {
        let other = LinkUrlError::Message("`subject` and `body`");
        let long = format!("a@example.com?body={}", "\u{e4}".repeat(400));
        for (kind, text, error) in [
            (LinkType::Email, "a@example.com?bcc=b@example.com", other),
            (LinkType::Email, "a@example.com?subject=a&Cc=b@example.com", other),
            (LinkType::Email, "a@example.com?to=b@example.com", other),
            (LinkType::Email, "a@example.com?subject=a&attach=/etc/passwd", other),
            (LinkType::Email, "a@example.com?subject=a&subject=b", other),
            (LinkType::Email, "a@example.com?subject", other),
            (LinkType::Email, "a@example.com?s%75bject=a", other),
            (LinkType::Email, "a@example.com?subject=a%0D%0ABcc:b@example.com", LinkUrlError::Text),
            (LinkType::Email, "a@example.com?subject=a\nBcc: b@example.com", LinkUrlError::Text),
            (LinkType::Email, "a@example.com?body=a%00b", LinkUrlError::Text),
            (LinkType::Email, "a@example.com?body=a%0Db", LinkUrlError::Text),
            (LinkType::Email, "a@example.com?body=%FF", LinkUrlError::Text),
            (LinkType::Email, "a@example.com?body=%E2%80%AEmoc", LinkUrlError::Text),
            (LinkType::Email, "a@example.com,b@example.com?subject=a", LinkUrlError::Email),
            (LinkType::Email, "?subject=a", LinkUrlError::Email),
            (LinkType::Email, &long, LinkUrlError::TooLong),
            (LinkType::Sms, "030123456?subject=a", LinkUrlError::Message("`body`")),
            (LinkType::Sms, "030123456,030654321?body=a", LinkUrlError::Phone),
            (LinkType::Sms, "?body=a", LinkUrlError::Phone),
            (LinkType::Phone, "030123456?body=a", LinkUrlError::Phone),
            (LinkType::Whatsapp, "4930123456?text=a&app_absent=1", LinkUrlError::Message("`text`")),
            (LinkType::Whatsapp, "https://wa.me/?text=a", LinkUrlError::Phone),
        ] {
            assert_eq!(kind.check_url(text), Err(error), "{text}");
        }
    }

    /// A stored destination is checked again with its own rules, so it must be its own normal form.
    #[test]
    fn checked_destination_is_its_own_normal_form() {
        for (kind, text) in [
            (LinkType::Email, "ada#1@example.com"),
            (LinkType::Email, "mailto:ada.l+x@example.com"),
            (LinkType::Phone, "+49 (30) 123-4567"),
            (LinkType::Sms, "sms:0301234567"),
            (LinkType::Whatsapp, "+49 30 1234567"),
            (LinkType::Link, "HTTPS://Example.com/ä?b=c#d"),
        ] {
            let checked = kind.check_url(text).unwrap();
            assert_eq!(kind.check_url(&checked).as_ref(), Ok(&checked), "{text}");
        }
    }
}
