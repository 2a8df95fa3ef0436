//! What schemas are made of.

use biolink::page::{MAX_METADATA, MAX_TAGS, WebUrl};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use self::Presence::{Defaulted, Nullable, Optional, Required};
use crate::openapi::reference;

/// What a schema is of.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Use {
    /// A whole value in a request: what is left out, or null, gets its default.
    Input,
    /// A merge patch.
    Patch,
    /// A response: every member is there.
    Output,
}

/// One member of an object.
pub(super) struct Member {
    pub(super) name: &'static str,
    pub(super) presence: Presence,
    pub(super) schema: Value,
}

/// Whether a member is there.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Presence {
    /// In every value.
    Required,
    /// In every response. What a request leaves out gets a value.
    Defaulted,
    /// In every response, perhaps as null.
    Nullable,
    /// Left out where there is none.
    Optional,
}

pub(super) const fn member(name: &'static str, presence: Presence, schema: Value) -> Member {
    Member { name, presence, schema }
}

/// Returns an object with these members, as `of` has them.
pub(super) fn object(of: Use, members: Vec<Member>) -> Value {
    let is_required = |member: &&Member| match of {
        Use::Input => member.presence == Required,
        Use::Patch => false,
        Use::Output => member.presence != Optional,
    };
    let required: Vec<_> = members.iter().filter(is_required).map(|member| member.name).collect();
    let properties: Map<_, _> = members
        .into_iter()
        .map(|Member { name, presence, schema }| {
            let is_nullable = match of {
                Use::Input => presence != Required,
                Use::Patch => true,
                Use::Output => presence == Nullable,
            };
            (name.to_owned(), if is_nullable { nullable(schema) } else { schema })
        })
        .collect();
    let mut schema = json!({ "type": "object", "properties": properties });
    if let Some(members) = schema.as_object_mut() {
        if !required.is_empty() {
            members.insert("required".to_owned(), required.into());
        }
        if of != Use::Output {
            members.insert("additionalProperties".to_owned(), false.into());
        }
    }
    schema
}

/// Returns the schema for null too. In OpenAPI 3.0 an enum must name it.
pub(super) fn nullable(mut schema: Value) -> Value {
    if let Some(members) = schema.as_object_mut() {
        members.insert("nullable".to_owned(), true.into());
        if let Some(names) = members.get_mut("enum").and_then(Value::as_array_mut) {
            names.push(Value::Null);
        }
    }
    schema
}

pub(super) fn id(prefix: &str) -> Member {
    let about = "The name of the entry. An edit that repeats it keeps the entry.";
    member(
        "id",
        Defaulted,
        json!({ "type": "string", "pattern": format!("^{prefix}_[0-9A-Za-z]{{17}}$"), "description": about }),
    )
}

pub(super) fn constant(name: &'static str, value: &str) -> Member {
    member(name, Required, json!({ "type": "string", "enum": [value] }))
}

pub(super) fn text(min: usize, max: usize) -> Value {
    match min {
        0 => json!({ "type": "string", "maxLength": max }),
        _ => json!({ "type": "string", "minLength": min, "maxLength": max }),
    }
}

/// Returns a text without control characters, such as line breaks.
pub(super) fn line(min: usize, max: usize) -> Value {
    let mut schema = text(min, max);
    if let Some(members) = schema.as_object_mut() {
        members.insert("pattern".to_owned(), r"^[^\u0000-\u001F\u007F-\u009F]*$".into());
    }
    schema
}

pub(super) fn url() -> Value {
    json!({ "type": "string", "format": "uri", "maxLength": WebUrl::MAX_LEN })
}

pub(super) fn time() -> Value {
    json!({ "type": "string", "format": "date-time" })
}

pub(super) fn boolean(about: &str) -> Value {
    json!({ "type": "boolean", "description": about })
}

pub(super) fn tags() -> Value {
    json!({ "type": "array", "maxItems": MAX_TAGS, "items": text(1, 60) })
}

pub(super) fn metadata() -> Value {
    json!({ "type": "object", "maxProperties": MAX_METADATA, "additionalProperties": text(0, 500), "description": "Your own notes. Names have 1 to 40 characters." })
}

pub(super) fn list(items: &str) -> Value {
    json!({ "type": "array", "items": reference("schemas", items) })
}

pub(super) fn limited(mut list: Value, max: usize) -> Value {
    if let Some(members) = list.as_object_mut() {
        members.insert("maxItems".to_owned(), max.into());
    }
    list
}

pub(super) fn described(mut schema: Value, about: &str) -> Value {
    if let Some(members) = schema.as_object_mut() {
        members.insert("description".to_owned(), about.into());
    }
    schema
}

pub(super) fn names_of<'a>(names: impl IntoIterator<Item = &'a str>) -> Value {
    json!({ "type": "string", "enum": names.into_iter().collect::<Vec<_>>() })
}

/// Returns the names of an enum without data, which its `Deserialize` lists when it is given none
/// of them: "unknown variant ``, expected one of `auto`, `ltr`, `rtl`".
pub(super) fn names<T: DeserializeOwned>() -> Value {
    let error = serde_json::from_value::<T>("".into()).err().map(|error| error.to_string());
    names_of(error.unwrap_or_default().split('`').skip(3).step_by(2))
}
