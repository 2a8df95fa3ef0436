//! The public page: one HTML response without script, its style inside, nothing fetched but the
//! page's own images.
//!
//! maud escapes every text. The policy of the response allows exactly the style of this page (by
//! its hash) and the hosts of its images.

use std::{collections::BTreeSet, fmt::Write as _};

use base64::{Engine, engine::general_purpose::STANDARD};
use maud::{DOCTYPE, Markup, PreEscaped, html};
use serde_json::{Value, json};

use super::{
    PageDocument, Slug,
    document::{
        Availability, Colors, Density, Gate, Image, Layout, Link, LinkType, Mode, Price, Product, Shape,
        Social, Subject, Theme,
    },
};
use crate::{response::Response, secret::sha256, time::UnixMillis};

const STYLE: &str = include_str!("html/style.css");

/// A page as a visitor sees it at one moment.
#[derive(Clone, Copy, Debug)]
pub struct PageView<'a> {
    /// The document.
    pub document: &'a PageDocument,
    /// Its slug.
    pub slug: &'a Slug,
    /// The address below which pages are shown, without a slash at its end.
    pub base: &'a str,
    /// The moment: links outside their schedule are left out.
    pub now: UnixMillis,
    /// The moment at which the document went live.
    pub published_at: UnixMillis,
}

/// Returns the page.
#[must_use]
pub fn render(view: &PageView<'_>) -> Response {
    let document = view.document;
    let style = style(&document.theme);
    let content = html! {
        header {
            @if let Some(avatar) = &document.avatar { (image(avatar, 96, "avatar")) }
            h1 { (document.title) }
            @if !document.bio.is_empty() { p.bio { (document.bio) } }
        }
        (socials(&document.socials))
        (links(view))
        (products(document))
    };
    let head = html! {
        (previews(view))
        script type="application/ld+json" { (PreEscaped(json_ld(view))) }
    };
    respond(document, &title(document), &style, &head, &content)
}

/// Returns the page that asks a visitor to confirm, by a form that leads to `action`.
#[must_use]
pub fn confirm(document: &PageDocument, gate: Gate, action: &str) -> Response {
    let (question, button) = match gate {
        Gate::Age { min } => {
            (format!("This is for visitors of {min} years and older."), format!("I am {min} or older"))
        }
        Gate::Sensitive => {
            ("This may show content that not everyone wants to see.".to_owned(), "Show it".to_owned())
        }
    };
    let content = html! {
        header { h1 { (document.title) } p.bio { (question) } }
        form method="get" action=(action) {
            input type="hidden" name="confirmed" value="yes";
            button.link.top type="submit" { (button) }
        }
    };
    let head = html! { meta name="robots" content="noindex"; };
    respond(document, &title(document), &style(&document.theme), &head, &content)
}

fn respond(document: &PageDocument, title: &str, style: &str, head: &Markup, content: &Markup) -> Response {
    let description = description(document);
    let html = html! {
        (DOCTYPE)
        html lang=(document.locale.as_str()) dir=(document.direction().as_str()) {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                title { (title) }
                @if let Some(description) = description { meta name="description" content=(description); }
                meta name="color-scheme" content=(color_scheme(document.theme.mode));
                @if document.seo.noindex { meta name="robots" content="noindex"; }
                (head)
                style { (PreEscaped(style)) }
            }
            body { main { (content) } }
        }
    };
    Response::page(html.into_string()).with_headers([
        ("content-security-policy", policy(document, style)),
        ("referrer-policy", "strict-origin-when-cross-origin".to_owned()),
    ])
}

fn socials(socials: &[Social]) -> Markup {
    html! {
        @if !socials.is_empty() {
            nav.socials aria-label="Profiles" {
                @for social in socials.iter().filter(|social| social.url.is_allowed()) {
                    a rel="me noopener" href=(social.url) {
                        (social.label.as_deref().unwrap_or_else(|| social.platform.label()))
                    }
                }
            }
        }
    }
}

fn links(view: &PageView<'_>) -> Markup {
    let visible: Vec<_> = view.document.links.iter().filter(|link| link.is_visible(view.now)).collect();
    html! {
        @if !visible.is_empty() {
            section.links aria-label="Links" { @for link in visible { (entry(link, view.slug)) } }
        }
    }
}

fn entry(link: &Link, slug: &Slug) -> Markup {
    match link.kind {
        LinkType::Heading => html! { h2 { (link.title) } },
        LinkType::Text => html! { p.text { (link.title) } },
        LinkType::Divider => html! { hr; },
        LinkType::Email | LinkType::Phone | LinkType::Sms => {
            html! { @if let Some(url) = link.destination() { (anchor(link, url)) } }
        }
        LinkType::Link | LinkType::Whatsapp | LinkType::File => match link.destination() {
            Some(url) if link.direct => anchor(link, url),
            Some(_) => anchor(link, &format!("/{slug}/l/{}", link.id)),
            None => html! {},
        },
    }
}

fn anchor(link: &Link, address: &str) -> Markup {
    let rel = link.rel.iter().fold("noopener".to_owned(), |rel, more| rel + " " + more.as_str());
    let class = if link.highlight { "link top" } else { "link" };
    html! {
        a class=(class) rel=(rel) href=(address) {
            (link.title)
            @if let Some(description) = &link.description { span { (description) } }
        }
    }
}

fn products(document: &PageDocument) -> Markup {
    let products = &document.products;
    let class = match products.layout {
        Layout::Grid => "products",
        Layout::List => "products list",
    };
    html! {
        @if products.enabled && !products.items.is_empty() {
            section aria-label="Products" {
                @if !products.title.is_empty() { h2 { (products.title) } }
                ul class=(class) { @for item in &products.items { (product(item)) } }
            }
        }
    }
}

fn product(item: &Product) -> Markup {
    let note = match item.availability {
        Availability::InStock => None,
        Availability::OutOfStock => Some("Sold out"),
        Availability::Preorder => Some("Preorder"),
        Availability::Backorder => Some("Backorder"),
    };
    let body = html! {
        @if let Some(picture) = &item.image { (image(picture, 160, "")) }
        strong { (item.title) }
        @if let Some(description) = &item.description { span { (description) } }
        @match (&item.price, &item.sale_price) {
            (Some(price), Some(sale)) => span { s { (amount(price)) } " " (amount(sale)) },
            (Some(price), None) => span { (amount(price)) },
            (None, _) => {},
        }
        @if let Some(note) = note { span { (note) } }
    };
    html! {
        li { @if item.url.is_allowed() { a.link rel="noopener" href=(item.url) { (body) } } @else { div.link { (body) } } }
    }
}

fn amount(price: &Price) -> String {
    format!("{} {}", price.amount, price.currency)
}

fn image(image: &Image, size: u16, class: &str) -> Markup {
    html! {
        @if image.url.is_allowed() {
            img class=[(!class.is_empty()).then_some(class)] src=(image.url) alt=(image.alt) width=(size) height=(size)
                decoding="async" referrerpolicy="no-referrer";
        }
    }
}

fn title(document: &PageDocument) -> String {
    document.seo.title.as_ref().unwrap_or(&document.title).clone()
}

fn description(document: &PageDocument) -> Option<String> {
    let bio = (!document.bio.is_empty()).then_some(&document.bio);
    document.seo.description.as_ref().or(bio).map(|text| text.replace('\n', " "))
}

fn preview_image(document: &PageDocument) -> Option<&Image> {
    document.seo.image.as_ref().or(document.avatar.as_ref()).filter(|image| image.url.is_allowed())
}

/// Open Graph, and the address under which search engines list the page.
fn previews(view: &PageView<'_>) -> Markup {
    let address = format!("{}/{}", view.base, view.slug);
    html! {
        link rel="canonical" href=(address);
        meta property="og:type" content="profile";
        meta property="og:url" content=(address);
        meta property="og:title" content=(title(view.document));
        @if let Some(description) = description(view.document) {
            meta property="og:description" content=(description);
        }
        @if let Some(image) = preview_image(view.document) {
            meta property="og:image" content=(image.url);
            meta property="og:image:alt" content=(image.alt);
        }
    }
}

/// Structured data (schema.org), which cannot end its element: `<` is escaped.
fn json_ld(view: &PageView<'_>) -> String {
    let document = view.document;
    let kind = match document.seo.kind {
        Subject::Person => "Person",
        Subject::Organization => "Organization",
    };
    let mut subject = json!({
        "@type": kind,
        "name": document.title,
        "url": format!("{}/{}", view.base, view.slug),
        "sameAs": document.socials.iter().map(|social| social.url.as_str()).collect::<Vec<_>>(),
    });
    let more = [
        ("description", description(document)),
        ("image", preview_image(document).map(|image| image.url.to_string())),
    ];
    if let Some(members) = subject.as_object_mut() {
        members
            .extend(more.into_iter().filter_map(|(name, text)| Some((name.to_owned(), Value::from(text?)))));
    }
    let data = json!({
        "@context": "https://schema.org",
        "@type": "ProfilePage",
        "dateModified": view.published_at.to_rfc3339(),
        "mainEntity": subject,
    });
    data.to_string().replace('<', "\\u003c")
}

/// Returns the style of the page: its colors as variables, then what all pages have.
fn style(theme: &Theme) -> String {
    let mut style = String::with_capacity(STYLE.len() + 400);
    match theme.mode {
        Mode::Light => write_colors(&mut style, &theme.light()),
        Mode::Dark => write_colors(&mut style, &theme.dark()),
        Mode::Auto => {
            write_colors(&mut style, &theme.light());
            style.push_str("@media(prefers-color-scheme:dark){");
            write_colors(&mut style, &theme.dark());
            style.push('}');
        }
    }
    let radius = match theme.shape {
        Shape::Rounded => "12px",
        Shape::Pill => "28px",
        Shape::Square => "0",
    };
    let gap = match theme.density {
        Density::Normal => "12px",
        Density::Compact => "8px",
    };
    // Writing to a `String` cannot fail.
    let _written = write!(style, ":root{{--r:{radius};--g:{gap}}}");
    style.push_str(STYLE.trim_end());
    style
}

fn write_colors(style: &mut String, colors: &Colors) {
    let Colors { bg, fg, card, accent } = colors;
    let on = accent.text_on();
    let _written = write!(style, ":root{{--b:{bg};--f:{fg};--c:{card};--a:{accent};--o:{on}}}");
}

const fn color_scheme(mode: Mode) -> &'static str {
    match mode {
        Mode::Auto => "light dark",
        Mode::Light => "light",
        Mode::Dark => "dark",
    }
}

/// `Content-Security-Policy`: the page's own style and images, and nothing else. `connect-src` is
/// for tools that read `/robots.txt`.
fn policy(document: &PageDocument, style: &str) -> String {
    let digest = STANDARD.encode(sha256(&[style.as_bytes()]));
    let products = document.products.items.iter().filter_map(|item| item.image.as_ref());
    let images = document.avatar.iter().chain(products).filter(|image| image.url.is_allowed());
    let hosts: BTreeSet<_> = images.map(|image| format!(" {}", image.url.origin())).collect();
    let hosts = hosts.into_iter().collect::<String>();
    format!(
        "default-src 'none'; style-src 'sha256-{digest}'; img-src 'self'{hosts}; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    )
}

#[cfg(test)]
mod tests;
