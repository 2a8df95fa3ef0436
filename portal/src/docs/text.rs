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

/// Returns what HTML of maud's says, without markup and without code.
pub(super) fn plain(html: &str) -> String {
    let without_code = html.split("<pre").enumerate().map(|(at, part)| match part.split_once("</pre>") {
        Some((_, after)) if at > 0 => after,
        _ => part,
    });
    text_of(&without_code.collect::<Vec<_>>().join(" "))
}

/// Returns what HTML of maud's says, without markup.
pub(super) fn text_of(html: &str) -> String {
    let mut text = String::new();
    for part in html.split('<') {
        text.push(' ');
        text.push_str(part.split_once('>').map_or(part, |(_, after)| after));
    }
    unescaped(&text)
}

/// Returns a text of HTML as it is meant.
pub(super) fn unescaped(text: &str) -> String {
    text.replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", "\"").replace("&amp;", "&")
}
