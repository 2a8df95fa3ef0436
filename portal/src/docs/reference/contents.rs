//! The contents beside every page: all pages of the reference, and what is on this one.

use maud::{Markup, html};

use super::super::guides::Guide;
use super::Chapter;
use crate::docs_page::DocsPage;

/// Returns the search and the contents. Without the page's script, the search is not shown.
pub(super) fn contents(current: DocsPage, chapters: &[Chapter<'_>]) -> Markup {
    html! {
        div.side {
            div id="search" hidden {
                label for="query" { "Search the reference" }
                input type="search" id="query" autocomplete="off" placeholder="for example: rotate, /webhooks";
                output for="query" role="status" {}
                ul id="results" {}
            }
            // A checkbox rather than a `details`: it is open on wide screens whatever its state.
            label.menu { input type="checkbox" id="menu"; " Contents" }
            nav id="contents" aria-label="Contents" {
                @for group in chapters.chunk_by(|one, next| one.page.group() == next.page.group()) {
                    @if let Some(first) = group.first() { p { (first.page.group()) } }
                    ul { @for chapter in group { (entry(chapter, chapter.page == current)) } }
                }
            }
        }
    }
}

fn entry(chapter: &Chapter<'_>, is_current: bool) -> Markup {
    html! {
        li {
            a href=(chapter.page.path()) aria-current=[is_current.then_some("page")] { (chapter.page.title()) }
            @if is_current { (places(chapter)) }
        }
    }
}

/// Returns links to the places of the page itself.
fn places(chapter: &Chapter<'_>) -> Markup {
    html! {
        ul {
            @for guide in Guide::on(chapter.page) { li { a href=(format!("#{}", guide.id)) { (guide.title()) } } }
            @for operation in chapter.shown() {
                li { a href=(format!("#{}", operation.id)) { (super::title(operation)) small { (operation.method) " " (operation.path) } } }
            }
            @if chapter.page == DocsPage::Objects {
                @for object in &chapter.objects { li { a href=(format!("#{}", object.name)) { (object.name) } } }
            }
        }
    }
}
