//! Schemas of the OpenAPI descriptions (3.0) as JSON Schema 2020-12, in few bytes: a client reads all
//! of them at the beginning of each session.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value, json};

use super::outline::is_ignored;

const REFERENCE: &str = "#/components/schemas/";
const DEFINITION: &str = "#/$defs/";
/// Bytes of a reference to a definition beside the name.
const REFERENCE_BYTES: usize = r##"{"$ref":"#/$defs/"}"##.len();
/// Bytes of a definition beside its name and its schema.
const DEFINITION_BYTES: usize = r#""":,"#.len();

/// Returns a schema in JSON Schema 2020-12, with the definitions that it refers to.
pub(super) fn standard(document: &Value, schema: &Value) -> Value {
    let definitions = definitions(document, schema);
    let mut schema = converted(schema);
    if let Some(members) = schema.as_object_mut().filter(|_| !definitions.is_empty()) {
        members.insert("$defs".to_owned(), Value::Object(definitions));
    }
    said_once(schema)
}

/// Returns a schema of the same meaning for JSON Schema 2020-12, without what an agent has no use
/// for: examples, patterns, bounds of lengths, and members that are ignored. The API checks
/// those, and names each error.
fn converted(schema: &Value) -> Value {
    let members = match schema {
        Value::Object(members) => members,
        Value::Array(items) => return items.iter().map(converted).collect(),
        plain => return plain.clone(),
    };
    let mut kept = Map::new();
    for (name, value) in members {
        match name.as_str() {
            "example" | "nullable" | "discriminator" | "pattern" | "minLength" | "maxLength" | "minItems"
            | "maxItems" | "maxProperties" => {}
            "format" if matches!(value.as_str(), Some("uri" | "int32" | "int64")) => {}
            "additionalProperties" if value == &Value::Bool(false) => {}
            "required" if value.as_array().is_some_and(Vec::is_empty) => {}
            // Values and not schemas: a member such as `pattern` in them must stay.
            "enum" | "required" | "default" | "const" => {
                kept.insert(name.clone(), value.clone());
            }
            "properties" => {
                let properties = value.as_object().into_iter().flatten();
                let properties = properties.filter(|(_, property)| !is_ignored(property));
                let properties: Map<_, _> =
                    properties.map(|(name, property)| (name.clone(), converted(property))).collect();
                kept.insert(name.clone(), properties.into());
            }
            "$ref" => {
                let to = value.as_str().unwrap_or_default().replace(REFERENCE, DEFINITION);
                kept.insert(name.clone(), to.into());
            }
            _ => {
                kept.insert(name.clone(), converted(value));
            }
        }
    }
    match members.get("nullable") {
        Some(Value::Bool(true)) => nullable(kept),
        _ => kept.into(),
    }
}

/// Returns a schema that takes null too.
fn nullable(mut members: Map<String, Value>) -> Value {
    match members.get("type").cloned() {
        Some(Value::String(kind)) => {
            members.insert("type".to_owned(), json!([kind, "null"]));
            // In 2020-12, `enum` must hold null itself, where 3.0 lets `nullable` add it.
            if let Some(Value::Array(values)) = members.get_mut("enum")
                && !values.contains(&Value::Null)
            {
                values.push(Value::Null);
            }
            members.into()
        }
        _ => json!({ "anyOf": [members, { "type": "null" }] }),
    }
}

/// Returns the converted definitions that a schema refers to, those that they refer to, and so on.
fn definitions(document: &Value, schema: &Value) -> Map<String, Value> {
    let mut found = Map::new();
    let mut open = references(schema);
    while let Some(name) = open.pop_first() {
        let definition =
            document.pointer(&format!("/components/schemas/{name}")).cloned().unwrap_or_default();
        open.extend(
            // A schema that refers to itself must not be opened again.
            references(&definition).into_iter().filter(|other| !found.contains_key(other) && *other != name),
        );
        found.insert(name, converted(&definition));
    }
    found
}

fn references(schema: &Value) -> BTreeSet<String> {
    match schema {
        Value::Object(members) => {
            let own = members.get("$ref").and_then(Value::as_str).and_then(|to| to.strip_prefix(REFERENCE));
            members.values().flat_map(references).chain(own.map(str::to_owned)).collect()
        }
        Value::Array(items) => items.iter().flat_map(references).collect(),
        _ => BTreeSet::new(),
    }
}

/// Returns a schema in which what stands in several places is a definition, as far as that is
/// shorter.
fn said_once(mut schema: Value) -> Value {
    while let Some((repeated, name)) = most_repeated(&schema) {
        let reference = json!({ "$ref": format!("{DEFINITION}{name}") });
        replace(&mut schema, &repeated, &reference);
        let Some(members) = schema.as_object_mut() else { return schema };
        let definitions = members.entry("$defs").or_insert_with(|| json!({}));
        if let Some(definitions) = definitions.as_object_mut() {
            definitions.insert(name, repeated);
        }
    }
    schema
}

/// Returns the schema whose repetition takes the most bytes, with a name for it.
fn most_repeated(schema: &Value) -> Option<(Value, String)> {
    let mut places = BTreeMap::new();
    count(schema, "", &mut places);
    let taken = |name: &str| schema.pointer(&format!("/$defs/{name}")).is_some();
    let candidates = places.into_iter().filter_map(|(text, (times, name))| {
        // Two members of one name may have different schemas.
        let name = if taken(&name) { format!("{name}_") } else { name };
        let shared = times * (REFERENCE_BYTES + name.len()) + DEFINITION_BYTES + name.len() + text.len();
        // A reference is text too: short schemas get longer by it. Each turn saves bytes, so the
        // loop ends.
        let saved = (times * text.len()).checked_sub(shared).filter(|saved| *saved > 0)?;
        Some((saved, text, name))
    });
    let (_, text, name) = candidates.max()?;
    Some((serde_json::from_str(&text).ok()?, name))
}

/// Counts the schemas in a schema by their text, with the shortest name of a member that has it.
fn count(value: &Value, name: &str, places: &mut BTreeMap<String, (usize, String)>) {
    match value {
        Value::Object(members) => {
            // The root has no name, and a map of properties may look like a schema.
            if !name.is_empty() && matches!(members.get("type"), Some(Value::String(_) | Value::Array(_))) {
                let place = places.entry(value.to_string()).or_insert_with(|| (0, name.to_owned()));
                place.0 += 1;
                if name.len() < place.1.len() {
                    name.clone_into(&mut place.1);
                }
            }
            members.iter().for_each(|(name, value)| count(value, name, places));
        }
        Value::Array(items) => items.iter().for_each(|item| count(item, name, places)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn replace(value: &mut Value, old: &Value, new: &Value) {
    if value == old {
        *value = new.clone();
        return;
    }
    match value {
        Value::Object(members) => members.values_mut().for_each(|value| replace(value, old, new)),
        Value::Array(items) => items.iter_mut().for_each(|item| replace(item, old, new)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nullable_schema_takes_null() {
        let document = json!({});
        for (old, new) in [
            (json!({"type": "string", "nullable": true}), json!({"type": ["string", "null"]})),
            (
                json!({"type": "string", "enum": ["a"], "nullable": true}),
                json!({"type": ["string", "null"], "enum": ["a", null]}),
            ),
            (
                json!({"allOf": [{"type": "object"}], "nullable": true}),
                json!({"anyOf": [{"allOf": [{"type": "object"}]}, {"type": "null"}]}),
            ),
            (
                json!({"properties": {"nullable": {"type": "boolean", "nullable": false}}}),
                json!({"properties": {"nullable": {"type": "boolean"}}}),
            ),
        ] {
            assert_eq!(standard(&document, &old), new);
        }
    }

    #[test]
    fn definitions_are_found_through_others() {
        let of = |name: &str| json!({ "$ref": format!("{REFERENCE}{name}") });
        let document = json!({"components": {"schemas": {
            "A": {"type": "array", "items": of("B")}, "B": {"properties": {"a": of("A")}}, "C": {},
        }}});
        let schema = standard(&document, &json!({"properties": {"body": of("A")}}));
        assert_eq!(schema["properties"]["body"], json!({"$ref": "#/$defs/A"}));
        let names: Vec<_> = schema["$defs"].as_object().unwrap().keys().collect();
        assert_eq!(names, ["A", "B"]);
    }

    #[test]
    fn repeated_schema_is_a_definition() {
        let filter = json!({"type": "string", "description": "Counts only events with one of these values."});
        let schema = json!({"properties": {"os": filter, "link": filter, "limit": {"type": "integer"}}});
        let shared = standard(&json!({}), &schema);
        assert_eq!(shared["properties"]["os"], json!({"$ref": "#/$defs/os"}));
        assert_eq!(shared["$defs"], json!({"os": filter}));
        assert_eq!(shared["properties"]["limit"], json!({"type": "integer"}));
    }
}
