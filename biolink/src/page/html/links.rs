//! The links of a page, and the profiles above them.

use std::{borrow::Cow, iter};

use maud::{Markup, html};

use super::{PageView, icons, words::Words};
use crate::page::{
    PartId,
    document::{Link, LinkType, Platform, Social},
};

/// Returns the profiles elsewhere. `rel="me"` says that they are the same person's.
pub(super) fn profiles(socials: &[Social], words: &Words) -> Markup {
    let allowed: Vec<_> = socials.iter().filter(|social| social.url.is_allowed()).collect();
    html! {
        @if !allowed.is_empty() {
            nav.socials aria-label=(words.profiles) {
                @for social in allowed {
                    a rel="me" href=(social.url) aria-label=(social.label.as_deref().unwrap_or_else(|| social.platform.label())) {
                        (icon(social.platform))
                    }
                }
            }
        }
    }
}

/// Returns the entries that are visible now. Links that follow each other are a list.
pub(super) fn list(view: &PageView<'_>, words: &Words) -> Markup {
    let entries: Vec<_> = view.document.links.iter().filter(|link| link.is_visible(view.now)).collect();
    let entries: Vec<_> =
        entries.into_iter().map(|link| (link, address(link, view))).filter(is_shown).collect();
    html! {
        @if !entries.is_empty() {
            nav.links aria-label=(words.links) {
                // A heading ends a list, so that screen readers announce lists of links and not of
                // all.
                @for group in entries.chunk_by(|(_, left), (_, right)| left.is_some() && right.is_some()) {
                    (part(group, view))
                }
            }
        }
    }
}

/// Returns where a link leads from the page; `None` if it leads nowhere.
fn address(link: &Link, view: &PageView<'_>) -> Option<String> {
    let (slug, path) = (view.slug, view.path);
    match link.kind {
        LinkType::Heading | LinkType::Text | LinkType::Divider => None,
        LinkType::Vcard => Some(format!("{path}/card.vcf")),
        _ if link.leads_itself() => {
            link.destination().map(|url| view.document.outgoing(link, url, slug, "", iter::empty()))
        }
        _ => link
            .destination()
            .map(|_| format!("{path}/l/{}", link.id.shortest_in_path(view.document.link_ids()))),
    }
}

/// A link whose destination is not allowed any more is left out.
fn is_shown((link, address): &(&Link, Option<String>)) -> bool {
    address.is_some() || !link.kind.has_url()
}

fn part(group: &[(&Link, Option<String>)], view: &PageView<'_>) -> Markup {
    match group {
        [(link, None)] => match link.kind {
            LinkType::Heading => html! { h2 { (link.title) } },
            LinkType::Divider => html! { hr; },
            _ => html! { p.text { (link.title) } },
        },
        links => html! {
            ul { @for (link, address) in links { @if let Some(address) = address { li { (anchor(link, address, view)) } } } }
        },
    }
}

/// Returns a link. One that does not lead through the redirect, which counts, sends a ping.
fn anchor(link: &Link, address: &str, view: &PageView<'_>) -> Markup {
    let ping = link.leads_itself();
    let ping =
        ping.then(|| format!("{}/ping/{}", view.path, link.id.shortest_in_path(view.document.link_ids())));
    let rel = link.rel.iter().map(|rel| rel.as_str()).collect::<Vec<_>>().join(" ");
    // What a printed page shows, unless visitors are to confirm first.
    let to = link.bare_destination().filter(|_| link.gate.is_none()).map(shown_address);
    let image = link.image.as_ref().filter(|image| image.url.is_allowed());
    let has_picture = image.is_some() || link.icon.is_some();
    html! {
        a.link.top[link.highlight].pic[has_picture] data-to=[to] rel=[(!rel.is_empty()).then_some(rel)] href=(address) ping=[ping] {
            @if let Some(image) = image {
                img src=(image.url) alt=(image.alt) width="48" height="48" loading="lazy" referrerpolicy="no-referrer";
            } @else if let Some(platform) = link.icon { (icon(platform)) }
            @if has_picture { div { (text_of(link)) } } @else { (text_of(link)) }
        }
    }
}

fn text_of(link: &Link) -> Markup {
    html! {
        (bound(&link.title))
        @if let Some(description) = &link.description { " " span { (bound(description)) } }
    }
}

/// Returns the icon of a site, which says nothing to those who do not see it. Without one it is the last two
/// letters of the site's name: `in`.
fn icon(platform: Platform) -> Markup {
    let name = platform.label();
    let letters = name.get(name.len().saturating_sub(2)..).unwrap_or(name).to_lowercase();
    html! {
        @if let Some(path) = icons::path(platform) {
            svg viewBox="0 0 24 24" width="24" height="24" aria-hidden="true" { path d=(path) {} }
        } @else {
            b.mark aria-hidden="true" data-in=(letters) {}
        }
    }
}

/// Returns a text whose numbers stay on one line with what they count: `250 g`.
pub(super) fn bound(text: &str) -> Cow<'_, str> {
    let ends_number = |before: &str| before.ends_with(|c: char| c.is_ascii_digit());
    let is_unit = |word: &str| {
        let word = word.trim_end_matches(['.', ',', ';', ')']);
        matches!(word.chars().count(), 1 | 2)
            && word.chars().all(|c| c.is_alphabetic() || "%°€$£¥₹".contains(c))
    };
    let mut words = text.split(' ').peekable();
    let mut bound = String::new();
    while let Some(word) = words.next() {
        bound.push_str(word);
        match words.peek() {
            Some(next) if ends_number(word) && is_unit(next) => bound.push('\u{a0}'),
            Some(_) => bound.push(' '),
            None => {}
        }
    }
    if bound == text { text.into() } else { bound.into() }
}

/// Returns an address as people read it: without its scheme.
pub(super) fn shown_address(url: &str) -> &str {
    let rest = url.split_once("://").map(|(_, rest)| rest);
    rest.or_else(|| url.split_once(':').map(|(_, rest)| rest)).unwrap_or(url).trim_end_matches('/')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn number_and_its_unit_are_bound() {
        for (text, expected) in [
            ("Honey 250 g", "Honey 250~g"),
            ("250 g", "250~g"),
            ("Tea, 1.5 kg (2 x 750 g).", "Tea, 1.5~kg (2~x 750~g)."),
            ("Zu 50 % und 20 °C", "Zu 50~% und 20~°C"),
            ("Chapter 12 begins", "Chapter 12 begins"),
            ("A 1", "A 1"),
            ("two  spaces 7", "two  spaces 7"),
            ("", ""),
        ] {
            assert_eq!(bound(text).replace('\u{a0}', "~"), expected);
        }
    }
}
