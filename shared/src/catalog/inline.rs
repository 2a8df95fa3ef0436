//! References of a description: schemas get names of their own, and anything else is put in their place.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use super::error::DescriptionError;

const SCHEMAS: &str = "#/components/schemas/";
const COMPONENTS: &str = "#/components/";
/// Maximum depth of references within references.
const MAX_DEPTH: usize = 8;
/// Maximum number of values that references open up into.
const MAX_VALUES: usize = 50_000;
/// Members whose values are data and no part of the description.
const DATA: [&str; 5] = ["example", "default", "enum", "const", "value"];

/// Resolves the references of one document.
pub(super) struct Inliner<'a> {
    document: &'a Value,
    prefix: &'a str,
    needed: BTreeSet<String>,
    values: usize,
}

impl<'a> Inliner<'a> {
    /// Creates one that puts `prefix` and a dot before the names of schemas.
    pub(super) const fn new(document: &'a Value, prefix: &'a str) -> Self {
        Self { document, prefix, needed: BTreeSet::new(), values: 0 }
    }

    /// Returns a value without references, except to schemas.
    ///
    /// # Errors
    /// Returns an error for a reference that leads nowhere, or in a circle.
    pub(super) fn inline(&mut self, value: &Value) -> Result<Value, DescriptionError> {
        self.inline_at(value, 0)
    }

    fn inline_at(&mut self, value: &Value, depth: usize) -> Result<Value, DescriptionError> {
        self.values += 1;
        let members = match value {
            Value::Object(members) => members,
            Value::Array(items) => return items.iter().map(|item| self.inline_at(item, depth)).collect(),
            plain => return Ok(plain.clone()),
        };
        if let Some(reference) = members.get("$ref").and_then(Value::as_str) {
            return self.resolve(reference, members, depth);
        }
        let mut kept = Map::new();
        for (name, value) in members {
            let value = match name.as_str() {
                "discriminator" if value.get("propertyName").is_some_and(Value::is_string) => continue,
                name if DATA.contains(&name) => value.clone(),
                _ => self.inline_at(value, depth)?,
            };
            kept.insert(name.clone(), value);
        }
        Ok(modern(kept))
    }

    fn resolve(
        &mut self,
        reference: &str,
        members: &Map<String, Value>,
        depth: usize,
    ) -> Result<Value, DescriptionError> {
        if let Some(name) = reference.strip_prefix(SCHEMAS) {
            if !is_name(name) {
                return Err(DescriptionError::Reference(shown(reference)));
            }
            self.needed.insert(name.to_owned());
            let mut kept = json!({ "$ref": format!("{SCHEMAS}{}.{name}", self.prefix) });
            if let (Some(text), Some(kept)) = (members.get("description"), kept.as_object_mut()) {
                kept.insert("description".to_owned(), text.clone());
            }
            return Ok(kept);
        }
        let target =
            reference.strip_prefix(COMPONENTS).and_then(|_| self.document.pointer(reference.get(1..)?));
        let target = target.ok_or_else(|| DescriptionError::Reference(shown(reference)))?;
        if depth == MAX_DEPTH || self.values > MAX_VALUES {
            return Err(DescriptionError::Circle(shown(reference)));
        }
        self.inline_at(target, depth + 1)
    }

    /// Returns the schemas that were referred to, those that they refer to, and so on.
    ///
    /// # Errors
    /// As [`inline`](Self::inline), and if there is no such schema.
    pub(super) fn into_schemas(mut self) -> Result<Map<String, Value>, DescriptionError> {
        let mut schemas = Map::new();
        while let Some(name) = self.needed.pop_first() {
            let own_name = format!("{}.{name}", self.prefix);
            if schemas.contains_key(&own_name) {
                continue;
            }
            let all = self.document.pointer("/components/schemas");
            let schema = all.and_then(|all| all.get(&name));
            let schema =
                schema.ok_or_else(|| DescriptionError::Reference(shown(&format!("{SCHEMAS}{name}"))))?;
            let schema = self.inline(schema)?;
            schemas.insert(own_name, schema);
        }
        Ok(schemas)
    }
}

/// Returns true for the name of a component (OpenAPI 3.1, section 4.8.7).
fn is_name(text: &str) -> bool {
    (1..=100).contains(&text.len())
        && text.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b'-'))
}

fn shown(reference: &str) -> String {
    reference.chars().take(100).collect()
}

/// Returns a schema of OpenAPI 3.0 as one of 3.1. Anything else stays as it is.
fn modern(mut members: Map<String, Value>) -> Value {
    for (bound, exclusive) in [("minimum", "exclusiveMinimum"), ("maximum", "exclusiveMaximum")] {
        if let Some(Value::Bool(is_exclusive)) = members.get(exclusive).cloned() {
            members.remove(exclusive);
            if let Some(value) = members.remove(bound) {
                members.insert(if is_exclusive { exclusive } else { bound }.to_owned(), value);
            }
        }
    }
    let Some(Value::Bool(is_nullable)) = members.get("nullable").cloned() else { return members.into() };
    members.remove("nullable");
    if !is_nullable {
        return members.into();
    }
    let Some(Value::String(kind)) = members.get("type").cloned() else {
        return json!({ "anyOf": [members, { "type": "null" }] });
    };
    members.insert("type".to_owned(), json!([kind, "null"]));
    if let Some(Value::Array(values)) = members.get_mut("enum")
        && !values.contains(&Value::Null)
    {
        values.push(Value::Null);
    }
    members.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn inlined(document: &Value, value: &Value) -> Result<(Value, Map<String, Value>), DescriptionError> {
        let mut inliner = Inliner::new(document, "qr");
        let value = inliner.inline(value)?;
        Ok((value, inliner.into_schemas()?))
    }

    #[test]
    fn schemas_get_the_prefix_and_bring_those_that_they_refer_to() {
        let of = |name: &str| json!({ "$ref": format!("{SCHEMAS}{name}") });
        let document = json!({ "components": { "schemas": {
            "A": { "properties": { "b": of("B"), "$ref": { "type": "string" } } },
            "B": { "items": of("A") },
            "C": {},
        } } });
        let (value, schemas) = inlined(&document, &of("A")).unwrap();
        assert_eq!(value, of("qr.A"));
        assert_eq!(schemas.keys().collect::<Vec<_>>(), ["qr.A", "qr.B"]);
        assert_eq!(schemas["qr.A"]["properties"]["b"], of("qr.B"));
        assert_eq!(schemas["qr.A"]["properties"]["$ref"], json!({ "type": "string" }));
    }

    #[test]
    fn other_references_are_replaced_by_what_they_lead_to() {
        let document = json!({ "components": { "responses": { "Ok": { "description": "yes" } } } });
        let (value, _) =
            inlined(&document, &json!({ "200": { "$ref": "#/components/responses/Ok" } })).unwrap();
        assert_eq!(value, json!({ "200": { "description": "yes" } }));
    }

    #[test]
    fn data_is_not_searched_for_references() {
        let data = json!({ "example": { "$ref": "x" }, "enum": [{ "nullable": true }] });
        assert_eq!(inlined(&json!({}), &data).unwrap().0, data);
    }

    #[test]
    fn reference_that_leads_nowhere_or_in_a_circle_is_refused() {
        let document =
            json!({ "components": { "responses": { "A": { "$ref": "#/components/responses/A" } } } });
        for reference in [
            "https://example.com/a",
            "#/paths/~1a",
            "#/components/schemas/None",
            "#/components/schemas/a~1b",
            "#",
        ] {
            let refused = inlined(&document, &json!({ "$ref": reference })).unwrap_err();
            assert_eq!(refused, DescriptionError::Reference(reference.to_owned()));
        }
        let circle = "#/components/responses/A";
        let refused = inlined(&document, &json!({ "$ref": circle })).unwrap_err();
        assert_eq!(refused, DescriptionError::Circle(circle.to_owned()));
    }

    /// Each component names the next one ten times, so that seven of them are ten million values.
    #[test]
    fn references_that_multiply_are_refused() {
        let item = |n: usize| {
            let next = json!({ "$ref": format!("#/components/headers/h{}", n + 1) });
            (format!("h{n}"), Value::Array(vec![next; 10]))
        };
        let mut headers: Map<_, _> = (0..7).map(item).collect();
        headers.insert("h7".to_owned(), json!({}));
        let document = json!({ "components": { "headers": headers } });
        let refused = inlined(&document, &json!({ "$ref": "#/components/headers/h0" })).unwrap_err();
        assert!(matches!(refused, DescriptionError::Circle(_)), "{refused}");
    }

    #[test]
    fn schema_of_openapi_3_0_becomes_one_of_3_1() {
        for (old, new) in [
            (json!({ "type": "string", "nullable": true }), json!({ "type": ["string", "null"] })),
            (
                json!({ "type": "string", "enum": ["a"], "nullable": true }),
                json!({ "type": ["string", "null"], "enum": ["a", null] }),
            ),
            (json!({ "type": "string", "nullable": false }), json!({ "type": "string" })),
            (
                json!({ "allOf": [], "nullable": true }),
                json!({ "anyOf": [{ "allOf": [] }, { "type": "null" }] }),
            ),
            (json!({ "minimum": 1, "exclusiveMinimum": true }), json!({ "exclusiveMinimum": 1 })),
            (json!({ "maximum": 1, "exclusiveMaximum": false }), json!({ "maximum": 1 })),
            (json!({ "exclusiveMinimum": 1 }), json!({ "exclusiveMinimum": 1 })),
        ] {
            assert_eq!(inlined(&json!({}), &old).unwrap().0, new);
        }
    }
}
