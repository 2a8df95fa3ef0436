//! The products of a page.

use maud::{Markup, html};

use super::{
    PageView,
    links::{bound, shown_address},
    money,
    words::Words,
};
use crate::page::{
    PartId,
    document::{Availability, Image, Layout, Locale, Price, Product},
};

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
        div {
            (bound(&item.title))
            @if let Some(description) = &item.description { " " span.about { (bound(description)) } }
            @if let Some(price) = &item.price { " " (cost(price, item, view, words)) }
            @if let Some(note) = note(item.availability, words) { " " span { (note) } }
        }
    };
    let is_out = item.availability == Availability::OutOfStock;
    html! {
        @if item.url.is_allowed() { a.link.out[is_out] rel="nofollow" data-to=(shown_address(item.url.as_str())) href={ (view.path) "/p/" (item.id.shortest_in_path(view.document.product_ids())) } { (body) } } @else { div.link.out[is_out] { (body) } }
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
fn cost(price: &Price, item: &Product, view: &PageView<'_>, words: &Words) -> Markup {
    let locale = &view.document.locale;
    let sale = item.sale(view.now);
    let (before, after) = match words.from.split_once("{}") {
        Some(around) if item.price_varies => around,
        _ => ("", ""),
    };
    html! {
        span.cost {
            @if let Some(sale) = sale { b { (before) (amount(sale, locale)) (after) } } @else {
                (before) (amount(price, locale)) (after)
            }
            @if sale.is_some() { " " s { i { (words.was) " " } (amount(price, locale)) } }
        }
    }
}

/// Returns an amount that keeps its order on pages from right to left.
fn amount(price: &Price, locale: &Locale) -> Markup {
    html! { bdi { (money::shown(price, locale)) } }
}

const fn note(availability: Availability, words: &Words) -> Option<&'static str> {
    match availability {
        Availability::InStock => None,
        Availability::OutOfStock => Some(words.sold_out),
        Availability::Preorder => Some(words.preorder),
        Availability::Backorder => Some(words.backorder),
    }
}
