//! The operations of a key's life: its holder's and the administrator's.

use serde_json::{Value, json};

use shared::{keys_api::ListRequest, tier::Tier};

use super::{
    example,
    operation::{add, json_body, response, responses, schema},
    outcome::Group,
};

const SEEN: [&str; 1] = ["x-request-id"];

pub(super) fn rotate_own() -> Value {
    json!({
        "operationId": "rotate_own_key",
        "summary": "Replace the calling key's secret",
        "description": "The new key is in this response and nowhere else. The replaced one stays good for a while. Usage and limits go on. Only the secret in use can be replaced, not one in its grace.",
        "security": [{ "ApiKey": [] }],
        "requestBody": rotation(),
        "responses": responses(
            [("200", response("The key with its new text, shown once.", &SEEN, "application/json", schema("RotatedKey")))],
            [
                Group::MalformedBody,
                Group::KeyRefused,
                Group::HttpsRequired,
                Group::RouteUnknown,
                Group::KeyConflict,
                Group::Stalled,
                Group::BodyTooLarge,
                Group::MediaTypeUnsupported,
                Group::FieldsInvalid,
                Group::KeyUnreadable,
            ],
        ),
    })
}

pub(super) fn revoke_own() -> Value {
    json!({
        "operationId": "revoke_own_key",
        "summary": "End the calling key for good",
        "description": "From the next call on the key is refused, everywhere within 10 seconds. Only the secret in use can end the key, not one in its grace.",
        "security": [{ "ApiKey": [] }],
        "responses": responses(
            [("200", response("The key as it is now.", &SEEN, "application/json", schema("Key")))],
            [
                Group::Malformed,
                Group::KeyRefused,
                Group::HttpsRequired,
                Group::RouteUnknown,
                Group::KeyConflict,
                Group::KeyUnreadable,
            ],
        ),
    })
}

pub(super) fn list() -> Value {
    let cursor = json!({
        "name": "cursor", "in": "query", "schema": { "type": "string" },
        "description": "Where the page before ended, as it said. Any other is refused.",
    });
    let filter = |name: &str, about: &str, schema: Value| json!({ "name": name, "in": "query", "description": about, "schema": schema });
    let limit = json!({
        "name": "limit", "in": "query",
        "description": "Keys on the page at the most.",
        "schema": { "type": "integer", "minimum": 1, "maximum": 100, "default": 50 },
    });
    let about = "The list may be a minute old; reading one key is not. With a filter a page may hold fewer keys than its limit, or none, before the last: go on until the cursor is null.";
    let mut operation = administered("list_keys", "List keys", about, "KeyPage", &[Group::Malformed]);
    put(
        &mut operation,
        "parameters",
        json!([
            cursor,
            limit,
            filter(
                "email",
                "Only keys of the holder with this e-mail address, in any case.",
                json!({ "type": "string" })
            ),
            filter("tier", "Only keys of this tier.", json!({ "type": "string", "enum": Tier::ALL })),
            filter(
                "status",
                "Only keys in this status.",
                json!({ "type": "string", "enum": ListRequest::STATUSES })
            ),
        ]),
    );
    add(&mut operation, &[Group::RouteUnknown, Group::FieldsInvalid]);
    operation
}

pub(super) fn read() -> Value {
    let about = "The key as its meter knows it, which is newer than the list may be. With include=usage also what it has used, when it was used last, and its rotation.";
    let mut operation = one("read_key", "Read a key", about, "KeyDetails", &[Group::Malformed]);
    add(&mut operation, &[Group::FieldsInvalid]);
    if let Some(parameters) = operation.get_mut("parameters").and_then(Value::as_array_mut) {
        parameters.push(json!({
            "name": "include", "in": "query", "description": "What to show beside the key itself.",
            "schema": { "type": "string", "enum": ["usage"] },
        }));
    }
    operation
}

pub(super) fn change() -> Value {
    let mut operation = one(
        "change_key",
        "Change a key's tier, limits, expiry, plan or holder, or switch it off and on",
        "What is left out stays as it is. The holder of a revoked key can be changed and erased too, nothing else of it. A change holds everywhere within 10 seconds.",
        "Key",
        &WITH_BODY,
    );
    put(
        &mut operation,
        "requestBody",
        json!({
            "required": true,
            "content": json_body("KeyChange"),
        }),
    );
    add(&mut operation, &[Group::KeyConflict]);
    operation
}

pub(super) fn revoke() -> Value {
    let mut operation = one(
        "revoke_key",
        "End a key for good",
        "A revoked key cannot be changed again.",
        "Key",
        &[Group::Malformed],
    );
    add(&mut operation, &[Group::KeyConflict]);
    operation
}

pub(super) fn rotate() -> Value {
    let about = "The new key is in this response and nowhere else. The replaced one stays good for a while.";
    let mut operation = one("rotate_key", "Replace a key's secret", about, "RotatedKey", &WITH_BODY);
    put(&mut operation, "requestBody", rotation());
    add(&mut operation, &[Group::KeyConflict]);
    operation
}

const WITH_BODY: [Group; 5] = [
    Group::MalformedBody,
    Group::Stalled,
    Group::BodyTooLarge,
    Group::MediaTypeUnsupported,
    Group::FieldsInvalid,
];

/// Returns an administrative operation on one key.
fn one(id: &str, summary: &str, about: &str, result: &str, groups: &[Group]) -> Value {
    let mut operation = administered(id, summary, about, result, groups);
    let name = json!({
        "name": "id", "in": "path", "required": true, "description": "The key's public name.", "example": example::KEY_ID,
        "schema": { "type": "string", "pattern": "^key_[0-9A-Za-z]{17}$" },
    });
    put(&mut operation, "parameters", json!([name]));
    add(&mut operation, &[Group::KeyUnknown]);
    operation
}

fn administered(id: &str, summary: &str, about: &str, result: &str, groups: &[Group]) -> Value {
    let mut operation = json!({
        "operationId": id,
        "summary": summary,
        "description": about,
        "security": [{ "AdminSecret": [] }],
        "responses": responses(
            [("200", response(summary, &SEEN, "application/json", schema(result)))],
            [Group::AdminMissing, Group::AdminRefused, Group::AttemptsExceeded, Group::KeyUnreadable],
        ),
    });
    add(&mut operation, groups);
    operation
}

fn rotation() -> Value {
    json!({
        "required": false,
        "content": json_body("Rotation"),
    })
}

fn put(operation: &mut Value, name: &str, value: Value) {
    if let Some(operation) = operation.as_object_mut() {
        operation.insert(name.to_owned(), value);
    }
}
