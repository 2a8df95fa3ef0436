//! The schemas of events, made of those that `GET /events/schemas/{type}` has, in terms of OpenAPI 3.0.

use biolink::webhooks::{WebhookKind, schema};
use serde_json::{Map, Value, json};

/// Adds a component for the envelope of each kind, for what it has, and for an event of any kind.
pub(super) fn add_schemas(document: &mut Value) {
    let Some(schemas) = document.pointer_mut("/components/schemas").and_then(Value::as_object_mut) else {
        return;
    };
    let mut mapping = Map::new();
    for kind in WebhookKind::ALL {
        // The schema is a part of the program, and a test reads it.
        let schema: Value = serde_json::from_str(&schema(kind)).unwrap_or_default();
        let definitions = schema.get("$defs").and_then(Value::as_object).cloned().unwrap_or_default();
        for (name, value) in &definitions {
            if let Some(component) = definition(name) {
                schemas.insert(component, convert(value, &definitions));
            }
        }
        let envelope = envelope(kind.as_str());
        mapping.insert(kind.as_str().to_owned(), path(&envelope).into());
        schemas.insert(envelope, convert(&schema, &definitions));
    }
    let one_of: Vec<_> = WebhookKind::ALL.map(|kind| json!({ "$ref": mapping.get(kind.as_str()) })).into();
    let discriminator = json!({ "propertyName": "type", "mapping": mapping });
    schemas.insert("Event".to_owned(), json!({ "discriminator": discriminator, "oneOf": one_of }));
}

/// Returns the component of the envelope of a kind, or of a batch.
pub(super) fn envelope(kind: &str) -> String {
    match kind {
        "batch" => "EventBatch".to_owned(),
        kind => format!("{}Event", camel_case(kind)),
    }
}

/// Returns the component of a definition; `None` for one that is written out where it is used.
fn definition(name: &str) -> Option<String> {
    match name {
        "time" | "text" | "page_id" => None,
        "alerted_key" => Some(camel_case(name)),
        "page" | "link" | "product" | "products" | "visit" => Some(format!("Event{}", camel_case(name))),
        kind => Some(format!("{}Data", camel_case(kind))),
    }
}

fn camel_case(name: &str) -> String {
    let word = |word: &str| {
        let mut letters = word.chars();
        letters.next().into_iter().flat_map(char::to_uppercase).chain(letters).collect::<String>()
    };
    name.split('_').map(word).collect()
}

fn path(component: &str) -> String {
    format!("#/components/schemas/{component}")
}

/// Returns a schema of JSON Schema 2020-12 as OpenAPI 3.0 has it: without `$defs`, `const` and lists
/// of types.
fn convert(schema: &Value, definitions: &Map<String, Value>) -> Value {
    let members = match schema {
        Value::Object(members) => members,
        Value::Array(items) => return items.iter().map(|item| convert(item, definitions)).collect(),
        plain => return plain.clone(),
    };
    if let Some(name) = members.get("$ref").and_then(Value::as_str).and_then(|path| path.rsplit('/').next()) {
        // Members beside a reference are ignored in 3.0.
        return match (definition(name), definitions.get(name)) {
            (Some(component), _) => json!({ "$ref": path(&component) }),
            (None, Some(written_out)) => described(convert(written_out, definitions), members),
            (None, None) => json!({}),
        };
    }
    let mut converted = Map::new();
    for (name, value) in members {
        match name.as_str() {
            // Linters take `oneOf` of required members for schemas that overlap.
            "$schema" | "$defs" | "title" | "oneOf" => {}
            "const" => {
                converted.insert("type".to_owned(), "string".into());
                converted.insert("enum".to_owned(), json!([value]));
            }
            "type" => convert_type(value, &mut converted),
            "enum" => {
                converted.insert("type".to_owned(), "string".into());
                if value.as_array().is_some_and(|names| names.contains(&Value::Null)) {
                    converted.insert("nullable".to_owned(), true.into());
                }
                converted.insert("enum".to_owned(), value.clone());
            }
            "required" => {
                converted.insert("type".to_owned(), "object".into());
                converted.insert(name.clone(), value.clone());
            }
            "properties" => {
                let each = value.as_object().into_iter().flatten();
                let each = each.map(|(name, value)| (name.clone(), convert(value, definitions)));
                converted.insert(name.clone(), each.collect::<Map<_, _>>().into());
            }
            _ => {
                converted.insert(name.clone(), convert(value, definitions));
            }
        }
    }
    converted.into()
}

/// Adds a type. A list of types is one and null.
fn convert_type(types: &Value, converted: &mut Map<String, Value>) {
    let Some(listed) = types.as_array() else {
        converted.insert("type".to_owned(), types.clone());
        return;
    };
    let own = listed.iter().find(|own| *own != "null").cloned().unwrap_or_default();
    converted.insert("type".to_owned(), own);
    converted.insert("nullable".to_owned(), true.into());
}

/// Returns a schema with the description that its reference has.
fn described(mut schema: Value, reference: &Map<String, Value>) -> Value {
    if let (Some(members), Some(about)) = (schema.as_object_mut(), reference.get("description")) {
        members.insert("description".to_owned(), about.clone());
    }
    schema
}
