//! The public page: one HTML response without script, its style inside, nothing fetched but the
//! page's own images.
//!
//! maud escapes every text. The policy of the response allows exactly the style of this page (by
//! its hash) and the hosts of its images.

mod gate;
pub(super) mod icons;
mod layout;
mod links;
mod metadata;
mod money;
mod notice;
mod products;
mod style;
mod words;

use maud::{Markup, html};

pub use gate::confirm;
pub use notice::{gone, not_found, problem_notice, report_form, report_received};

use shared::{response::Response, time::UnixMillis};

use self::{
    layout::{Head, respond},
    words::Words,
};
use super::{
    PageDocument, Slug,
    document::{Background, Image},
};

/// A page as a visitor sees it at one moment.
#[derive(Clone, Copy, Debug)]
pub struct PageView<'a> {
    /// The document.
    pub document: &'a PageDocument,
    /// Its slug.
    pub slug: &'a Slug,
    /// The address below which pages are shown, without a slash at its end.
    pub base: &'a str,
    /// The path of the page, below which its parts are: `/ada`, or an empty one on its own domain.
    pub path: &'a str,
    /// The moment: links outside their schedule are left out.
    pub now: UnixMillis,
    /// The moment at which the document went live.
    pub published_at: UnixMillis,
    /// The token of the image that says that the page was laid out.
    pub image: Option<&'a str>,
}

impl PageView<'_> {
    /// Returns the page's own address, without a query.
    pub(super) fn address(&self) -> String {
        format!("{}{}", self.base, self.path)
    }
}

/// Returns the page.
pub fn render(view: &PageView<'_>) -> Response {
    let document = view.document;
    let words = Words::of(&document.locale);
    let content = html! {
        @if document.theme.look().background == Background::Image {
            @if let Some(image) = &document.theme.image {
                img.back src=(image.url) alt="" width="16" height="9" referrerpolicy="no-referrer";
            }
        }
        main {
            header {
                @if let Some(cover) = document.cover.as_ref().filter(|cover| cover.url.is_allowed()) {
                    img.cover src=(cover.url) alt=(cover.alt) width="640" height="213" referrerpolicy="no-referrer";
                }
                @if let Some(avatar) = &document.avatar { (portrait(avatar)) }
                h1 { (document.title) }
                @if !document.bio.is_empty() { p.bio { (document.bio) } }
            }
            (links::profiles(&document.socials, words))
            (links::list(view, words))
            (products::section(view, words))
        }
        (metadata::json_ld(view))
        footer {
            // Fetched for print alone.
            img.qr src={ (view.path) "/qr.svg" } alt=(words.code) width="160" height="160" loading="lazy";
            a lang=[words.foreign(&document.locale)] rel="nofollow" href={ (view.path) "/report" } { (words.report) }
            @if let Some(token) = view.image {
                img src={ (view.path) "/seen/" (token) } alt="" width="1" height="1";
            }
        }
    };
    let head = Head::of(document).with(metadata::of(view));
    let response = respond(&head, &content);
    // The token is for this visitor alone. A cache would give it to the next one.
    if view.image.is_some() { response.unique() } else { response }
}

fn portrait(avatar: &Image) -> Markup {
    html! {
        @if avatar.url.is_allowed() {
            img.avatar src=(avatar.url) alt=(avatar.alt) width="96" height="96" referrerpolicy="no-referrer";
        }
    }
}

#[cfg(test)]
mod tests;
