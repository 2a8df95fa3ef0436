//! What every page has: its head, its style, and its policy.

use std::borrow::Cow;

use base64::{Engine, engine::general_purpose::STANDARD};
use maud::{DOCTYPE, Markup, PreEscaped, html};
use shared::{response::Response, secret::sha256};

use super::style::{color_scheme, favicon, style, theme_colors};
use crate::page::{
    PageDocument,
    document::{Direction, Image, Theme},
};

/// The style of the operator's own pages, which `build.rs` writes.
const NOTICE: &str = include_str!(concat!(env!("OUT_DIR"), "/notice.css"));
/// Longest list of image hosts in a policy, in bytes. Many servers and proxies take no more than
/// 8 KiB of headers.
const MAX_IMAGE_HOSTS: usize = 2_048;

/// The head of a page.
pub(super) struct Head<'a> {
    pub(super) title: &'a str,
    pub(super) locale: &'a str,
    pub(super) direction: Direction,
    /// The look of the page; `None` for the operator's own, which have that of the site.
    pub(super) theme: Option<&'a Theme>,
    /// Whether search engines are asked to leave the page out.
    pub(super) noindex: bool,
    /// The image that stands for the page in tabs and on home screens.
    pub(super) icon: Option<&'a Image>,
    /// The images that the page shows.
    pub(super) images: Vec<&'a Image>,
    /// Elements to add.
    pub(super) more: Markup,
}

impl<'a> Head<'a> {
    /// Returns the head of a page with this document and its images.
    pub(super) fn of(document: &'a PageDocument) -> Self {
        Self {
            title: document.seo.title.as_ref().unwrap_or(&document.title),
            locale: document.locale.as_str(),
            direction: document.direction(),
            theme: Some(&document.theme),
            noindex: document.seo.noindex,
            icon: document.avatar.as_ref().filter(|avatar| avatar.url.is_allowed()),
            images: document.images().collect(),
            more: html! {},
        }
    }

    pub(super) fn with(self, more: Markup) -> Self {
        Self { more, ..self }
    }
}

/// Returns a response with status 200.
pub(super) fn respond(head: &Head<'_>, content: &Markup) -> Response {
    let style = match head.theme {
        Some(theme) => Cow::Owned(style(theme, &content.0)),
        None => Cow::Borrowed(NOTICE),
    };
    let html = html! {
        (DOCTYPE)
        html lang=(head.locale) dir=(head.direction.as_str()) {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                title { (head.title) }
                @if let Some(theme) = head.theme {
                    meta name="color-scheme" content=(color_scheme(theme.mode));
                    (theme_colors(theme))
                    @match head.icon {
                        Some(icon) => {
                            link rel="icon" href=(icon.url) referrerpolicy="no-referrer";
                            link rel="apple-touch-icon" href=(icon.url) referrerpolicy="no-referrer";
                        }
                        None => link rel="icon" href=(favicon(theme));
                    }
                }
                @if head.noindex { meta name="robots" content="noindex"; }
                (head.more)
                style { (PreEscaped(&style)) }
            }
            body { (content) }
        }
    };
    Response::page("text/html; charset=utf-8", html.into_string()).with_headers([
        ("content-security-policy", policy(&head.images, &style)),
        ("referrer-policy", "strict-origin-when-cross-origin".to_owned()),
    ])
}

/// `Content-Security-Policy`: the page's own style and images, and nothing else. `connect-src` is
/// for tools that read `/robots.txt`, `data:` for the icon in the head.
fn policy(images: &[&Image], style: &str) -> String {
    // Of this very style: an attribute or a style that slipped into a text has no effect.
    let digest = STANDARD.encode(sha256(&[style.as_bytes()]));
    let mut hosts = String::new();
    for url in images.iter().filter_map(|image| image.url.foreign()).filter(|url| url.is_allowed()) {
        let host = url.origin();
        if !hosts.split(' ').any(|other| other == host) {
            hosts.extend([" ", host]);
        }
    }
    let hosts = if hosts.len() <= MAX_IMAGE_HOSTS { hosts.as_str() } else { " https:" };
    format!(
        "default-src 'none'; style-src 'sha256-{digest}'; img-src 'self' data:{hosts}; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    )
}
