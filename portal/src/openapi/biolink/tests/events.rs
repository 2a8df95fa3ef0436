//! The schemas of events against those that `GET /events/schemas/{type}` has, in terms of OpenAPI 3.0.

use biolink::webhooks::schema;

use super::*;

#[test]
fn schemas_of_events_are_those_that_are_served() {
    let document = document(SERVER);
    let described = &document["components"]["schemas"];
    for (name, component) in components() {
        assert_eq!(described[&name], component, "{name}");
    }
    let mapping = described["Event"]["discriminator"]["mapping"].as_object().unwrap();
    assert_eq!(mapping.len(), WebhookKind::ALL.len());
    for kind in WebhookKind::ALL {
        assert_eq!(mapping[kind.as_str()], reference(event_schema(kind))["$ref"]);
    }
}

fn reference(schema: &str) -> Value {
    json!({ "$ref": format!("#/components/schemas/{schema}") })
}

/// Returns the component of a kind's envelope.
const fn event_schema(kind: WebhookKind) -> &'static str {
    match kind {
        WebhookKind::PageView => "PageViewEvent",
        WebhookKind::Click => "ClickEvent",
        WebhookKind::QrScan => "QrScanEvent",
        WebhookKind::PagePublished => "PagePublishedEvent",
        WebhookKind::QuotaThreshold => "QuotaThresholdEvent",
        WebhookKind::QuotaExceeded => "QuotaExceededEvent",
        WebhookKind::KeyExpiring => "KeyExpiringEvent",
        WebhookKind::WebhookFailing => "WebhookFailingEvent",
    }
}

/// Returns the component of a definition; `None` for one that is written out where it is used.
fn definition(name: &str) -> Option<&'static str> {
    Some(match name {
        "page_view" => "PageViewData",
        "click" => "ClickData",
        "qr_scan" => "QrScanData",
        "page_published" => "PagePublishedData",
        "quota_threshold" => "QuotaThresholdData",
        "quota_exceeded" => "QuotaExceededData",
        "key_expiring" => "KeyExpiringData",
        "webhook_failing" => "WebhookFailingData",
        "alerted_key" => "AlertedKey",
        "page" => "EventPage",
        "link" => "EventLink",
        "product" => "EventProduct",
        "products" => "EventProducts",
        "visit" => "EventVisit",
        _ => return None,
    })
}

/// Returns the schema components.
fn components() -> Map<String, Value> {
    let mut components = Map::new();
    for kind in WebhookKind::ALL {
        let schema: Value = serde_json::from_str(&schema(kind)).unwrap();
        let definitions = schema.get("$defs").and_then(Value::as_object).cloned().unwrap_or_default();
        for (name, value) in &definitions {
            if let Some(component) = definition(name) {
                components.insert(component.to_owned(), convert(value, &definitions));
            }
        }
        components.insert(event_schema(kind).to_owned(), convert(&schema, &definitions));
    }
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
            (Some(component), _) => reference(component),
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
