//! Examples of bodies: what can be sent to the keys API, and what it responds with.

use serde_json::{Value, json};

/// The id of the key in examples.
pub(super) const KEY_ID: &str = "key_0123456789abcdefg";
const ISSUED_AT: &str = "2026-01-05T09:00:00.000Z";
const USED_AT: &str = "2026-01-05T09:41:12.000Z";
const GRACE_ENDS_AT: &str = "2026-01-06T09:42:00.000Z";

/// Returns the example of a schema component; `None` for one that has none.
pub(super) fn of(schema: &str) -> Option<Value> {
    match schema {
        "IssueRequest" => Some(
            json!({ "email": "ada@example.com", "name": "Ada Lovelace", "tier": "pro", "biolink_plan": "business", "admin_secret": "…" }),
        ),
        "KeyChange" => Some(json!({ "tier": "enterprise", "limits": { "minute": 1_000, "day": 50_000 } })),
        "Rotation" => Some(json!({ "grace_seconds": 3_600 })),
        "Key" => Some(key([])),
        "IssuedKey" => Some(key([("key", text())])),
        "RotatedKey" => Some(key([("key", text()), ("rotation", rotation())])),
        "OwnKey" | "KeyDetails" => Some(key(used())),
        "KeyPage" => Some(json!({ "keys": [key([])], "cursor": null })),
        "Health" => Some(json!({ "status": "ok" })),
        "StatusReport" => Some(json!({
            "status": "degraded",
            "tools": [{ "tool": "qr", "available": true }, { "tool": "image", "available": false }],
        })),
        _ => None,
    }
}

fn key<const N: usize>(more: [(&str, Value); N]) -> Value {
    let mut key = json!({
        "id": KEY_ID,
        "tier": "pro",
        "status": "active",
        "limits": [
            { "name": "minute", "calls": 60, "window_seconds": 60 },
            { "name": "day", "calls": 5_000, "window_seconds": 86_400 },
        ],
        "holder": { "email": "ada@example.com", "name": "Ada Lovelace" },
        "biolink_plan": "business",
        "when_meter_unreachable": "continue",
        "account": KEY_ID,
        "issued_at": ISSUED_AT,
        "expires_at": null,
    });
    if let Some(members) = key.as_object_mut() {
        members.extend(more.map(|(name, value)| (name.to_owned(), value)));
    }
    key
}

fn text() -> Value {
    format!("utg_live_{}", "0".repeat(70)).into()
}

fn rotation() -> Value {
    json!({ "former_key_valid_until": GRACE_ENDS_AT })
}

fn used() -> [(&'static str, Value); 4] {
    let window = |limit: u32, used: u32, resets_at: &str| json!({ "limit": limit, "used": used, "held": 0, "remaining": limit.saturating_sub(used), "resets_at": resets_at });
    [
        (
            "usage",
            json!({
                "minute": window(60, 3, "2026-01-05T09:42:12.000Z"),
                "day": window(5_000, 412, "2026-01-06T00:00:00.000Z"),
            }),
        ),
        ("today", json!({ "by_tool": { "qr": 400, "image": 12 }, "by_status": { "200": 409, "422": 3 } })),
        ("last_used_at", USED_AT.into()),
        ("rotation", Value::Null),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::openapi::{document, schema};

    /// Returns a schema without what JSON Schema does not have, and with its references resolved.
    fn validator(name: &str) -> jsonschema::Validator {
        let mut schema = json!({ "$ref": format!("#/components/schemas/{name}") });
        schema["components"] = document("")["components"].clone();
        let text = schema.to_string();
        let mut schema: Value = serde_json::from_str(&text).unwrap();
        make_null_a_type(&mut schema);
        jsonschema::options().should_validate_formats(true).build(&schema).unwrap()
    }

    fn make_null_a_type(value: &mut Value) {
        match value {
            Value::Object(members) => {
                if members.remove("nullable").is_some() {
                    let kind = members["type"].clone();
                    members.insert("type".to_owned(), json!([kind, "null"]));
                }
                members.values_mut().for_each(make_null_a_type);
            }
            Value::Array(items) => items.iter_mut().for_each(make_null_a_type),
            _ => {}
        }
    }

    #[test]
    fn example_fits_its_schema() {
        let all = schema::all();
        let names = all.as_object().unwrap().keys().filter(|name| of(name).is_some());
        assert_eq!(names.clone().count(), 11);
        for name in names {
            let errors: Vec<_> =
                validator(name).iter_errors(&of(name).unwrap()).map(|error| error.to_string()).collect();
            assert!(errors.is_empty(), "{name}: {errors:?}");
        }
    }
}
