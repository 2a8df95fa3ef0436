//! Texts of the tables as markup.

use maud::{Markup, html};

/// Returns a text whose parts between backquotes are code.
pub(super) fn inline(text: &str) -> Markup {
    html! {
        @for (at, part) in text.split('`').enumerate() {
            @if at % 2 == 1 { code { (part) } } @else { (part) }
        }
    }
}
