//! Fields that are made of the schemas of an OpenAPI description, when the console's page is rendered.
//! So a form has every field of its schema. Their names are paths in the JSON of the request, which the
//! script `forms.js` makes of them and fills them from.
//!
//! Why: docs/decisions/portal.md, "A form is a template that is made of the schema".

use maud::{Markup, html};
use serde_json::Value;

use super::parts::{flag, list, text};

/// Members that buttons set.
const BY_BUTTONS: &[&str] = &["status"];
/// Maximum number of members of an item that shows all of them.
const FEW: usize = 6;
/// The members that an item with more of them shows first.
const FIRST: &[&str] = &["type", "title", "url", "price"];
/// Members in the order in which people fill them in. Others follow by name.
const ORDER: &[&str] = &[
    "type",
    "platform",
    "via",
    "kind",
    "min",
    "title",
    "url",
    "alt",
    "preset",
    "mode",
    "layout",
    "description",
    "label",
    "enabled",
    "highlight",
    "direct",
    "icon",
    "image",
    "amount",
    "currency",
    "price",
    "sale_price",
    "visible_from",
    "visible_until",
    "fallback",
    "source",
    "medium",
    "campaign",
    "bg",
    "fg",
    "card",
    "accent",
    "end",
];
/// Labels of members, by path or by name alone. Others are called by their name.
const LABELS: &[(&str, &str)] = &[
    ("push.enabled", "The shop may push changes"),
    ("push.secret", "Secret of the shop, if it has one"),
    ("products.items", "Products of your own"),
    ("alt", "Text in place of the picture"),
    ("bg", "Background"),
    ("cover", "Cover, three times as wide as high"),
    ("codes", "Short links and QR codes"),
    ("countries", "Countries, such as DE, AT"),
    ("currency", "Currency, such as EUR"),
    ("dark", "Colors in dark mode, such as #1d4ed8"),
    ("dir", "Direction of the text"),
    ("direct", "Without a count of clicks"),
    ("enabled", "Shown"),
    ("end", "End of the gradient"),
    ("external_id", "Your own id"),
    ("fallback", "Destination after the end"),
    ("fg", "Text"),
    ("filter", "Only products with"),
    ("gate", "Question before"),
    ("highlight", "Stands out"),
    ("icon", "Icon of a site"),
    ("image", "Picture"),
    ("kind", "Question"),
    ("languages", "Languages, such as de, fr"),
    ("light", "Colors in light mode, such as #1d4ed8"),
    ("link", "Id of a link, if not the page"),
    ("locale", "Language, such as en-GB"),
    ("max_items", "Most products"),
    ("metadata", "Notes by name"),
    ("min", "Age"),
    ("noindex", "Hide from search engines"),
    ("number_format", "How prices are written: dot is 1,299.00, comma is 1.299,00"),
    ("preset", "Look"),
    ("price_varies", "Variants have other prices"),
    ("rel", "Relations"),
    ("seo", "Search engines and previews"),
    ("slug", "Name in the address"),
    ("socials", "Profiles elsewhere"),
    ("store_url", "Address of the shop"),
    ("targets", "Other destinations"),
    ("url", "Address"),
    ("utm", "Campaign parameters"),
    ("via", "Name of the code"),
];
/// Names of the items of lists, after "Add a".
const ITEMS: &[(&str, &str)] = &[
    ("links", "link"),
    ("socials", "profile"),
    ("products.items", "product"),
    ("targets", "destination"),
    ("codes", "code"),
];

/// A kind of object that a form edits: its schema in responses, and the one in requests. A member that
/// both have is a field.
#[derive(Clone, Copy)]
pub(super) struct ObjectForm<'a> {
    document: &'a Value,
    shown: &'a Value,
    written: &'a Value,
    /// Whether the object may be left out, and so each choice in it.
    is_optional: bool,
}

impl<'a> ObjectForm<'a> {
    /// Returns the form of two schemas of a description.
    pub(super) fn new(document: &'a Value, shown: &str, written: &str) -> Self {
        let schema = |name: &str| document.pointer(&format!("/components/schemas/{name}"));
        let [shown, written] = [shown, written].map(|name| schema(name).unwrap_or(&Value::Null));
        Self { document, shown, written, is_optional: false }
    }

    /// Returns the names of the members that are fields.
    pub(super) fn names(self) -> Vec<&'a str> {
        let members = self.shown.pointer("/properties").and_then(Value::as_object).into_iter().flatten();
        let named = members.map(|(name, _)| name.as_str()).filter(|name| self.member(name).is_some());
        let mut names: Vec<_> = named.filter(|name| !BY_BUTTONS.contains(name)).collect();
        // The sort is stable.
        names.sort_by_key(|name| ORDER.iter().position(|other| other == name).unwrap_or(ORDER.len()));
        names
    }

    /// Returns the fields of members.
    pub(super) fn fields(self, names: &[&str]) -> Markup {
        self.fields_below("", names)
    }

    /// Returns a member; `None` if it is no field: it is only read, or an object with any members that are
    /// not texts.
    fn member(self, name: &str) -> Option<Self> {
        let member = |schema: &'a Value| {
            let member = schema.pointer(&format!("/properties/{name}"))?;
            Some(self.resolved(member))
        };
        // What is shown and cannot be written, or the other way around, has no field: saving would
        // drop it.
        let (shown, written) = (member(self.shown)?, member(self.written)?);
        let is_read_only = text(written, "/description").starts_with("Read-only");
        // An object of any members has no fields, but one of texts is a list of names and texts.
        let is_field = !is_open(shown) || text(shown, "/additionalProperties/type") == "string";
        (!is_read_only && is_field).then_some(Self { shown, written, ..self })
    }

    /// Returns the items of an array.
    fn items(self) -> Option<Self> {
        let items = |schema: &'a Value| schema.get("items").map(|items| self.resolved(items));
        let (shown, written) = (items(self.shown)?, items(self.written)?);
        Some(Self { shown, written, is_optional: false, ..self })
    }

    fn resolved(self, schema: &'a Value) -> &'a Value {
        let target = text(schema, "/$ref").strip_prefix('#');
        target.and_then(|target| self.document.pointer(target)).unwrap_or(schema)
    }

    fn fields_below(self, path: &str, names: &[&str]) -> Markup {
        html! {
            @for name in names {
                @if let Some(member) = self.member(name) { (member.field(&format!("{path}{name}"))) }
            }
        }
    }

    fn field(self, path: &str) -> Markup {
        match (text(self.shown, "/type"), self.items()) {
            ("object", _) if is_open(self.shown) => entries(path),
            ("object", _) => self.object(path),
            ("array", Some(items)) if items.shown.get("properties").is_some() => items.list(path),
            ("array", Some(items)) if items.shown.get("enum").is_some() => items.group(path),
            ("array", _) => {
                html! { label { (label(path)) ", with commas between" input name=(path) data-words; } }
            }
            ("boolean", _) => {
                // A new link is shown, and no shop may push.
                let checked = matches!(path, "enabled" | "products.enabled");
                html! { label { input type="checkbox" name=(path) data-json checked[checked]; " " (label(path)) } }
            }
            _ => self.single(path),
        }
    }

    fn object(self, path: &str) -> Markup {
        let members = Self { is_optional: flag(self.shown, "/nullable"), ..self };
        let is_image = path.ends_with("image") || matches!(path, "avatar" | "cover");
        html! {
            fieldset name=(path) {
                legend { (label(path)) }
                (members.fields_below(&format!("{path}."), &self.names()))
                @if is_image { label { "Upload a picture" input type="file" accept="image/*"; } }
            }
        }
    }

    /// Returns a list of such objects.
    fn list(self, path: &str) -> Markup {
        let what = ITEMS.iter().find(|(list, _)| *list == path).map_or("item", |(_, what)| *what);
        html! {
            fieldset {
                legend { (label(path)) }
                ol.items data-list=(path) {}
                template { (self.item()) }
                button type="button" data-do="add" { "Add a " (what) }
            }
        }
    }

    fn item(self) -> Markup {
        let names = self.names();
        let is_first = |name: &&str| names.len() <= FEW || FIRST.contains(name);
        let (first, more): (Vec<_>, Vec<_>) = names.iter().copied().partition(is_first);
        html! {
            li data-item {
                div.row { (self.fields(&first)) }
                @if !more.is_empty() { details { summary { "More" } div.row { (self.fields(&more)) } } }
                div.row {
                    span.handle data-drag aria-hidden="true" { "⠿" }
                    button type="button" data-do="up" { "Move up" }
                    button type="button" data-do="down" { "Move down" }
                    button type="button" data-do="remove" { "Remove" }
                }
            }
        }
    }

    /// Returns any of a few values.
    fn group(self, path: &str) -> Markup {
        html! {
            fieldset {
                legend { (label(path)) }
                @for name in self.options() {
                    label { input type="checkbox" name=(path) value=(name); " " (words(name)) }
                }
            }
        }
    }

    /// Returns a field with one value.
    fn single(self, path: &str) -> Markup {
        let is_nullable = flag(self.shown, "/nullable");
        let number = |name: &str| self.shown.get(name).and_then(Value::as_u64);
        let (kind, step) = match (text(self.shown, "/type"), text(self.shown, "/format")) {
            ("integer", _) => ("number", None),
            (_, "date-time") => ("datetime-local", Some("any")),
            _ if path.ends_with("secret") => ("password", None),
            _ => ("text", None),
        };
        html! {
            label {
                (label(path)) @if step.is_some() { " (UTC)" }
                @if self.options().next().is_some() {
                    select name=(path) data-nullable[is_nullable] {
                        @if is_nullable || self.is_optional { option value="" { "–" } }
                        @for name in self.options() { option value=(name) { (words(name)) } }
                    }
                } @else if number("maxLength").is_some_and(|length| (300..=500).contains(&length)) {
                    // A text may have several lines.
                    textarea name=(path) rows="2" data-nullable[is_nullable] {}
                } @else {
                    input name=(path) type=(kind) step=[step] min=[number("minimum")] max=[number("maximum")]
                        value=[number("default")] readonly[path == "id"] autocomplete="off" data-nullable[is_nullable];
                }
            }
        }
    }

    fn options(self) -> impl Iterator<Item = &'a str> {
        list(self.shown, "/enum").iter().filter_map(Value::as_str)
    }
}

/// Returns true for an object with any members.
fn is_open(schema: &Value) -> bool {
    text(schema, "/type") == "object" && schema.get("properties").is_none()
}

/// Returns the list of an object's members, which are texts.
fn entries(path: &str) -> Markup {
    html! {
        fieldset {
            legend { (label(path)) }
            ol.items data-list=(path) data-entries {}
            template {
                li data-item {
                    div.row {
                        label { "Name" input name="name" autocomplete="off"; }
                        label { "Text" input name="value" autocomplete="off"; }
                        button type="button" data-do="remove" { "Remove" }
                    }
                }
            }
            button type="button" data-do="add" { "Add a note" }
        }
    }
}

fn label(path: &str) -> String {
    let name = path.rsplit('.').next().unwrap_or(path);
    let known = |wanted: &str| LABELS.iter().find(|(name, _)| *name == wanted).map(|(_, label)| *label);
    known(path).or_else(|| known(name)).map_or_else(|| capitalized(&words(name)), str::to_owned)
}

fn words(name: &str) -> String {
    name.replace('_', " ")
}

fn capitalized(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::openapi::{SERVER, biolink};

    /// Checks that what a form has are the members of a schema of requests that are not only read.
    fn assert_complete(form: ObjectForm<'_>, at: &str) {
        let written = form.written["properties"].as_object().unwrap();
        for (name, schema) in written {
            let schema = form.resolved(schema);
            let is_read_only = schema["description"].as_str().unwrap_or_default().starts_with("Read-only");
            let has_field = form.names().contains(&name.as_str());
            assert_eq!(has_field, !is_read_only && name != "status", "{at}.{name}");
            if let Some(member) = form.member(name) {
                let part = member.items().unwrap_or(member);
                if part.written.get("properties").is_some() {
                    assert_complete(part, &format!("{at}.{name}"));
                }
            }
        }
    }

    #[test]
    fn form_has_every_field_of_its_schema() {
        let document = biolink::document(SERVER);
        for (shown, written) in [("Page", "PageInput"), ("ProductSource", "ProductSourceInput")] {
            let form = ObjectForm::new(&document, shown, written);
            assert!(form.names().len() > 5, "{shown}");
            assert_complete(form, shown);
        }
    }

    #[test]
    fn field_has_the_type_of_its_schema() {
        let document = biolink::document(SERVER);
        let page = ObjectForm::new(&document, "Page", "PageInput");
        let html = page.fields(&["bio", "tags", "dir", "avatar", "links", "gate", "metadata"]).into_string();
        for part in [
            r#"<textarea name="bio" rows="2"></textarea>"#,
            r#"<input name="tags" data-words>"#,
            r#"<select name="dir"><option value="auto">"#,
            r#"<fieldset name="avatar"><legend>Avatar</legend>"#,
            r#"<input type="file" accept="image/*">"#,
            r#"<ol class="items" data-list="links"></ol><template><li data-item>"#,
            r#"<input type="checkbox" name="enabled" data-json checked> Shown"#,
            r#"<input type="checkbox" name="rel" value="nofollow"> nofollow"#,
            r#"<input name="visible_from" type="datetime-local" step="any" autocomplete="off" data-nullable>"#,
            r#"<input name="gate.min" type="number" min="13" max="25" autocomplete="off">"#,
            r#"<select name="gate.kind"><option value="">–</option><option value="age">"#,
            r#"<ol class="items" data-list="metadata" data-entries></ol><template><li data-item>"#,
        ] {
            assert!(html.contains(part), "{part}: {html}");
        }
        assert!(html.find(r#"name="type""#) < html.find(r#"name="title""#), "the type comes first: {html}");
    }

    #[test]
    fn member_is_called_by_its_path_its_name_or_its_words() {
        assert_eq!(label("push.enabled"), "The shop may push changes");
        assert_eq!(label("products.enabled"), "Shown");
        assert_eq!(label("sale_price.amount"), "Amount");
        assert_eq!(label("min_price"), "Min price");
    }
}
