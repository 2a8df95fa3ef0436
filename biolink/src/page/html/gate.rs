//! The question that a visitor confirms first. The confirmation is in the address, so nothing is
//! stored with the visitor and no script is needed.

use maud::html;
use shared::response::Response;

use super::{
    layout::{Head, respond},
    words::Words,
};
use crate::page::{PageDocument, decoded_parameters, document::Gate};

/// Returns the page that asks a visitor to confirm, by a form that leads to `action`. It shows
/// nothing of the page but its title, and search engines leave it out. What the address had comes along:
/// how the page was reached, and from which campaign.
pub fn confirm(document: &PageDocument, gate: Gate, action: &str, query: Option<&str>) -> Response {
    let words = Words::of(&document.locale);
    let (question, button) = match gate {
        Gate::Age { min } => {
            let min = min.to_string();
            (words.age_question.replace("{}", &min), words.age_button.replace("{}", &min))
        }
        Gate::Sensitive => (words.sensitive_question.to_owned(), words.sensitive_button.to_owned()),
    };
    let foreign = words.foreign(&document.locale);
    let content = html! {
        main {
            header { h1 { (document.title) } p lang=[foreign] { (question) } }
            form action=(action) {
                // A form with GET replaces the query of its address, so the parameters are its fields.
                @for (name, value) in decoded_parameters(query).filter(is_writable) {
                    input type="hidden" name=(name) value=(value);
                }
                input type="hidden" name="confirmed" value="yes";
                button.link.top lang=[foreign] { (button) }
            }
        }
    };
    let more = html! { meta name="rating" content="adult"; };
    let head =
        Head { title: &document.title, noindex: true, icon: None, images: Vec::new(), ..Head::of(document) };
    respond(&head.with(more), &content)
}

/// Returns true if HTML can hold a parameter: it has no way to write `%00` (the HTML standard, section 13.1.4).
fn is_writable((name, value): &(String, String)) -> bool {
    !name.chars().chain(value.chars()).any(char::is_control)
}
