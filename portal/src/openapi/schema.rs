//! The bodies' schemas.

use serde_json::{Value, json};

use biolink::codes;
use shared::{
    keys_api::{MAX_EMAIL, MAX_NAME},
    policy::MAX_MINUTE_LIMIT,
    problem::Code,
    tier::Tier,
    tool::Tool,
};

/// Returns every schema component by name.
pub(super) fn all() -> Value {
    json!({
        "Problem": problem(),
        "Fault": fault(),
        "IssueRequest": issue_request(),
        "IssuedKey": key([key_text()]),
        "OwnKey": with_optional(key(own_key()), [refusals()]),
        "Key": key([]),
        "KeyDetails": with_optional(with_optional(key([]), own_key()), [refusals()]),
        "KeyPage": object(json!({
            "keys": { "type": "array", "items": { "$ref": "#/components/schemas/Key" } },
            "cursor": { "type": "string", "nullable": true, "description": "Where the next page begins; null on the last." },
        })),
        "KeyChange": key_change(),
        "Rotation": { "type": "object", "additionalProperties": false, "properties": {
            "grace_seconds": { "type": "integer", "nullable": true, "minimum": 0, "maximum": 2_592_000, "description": "How long the replaced key stays good; 86400, a day, if left out." },
        } },
        "RotatedKey": key([key_text(), ("rotation", object(json!({ "former_key_valid_until": { "type": "string", "format": "date-time", "nullable": true } })))]),
        "Limit": object(json!({
            "name": { "type": "string", "enum": ["minute", "day"] },
            "calls": { "type": "integer" },
            "window_seconds": { "type": "integer" },
        })),
        "WindowUsage": object(json!({
            "limit": { "type": "integer", "nullable": true, "description": "null is without limit." },
            "used": { "type": "integer", "description": "Calls counted." },
            "held": { "type": "integer", "description": "Calls lent to the gateway's locations, which give back within seconds what they do not use." },
            "remaining": { "type": "integer", "nullable": true, "description": "Calls that would pass now. used, held and remaining add up to limit, unless the limit was lowered below what was used." },
            "resets_at": { "type": "string", "format": "date-time", "description": "Of the minute, the moment at which more is to be had: what remains stays. Of the day, its end, at which the count begins anew." },
        })),
        "Health": object(json!({ "status": { "type": "string", "enum": ["ok"] } })),
        "StatusReport": object(json!({
            "status": { "type": "string", "enum": ["operational", "degraded", "outage"] },
            "tools": { "type": "array", "items": object(json!({
                "tool": { "type": "string", "enum": Tool::ALL },
                "available": { "type": "boolean" },
            })) },
        })),
    })
}

/// Returns an object all of whose members are always there.
fn object(properties: Value) -> Value {
    let required: Vec<_> =
        properties.as_object().into_iter().flat_map(|members| members.keys().cloned()).collect();
    json!({ "type": "object", "required": required, "properties": properties })
}

fn time() -> Value {
    json!({ "type": "string", "format": "date-time" })
}

fn problem() -> Value {
    json!({
        "type": "object",
        "description": "RFC 9457 problem details. Switch on `code`; the text may change.",
        "required": ["type", "title", "status", "detail", "code", "request_id"],
        "properties": {
            "type": { "type": "string", "format": "uri-reference", "description": "A page that explains the problem." },
            "title": { "type": "string" },
            "status": { "type": "integer", "description": "The HTTP status." },
            "detail": { "type": "string", "description": "What happened this time, and what to do." },
            "code": { "type": "string", "enum": codes::all().map(Code::as_str).collect::<Vec<_>>() },
            "request_id": { "type": "string" },
            "errors": { "type": "array", "items": { "$ref": "#/components/schemas/Fault" }, "description": "422: every fault at once." },
            "nearest": { "type": "array", "items": { "type": "string", "enum": Tool::ALL }, "description": "404: tools with a similar name." },
            "violated-policies": { "type": "array", "items": { "type": "string", "enum": ["minute", "day"] }, "description": "429: the quota that is used up." },
        },
        "additionalProperties": true,
    })
}

fn fault() -> Value {
    object(json!({
        "pointer": { "type": "string", "description": "JSON Pointer to the value, as a URI fragment; `#` is the whole body.", "example": "#/limits/minute" },
        "detail": { "type": "string" },
    }))
}

fn issue_request() -> Value {
    json!({
        "type": "object",
        "required": ["email", "name", "tier", "admin_secret"],
        "additionalProperties": false,
        "properties": {
            "email": email(),
            "name": name(),
            "tier": { "type": "string", "enum": Tier::ALL },
            "admin_secret": { "type": "string", "format": "password", "minLength": 1, "writeOnly": true },
            "limits": limits("Limits of the key's own, in place of its tier's; the tier's, if null or left out."),
            "expires_at": { "type": "string", "format": "date-time", "nullable": true, "description": "When the key ends; never, if null or left out." },
            "biolink_plan": { "type": "string", "enum": ["none", "standard", "business"], "description": "`none`, if left out." },
            "when_meter_unreachable": when_meter_unreachable(" `continue`, if left out."),
            "account": { "type": "string", "nullable": true, "pattern": "^key_[0-9A-Za-z]{17}$", "description": "The bio-link account that the key shares: the id of the key with which the account began. An account of its own, if null or left out." },
        },
    })
}

fn when_meter_unreachable(about: &str) -> Value {
    let what = "While the meter of a paid key is out of reach, calls `continue` on a local budget, at most a quarter of the minute's limit in any 60 seconds, or the gateway will `refuse` them (503 `meter-unavailable`): never more than the limit. Those of Free keys are always refused.";
    let description = format!("{what}{about}");
    json!({ "type": "string", "enum": ["continue", "refuse"], "description": description })
}

fn email() -> Value {
    json!({ "type": "string", "format": "email", "maxLength": MAX_EMAIL, "description": "Where the holder is reached. ASCII: write an international domain as xn--…" })
}

fn name() -> Value {
    // At least one character that is not white space, and no control character.
    let pattern =
        r"^[^\u0000-\u001F\u007F-\u009F]*[^\s\u0000-\u001F\u007F-\u009F][^\u0000-\u001F\u007F-\u009F]*$";
    json!({ "type": "string", "minLength": 1, "maxLength": MAX_NAME, "pattern": pattern, "description": "What the holder is called." })
}

fn limits(about: &str) -> Value {
    let limit = |max: u32| json!({ "type": "integer", "nullable": true, "minimum": 1, "maximum": max });
    json!({
        "type": "object", "nullable": true, "additionalProperties": false, "description": about,
        "properties": { "minute": limit(MAX_MINUTE_LIMIT), "day": limit(u32::MAX) },
    })
}

/// Returns the schema of a key's holder. Not a component of its own: a reference cannot be
/// nullable in OpenAPI 3.0.
fn holder() -> Value {
    json!({
        "type": "object", "nullable": true, "required": ["email", "name"],
        "description": "Whom the key was issued to; null if that is not known here.",
        "properties": { "email": { "type": "string", "format": "email" }, "name": { "type": "string" } },
    })
}

/// Returns the schema of a key with the members `more` beside those of every key.
fn key<const N: usize>(more: [(&str, Value); N]) -> Value {
    let mut properties = json!({
        "id": { "type": "string", "description": "The key's public name.", "example": "key_0123456789abcdefg" },
        "tier": { "type": "string", "enum": Tier::ALL },
        "status": { "type": "string", "enum": ["active", "disabled", "revoked"] },
        "limits": { "type": "array", "items": { "$ref": "#/components/schemas/Limit" } },
        "holder": holder(),
        "biolink_plan": { "type": "string", "enum": ["none", "standard", "business"] },
        "when_meter_unreachable": { "type": "string", "enum": ["continue", "refuse"], "description": "What becomes of calls while the key's meter is out of reach." },
        "account": { "type": "string", "description": "The bio-link account: the id of the key with which it began." },
        "issued_at": time(),
        "expires_at": { "type": "string", "format": "date-time", "nullable": true },
    });
    if let Some(properties) = properties.as_object_mut() {
        properties.extend(more.into_iter().map(|(name, schema)| (name.to_owned(), schema)));
    }
    object(properties)
}

fn key_text() -> (&'static str, Value) {
    (
        "key",
        json!({ "type": "string", "description": "The key itself: keep it.", "pattern": "^utg_(live|test)_[0-9A-Za-z]{70}$" }),
    )
}

/// Returns a change: what is left out stays as it is.
fn key_change() -> Value {
    json!({
        "type": "object",
        "additionalProperties": false,
        "minProperties": 1,
        "properties": {
            "tier": { "type": "string", "enum": Tier::ALL },
            "limits": limits("In place of the tier's: a limit that is left out stays as it is, and null is the tier's."),
            "expires_at": { "type": "string", "format": "date-time", "nullable": true, "description": "When the key ends; null is never." },
            "disabled": { "type": "boolean" },
            "biolink_plan": { "type": "string", "enum": ["none", "standard", "business"] },
            "when_meter_unreachable": when_meter_unreachable(""),
            "holder": {
                "type": "object", "nullable": true, "additionalProperties": false, "required": ["email", "name"],
                "description": "Whom the key belongs to, as a whole; null erases it.",
                "properties": { "email": email(), "name": name() },
            },
        },
    })
}

/// Returns an object's schema with members that may be there or not.
fn with_optional<const N: usize>(mut schema: Value, more: [(&'static str, Value); N]) -> Value {
    if let Some(properties) = schema.get_mut("properties").and_then(Value::as_object_mut) {
        properties.extend(more.map(|(name, schema)| (name.to_owned(), schema)));
    }
    schema
}

fn refusals() -> (&'static str, Value) {
    (
        "refusals",
        json!({
            "type": "array",
            "description": "The key's last refused calls, at most 1,000, by code and route, the latest first. A refusal is here within half a minute. Refusals of the key itself (401) are not.",
            "items": object(json!({
                "code": { "type": "string", "description": "The problem's code." },
                "route": { "type": "string", "description": "The template of the path." },
                "count": { "type": "integer" },
                "last_at": time(),
            })),
        }),
    )
}

fn own_key() -> [(&'static str, Value); 4] {
    let counts = json!({ "type": "object", "additionalProperties": { "type": "integer" } });
    let window = json!({ "$ref": "#/components/schemas/WindowUsage" });
    [
        ("usage", object(json!({ "minute": window, "day": window }))),
        ("today", object(json!({ "by_tool": counts, "by_status": counts }))),
        ("last_used_at", json!({ "type": "string", "format": "date-time", "nullable": true })),
        (
            "rotation",
            json!({
                "type": "object",
                "nullable": true,
                "description": "While a replaced key is still good.",
                "required": ["former_key_valid_until"],
                "properties": { "former_key_valid_until": time() },
            }),
        ),
    ]
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use shared::{
        key::{KeyEntropy, KeyEnv},
        keys_api::IssueRequest,
        secret::MacKeys,
        time::UnixMillis,
    };

    use super::*;

    fn members(value: &Value) -> BTreeSet<String> {
        value.as_object().unwrap().keys().cloned().collect()
    }

    #[test]
    fn issued_key_has_the_described_members() {
        let body = json!({"email": "ada@example.com", "name": "Ada", "tier": "free", "admin_secret": "s"});
        let keys = MacKeys::parse("0123456789abcdef0123456789abcdef").unwrap();
        let entropy = KeyEntropy { id: [1; 12], secret: [2; 16] };
        let now = UnixMillis(1_763_712_000_000);
        let new = IssueRequest::read(body.to_string().as_bytes(), None).unwrap().check(now).unwrap();
        let issued =
            serde_json::from_str(&new.issue(KeyEnv::Live, entropy, &keys, now).response().body).unwrap();
        assert_eq!(members(&issued), members(&all()["IssuedKey"]["properties"]));
    }

    #[test]
    fn issue_request_has_the_described_fields() {
        let described = all()["IssueRequest"].clone();
        let body: Value =
            members(&described["properties"]).into_iter().map(|name| (name, Value::Bool(false))).collect();
        let fault =
            IssueRequest::read(body.to_string().as_bytes(), None).unwrap().check(UnixMillis(0)).unwrap_err();
        let rendered = fault.render(&shared::request_id::RequestId([0; 16])).body;
        assert!(!rendered.contains("is not a field here"), "{rendered}");
        let empty = IssueRequest::read(b"{}", None).unwrap().check(UnixMillis(0)).unwrap_err();
        let rendered: Value =
            serde_json::from_str(&empty.render(&shared::request_id::RequestId([0; 16])).body).unwrap();
        let missing: BTreeSet<_> = rendered["errors"]
            .as_array()
            .unwrap()
            .iter()
            .map(|e| e["pointer"].as_str().unwrap()[2..].to_owned())
            .collect();
        let required: BTreeSet<_> = described["required"]
            .as_array()
            .unwrap()
            .iter()
            .map(|n| n.as_str().unwrap().to_owned())
            .collect();
        assert_eq!(missing, required);
    }
}
