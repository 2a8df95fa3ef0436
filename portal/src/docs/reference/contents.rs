//! The contents beside every page: all guides and operations of the reference.

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
            }
            // A checkbox rather than a `details`: it is open on wide screens whatever its state.
            label.menu { input type="checkbox" id="menu"; " Contents" }
            nav id="contents" aria-label="Contents" {
                @for chapter in chapters { (group(chapter, chapter.page == current)) }
            }
        }
    }
}

fn group(chapter: &Chapter<'_>, is_current: bool) -> Markup {
    let path = if is_current { "" } else { chapter.page.path() };
    html! {
        details open[is_current] {
            summary { (chapter.page.title()) }
            ul {
                @for guide in Guide::on(chapter.page) {
                    li { a href=(format!("{path}#{}", guide.id)) { (guide.title) } }
                }
                @if chapter.page == DocsPage::Objects {
                    @for object in &chapter.objects { li { a href=(format!("{path}#{}", object.name)) { (object.name) } } }
                }
                @for operation in &chapter.operations {
                    @if !super::is_listed_by_tool(operation) {
                        li { a href=(format!("{path}#{}", operation.id)) { (super::title(operation)) small { (operation.method) " " (operation.path) } } }
                    }
                }
            }
        }
    }
}
