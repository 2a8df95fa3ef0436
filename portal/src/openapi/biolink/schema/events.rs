//! The schemas of events: those that `GET /events/schemas/{type}` has, in terms of OpenAPI 3.0.

use biolink::webhooks::{API_VERSION, MAX_BATCH_EVENTS, WebhookKind, schema};
use serde_json::{Map, Value, json};

use super::parts::Presence::{Nullable, Required};
use super::parts::{Use, constant, list, member, names_of, object, time};
use crate::openapi::reference;

/// Returns the component of a kind's envelope.
pub(in super::super) const fn event_schema(kind: WebhookKind) -> &'static str {
    match kind {
        WebhookKind::PageView => "PageViewEvent",
        WebhookKind::Click => "ClickEvent",
        WebhookKind::QrScan => "QrScanEvent",
        WebhookKind::PagePublished => "PagePublishedEvent",
    }
}

/// Returns the component of a definition; `None` for one that is written out where it is used.
fn definition(name: &str) -> Option<&'static str> {
    Some(match name {
        "page_view" => "PageViewData",
        "click" => "ClickData",
        "qr_scan" => "QrScanData",
        "page_published" => "PagePublishedData",
        "page" => "EventPage",
        "link" => "EventLink",
        "product" => "EventProduct",
        "products" => "EventProducts",
        "visit" => "EventVisit",
        _ => return None,
    })
}

/// Returns the schema components.
pub(super) fn components() -> Map<String, Value> {
    let mut components = Map::new();
    for kind in WebhookKind::ALL {
        let schema: Value = serde_json::from_str(&schema(kind)).unwrap_or_default();
        let definitions = schema.get("$defs").and_then(Value::as_object).cloned().unwrap_or_default();
        for (name, value) in &definitions {
            if let Some(component) = definition(name) {
                components.insert(component.to_owned(), convert(value, &definitions));
            }
        }
        components.insert(event_schema(kind).to_owned(), convert(&schema, &definitions));
    }
    components.insert("Event".to_owned(), event());
    components.insert("EventBatch".to_owned(), batch());
    components.insert("EventList".to_owned(), event_list());
    components
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
            (Some(component), _) => reference("schemas", component),
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

fn event() -> Value {
    let schemas = WebhookKind::ALL.map(|kind| reference("schemas", event_schema(kind)));
    let target = |kind: WebhookKind| format!("#/components/schemas/{}", event_schema(kind)).into();
    let mapping: Map<String, Value> =
        WebhookKind::ALL.into_iter().map(|kind| (kind.as_str().to_owned(), target(kind))).collect();
    json!({ "oneOf": schemas, "discriminator": { "propertyName": "type", "mapping": mapping } })
}

fn batch() -> Value {
    let mut events = list("Event");
    if let Some(members) = events.as_object_mut() {
        members.extend([("minItems".to_owned(), 1.into()), ("maxItems".to_owned(), MAX_BATCH_EVENTS.into())]);
    }
    object(
        Use::Output,
        vec![
            member("id", Required, json!({ "type": "string", "pattern": "^bat_[0-9A-Za-z]{22}$" })),
            constant("type", "batch"),
            member("timestamp", Required, time()),
            member("api_version", Required, names_of([API_VERSION])),
            member("data", Required, object(Use::Output, vec![member("events", Required, events)])),
        ],
    )
}

fn event_list() -> Value {
    let integer = |about: &str| json!({ "type": "integer", "format": "int64", "description": about });
    object(
        Use::Output,
        vec![
            constant("object", "list"),
            member("data", Required, list("Event")),
            member("has_more", Required, json!({ "type": "boolean" })),
            member("next_after", Required, integer("What `after` is in the next call.")),
            member(
                "oldest_sequence",
                Nullable,
                integer(
                    "The first event that is kept. A reader that comes from further back has missed some.",
                ),
            ),
        ],
    )
}
