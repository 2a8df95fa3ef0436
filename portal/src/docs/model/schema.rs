//! Schemas as tables of fields.

use serde_json::Value;

use super::{reference, text};

/// A pattern longer than this says less than the sentence beside it.
const MAX_PATTERN: usize = 36;

/// A schema component: an object with its fields, or a choice between components.
pub(in super::super) struct Object<'a> {
    pub(in super::super) name: &'a str,
    pub(in super::super) about: &'a str,
    pub(in super::super) fields: Vec<Field<'a>>,
    /// The components of a choice.
    pub(in super::super) choices: Vec<&'a str>,
}

/// A field of an object. Those of objects inside it are listed with it, as `limits.minute`.
pub(in super::super) struct Field<'a> {
    pub(in super::super) name: String,
    pub(in super::super) required: bool,
    pub(in super::super) kind: String,
    pub(in super::super) about: &'a str,
    /// The component that describes its value.
    pub(in super::super) component: Option<&'a str>,
}

impl<'a> Object<'a> {
    /// Reads a component.
    pub(super) fn read(name: &'a str, schema: &'a Value) -> Self {
        let mut fields = Vec::new();
        // A component that is a list has the fields of its items.
        let items = schema.get("items").unwrap_or(schema);
        add_fields(&mut fields, "", items);
        let choices = schema.get("oneOf").and_then(Value::as_array).into_iter().flatten();
        Self {
            name,
            about: text(schema, "description"),
            fields,
            choices: choices.filter_map(reference).collect(),
        }
    }

    /// Returns the components that this one refers to.
    pub(in super::super) fn components(&self) -> impl Iterator<Item = &'a str> {
        self.fields.iter().filter_map(|field| field.component).chain(self.choices.iter().copied())
    }
}

fn add_fields<'a>(fields: &mut Vec<Field<'a>>, prefix: &str, schema: &'a Value) {
    let required: Vec<_> = list(schema, "required").filter_map(Value::as_str).collect();
    let properties = schema.get("properties").and_then(Value::as_object);
    for (name, property) in properties.into_iter().flatten() {
        let name_here = format!("{prefix}{name}");
        let value = innermost(property);
        fields.push(Field {
            required: required.contains(&name.as_str()),
            kind: kind_of(property),
            about: about(property),
            component: reference(value),
            name: name_here.clone(),
        });
        let is_list = property.get("items").is_some();
        add_fields(fields, &format!("{name_here}{}", if is_list { "[]." } else { "." }), value);
    }
}

/// Returns the schema of the items of a list, or of the values of a map; else the schema itself.
fn innermost(schema: &Value) -> &Value {
    let values = schema.get("additionalProperties").filter(|values| values.is_object());
    match schema.get("items").or(values) {
        Some(inner) => innermost(inner),
        None => schema,
    }
}

/// Returns the description of a schema, else that of its items.
fn about(schema: &Value) -> &str {
    match text(schema, "description") {
        "" => text(innermost(schema), "description"),
        about => about,
    }
}

/// Returns the type of a schema with its limits, as a text.
pub(in super::super) fn kind_of(schema: &Value) -> String {
    let mut kind = type_of(schema);
    let limits = [
        range(schema, "minLength", "maxLength", "characters"),
        range(schema, "minimum", "maximum", ""),
        range(schema, "minItems", "maxItems", "items"),
        range(schema, "minProperties", "maxProperties", "members"),
    ];
    for limit in limits.into_iter().flatten() {
        kind.push_str(", ");
        kind.push_str(&limit);
    }
    if let Some(pattern) =
        schema.get("pattern").and_then(Value::as_str).filter(|text| text.len() <= MAX_PATTERN)
    {
        kind.push_str(&format!(", `{pattern}`"));
    }
    if schema.get("uniqueItems").and_then(Value::as_bool) == Some(true) {
        kind.push_str(", each once");
    }
    if schema.get("nullable").and_then(Value::as_bool) == Some(true) {
        kind.push_str(", or null");
    }
    if let Some(default) = schema.get("default") {
        let default = default.as_str().map_or_else(|| default.to_string(), str::to_owned);
        kind.push_str(&format!(", `{default}` if left out"));
    }
    kind
}

fn type_of(schema: &Value) -> String {
    if let Some(component) = reference(schema) {
        return component.to_owned();
    }
    let values: Vec<_> =
        list(schema, "enum").filter_map(Value::as_str).map(|value| format!("`{value}`")).collect();
    if let [others @ .., last] = values.as_slice() {
        return if others.is_empty() { last.clone() } else { format!("{} or {last}", others.join(", ")) };
    }
    let choices: Vec<_> = list(schema, "anyOf").chain(list(schema, "oneOf")).map(kind_of).collect();
    if !choices.is_empty() {
        return choices.join(" or ");
    }
    match (text(schema, "type"), text(schema, "format"), schema.get("additionalProperties")) {
        ("array", _, _) => format!("array of {}", schema.get("items").map(kind_of).unwrap_or_default()),
        ("object", _, Some(values)) if values.is_object() => format!("map of {}", kind_of(values)),
        (kind, "", _) | (kind @ "integer", _, _) => kind.to_owned(),
        (kind, format, _) => format!("{kind} ({format})"),
    }
}

fn range(schema: &Value, min: &str, max: &str, unit: &str) -> Option<String> {
    let unit = if unit.is_empty() { String::new() } else { format!(" {unit}") };
    match (schema.get(min), schema.get(max)) {
        (Some(min), Some(max)) if min == max => Some(format!("{min}{unit}")),
        (Some(min), Some(max)) => Some(format!("{min} to {max}{unit}")),
        (Some(min), None) => Some(format!("at least {min}{unit}")),
        (None, Some(max)) => Some(format!("at most {max}{unit}")),
        (None, None) => None,
    }
}

fn list<'a>(schema: &'a Value, name: &str) -> impl Iterator<Item = &'a Value> + use<'a> {
    schema.get(name).and_then(Value::as_array).into_iter().flatten()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn kind_names_type_limits_and_default() {
        for (schema, kind) in [
            (json!({ "type": "string", "minLength": 1, "maxLength": 100 }), "string, 1 to 100 characters"),
            (
                json!({ "type": "integer", "minimum": 1, "maximum": 100, "default": 25 }),
                "integer, 1 to 100, `25` if left out",
            ),
            (
                json!({ "type": "string", "format": "date-time", "nullable": true }),
                "string (date-time), or null",
            ),
            (json!({ "type": "string", "enum": ["a", "b", null] }), "`a` or `b`"),
            (
                json!({ "type": "array", "maxItems": 2, "items": { "$ref": "#/components/schemas/Link" } }),
                "array of Link, at most 2 items",
            ),
            (json!({ "type": "string", "pattern": "^[a-z]$" }), "string, `^[a-z]$`"),
            (json!({ "type": "object", "additionalProperties": { "type": "integer" } }), "map of integer"),
        ] {
            assert_eq!(kind_of(&schema), kind);
        }
    }

    #[test]
    fn fields_of_inner_objects_are_listed_with_their_path() {
        let inner =
            json!({ "type": "object", "required": ["b"], "properties": { "b": { "type": "string" } } });
        let schema = json!({ "type": "object", "properties": { "a": inner, "c": { "type": "array", "items": inner } } });
        let object = Object::read("Outer", &schema);
        let names: Vec<_> = object.fields.iter().map(|field| (field.name.as_str(), field.required)).collect();
        assert_eq!(names, [("a", false), ("a.b", true), ("c", false), ("c[].b", true)]);
    }
}
