//! The products of a page.

use maud::{Markup, html};

use super::{PageView, words::Words};
use crate::page::document::{Availability, Image, Layout, Price, Product};

/// Returns the products, if there are any and they are shown.
pub(super) fn section(view: &PageView<'_>, words: &Words) -> Markup {
    let products = &view.document.products;
    let has_title = !products.title.is_empty();
    let is_list = matches!(products.layout, Layout::List);
    html! {
        @if products.enabled && !products.items.is_empty() {
            section aria-labelledby=[has_title.then_some("shop")] aria-label=[(!has_title).then_some(words.products)] {
                @if has_title { h2 id="shop" { (products.title) } }
                ul.products.list[is_list] { @for item in &products.items { li { (entry(item, view, words)) } } }
            }
        }
    }
}

fn entry(item: &Product, view: &PageView<'_>, words: &Words) -> Markup {
    let body = html! {
        @if let Some(image) = &item.image { (picture(image)) }
        (item.title)
        @if let Some(description) = &item.description { " " span { (description) } }
        @if let Some(price) = &item.price { " " (cost(price, item.sale(view.now), words)) }
        @if let Some(note) = note(item.availability, words) { " " span { (note) } }
    };
    html! {
        @if item.url.is_allowed() { a.link rel="nofollow" href={ "/" (view.slug) "/p/" (item.id) } { (body) } } @else { div.link { (body) } }
    }
}

fn picture(image: &Image) -> Markup {
    html! {
        @if image.url.is_allowed() {
            img src=(image.url) alt=(image.alt) width="160" height="160" loading="lazy" referrerpolicy="no-referrer";
        }
    }
}

/// Returns the price. Screen readers do not say that a text is struck out, so a hidden word does.
fn cost(price: &Price, sale: Option<&Price>, words: &Words) -> Markup {
    html! {
        span {
            @if let Some(sale) = sale {
                (amount(sale)) " " s { i { (words.was) " " } (amount(price)) }
            } @else {
                (amount(price))
            }
        }
    }
}

/// Returns an amount that keeps its order on pages from right to left.
fn amount(price: &Price) -> Markup {
    html! { bdi { (price.amount) " " (price.currency) } }
}

const fn note(availability: Availability, words: &Words) -> Option<&'static str> {
    match availability {
        Availability::InStock => None,
        Availability::OutOfStock => Some(words.sold_out),
        Availability::Preorder => Some(words.preorder),
        Availability::Backorder => Some(words.backorder),
    }
}
