//! Templates of the console's page. The script fills a copy of one with what a view has of an object.

use maud::{Markup, html};
use serde_json::Value;

use super::schema_form::ObjectForm;
use crate::openapi::{SERVER, biolink};

/// Members that the form of a page shows immediately.
const FIRST: [&str; 5] = ["title", "slug", "bio", "links", "socials"];
/// Sections of the members that it shows on demand. The rest follows.
const SECTIONS: [(&str, &[&str]); 5] = [
    ("Picture and cover", &["avatar", "cover"]),
    ("Look", &["theme"]),
    ("Products", &["products"]),
    ("Search engines, language and a question before", &["seo", "locale", "dir", "gate"]),
    ("Campaigns, short links and QR codes", &["utm", "codes"]),
];

/// Returns every template.
pub(super) fn all() -> Markup {
    let document = biolink::document(SERVER);
    html! {
        template #page-form { (page(&document)) }
        template #source-form { (source(&document)) }
    }
}

fn page(document: &Value) -> Markup {
    let form = ObjectForm::new(document, "Page", "PageInput");
    let is_placed =
        |name: &&str| FIRST.contains(name) || SECTIONS.iter().any(|(_, names)| names.contains(name));
    let rest: Vec<_> = form.names().into_iter().filter(|name| !is_placed(name)).collect();
    html! {
        div.fields {
            (form.fields(&FIRST))
            @for (summary, names) in SECTIONS { details { summary { (summary) } (form.fields(names)) } }
            details { summary { "Your own notes, which no visitor sees" } (form.fields(&rest)) }
            div.row.save {
                button name="status" value="draft" { "Save" }
                button name="status" value="published" { "Save and publish" }
            }
        }
        // It has no script and no way out.
        aside { iframe title="Preview of the page" sandbox="allow-same-origin" {} p.soft {} }
    }
}

fn source(document: &Value) -> Markup {
    let form = ObjectForm::new(document, "ProductSource", "ProductSourceInput");
    let rest: Vec<_> = form.names().into_iter().filter(|name| *name != "url").collect();
    html! {
        div.fields {
            (form.fields(&["url"]))
            details { summary { "Settings" } (form.fields(&rest)) }
            button { "Save" }
        }
    }
}
