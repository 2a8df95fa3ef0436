//! References of a description: schemas get their own names, and anything else is put in their place.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::error::{DescriptionError, excerpt};
use crate::bounded_json::{BoundedJson, Full};

const SCHEMAS: &str = "#/components/schemas/";
const COMPONENTS: &str = "#/components/";
/// Maximum depth of references within references.
const MAX_DEPTH: usize = 8;
/// Maximum length of a reference, in bytes. Each is looked up wherever it is opened.
const MAX_REFERENCE: usize = 500;
/// Members whose values are data and no part of the description.
const DATA: [&str; 5] = ["example", "default", "enum", "const", "value"];
/// Members whose own members have names that mean nothing here: a property may be called `value`.
const NAMED: [&str; 12] = [
    "$defs",
    "callbacks",
    "content",
    "definitions",
    "dependentSchemas",
    "encoding",
    "examples",
    "headers",
    "links",
    "patternProperties",
    "properties",
    "responses",
];

/// Resolves the references of one document. What they open up into exists nowhere but in the bounded text that
/// it is written to.
pub(super) struct Inliner<'a> {
    document: &'a Value,
    prefix: &'a str,
    needed: BTreeSet<&'a str>,
}

/// What the members of an object are.
#[derive(Clone, Copy)]
enum Members {
    /// Keywords of OpenAPI and JSON Schema.
    Keywords,
    /// Any names.
    Names,
}

impl<'a> Inliner<'a> {
    /// Creates one that puts `prefix` and a dot before the names of schemas.
    pub(super) const fn new(document: &'a Value, prefix: &'a str) -> Self {
        Self { document, prefix, needed: BTreeSet::new() }
    }

    /// Writes a value without references, except to schemas.
    ///
    /// # Errors
    /// Returns an error for a reference that leads nowhere, or in a circle, and if there is no room.
    pub(super) fn write(&mut self, json: &mut BoundedJson, value: &'a Value) -> Result<(), DescriptionError> {
        self.write_at(json, value, Members::Keywords, 0)
    }

    /// Writes the members of an object, each with its own name, such as responses by status, whose names `is_kept`
    /// allows.
    ///
    /// # Errors
    /// As [`write`](Self::write).
    pub(super) fn write_named(
        &mut self,
        json: &mut BoundedJson,
        members: &'a Map<String, Value>,
        is_kept: impl Fn(&str) -> bool,
    ) -> Result<(), DescriptionError> {
        if let Some(reference) = members.get("$ref").and_then(Value::as_str) {
            return Err(DescriptionError::Reference(shown(reference)));
        }
        members.iter().filter(|(name, _)| is_kept(name)).try_for_each(|(name, value)| {
            json.name(name)?;
            self.write_at(json, value, Members::Keywords, 0)
        })
    }

    /// Writes the schemas that were referred to, those that they refer to, and so on.
    ///
    /// # Errors
    /// As [`write`](Self::write), and if there is no such schema.
    pub(super) fn write_schemas(mut self, json: &mut BoundedJson) -> Result<(), DescriptionError> {
        let all = self.document.pointer("/components/schemas");
        let mut written = BTreeSet::new();
        while let Some(name) = self.needed.pop_first() {
            // Schemas may refer to each other, or to themselves.
            if !written.insert(name) {
                continue;
            }
            let schema = all.and_then(|all| all.get(name));
            let schema =
                schema.ok_or_else(|| DescriptionError::Reference(shown(&format!("{SCHEMAS}{name}"))))?;
            let mut write = || {
                json.name(&format!("{}.{name}", self.prefix))?;
                self.write(json, schema)
            };
            write().map_err(|error| error.at(|| format!("the schema `{name}`")))?;
        }
        Ok(())
    }

    /// Returns what a value is once its references are followed, except to schemas.
    ///
    /// # Errors
    /// As [`write`](Self::write).
    pub(super) fn resolve(&self, value: &'a Value) -> Result<&'a Value, DescriptionError> {
        self.resolve_at(value, &mut 0)
    }

    fn resolve_at(&self, mut value: &'a Value, depth: &mut usize) -> Result<&'a Value, DescriptionError> {
        while let Some(reference) = reference(value).filter(|to| !to.starts_with(SCHEMAS)) {
            let pointer = reference.strip_prefix('#').filter(|_| reference.starts_with(COMPONENTS));
            let target = pointer
                .filter(|_| reference.len() <= MAX_REFERENCE)
                .and_then(|pointer| self.document.pointer(pointer));
            value = target.ok_or_else(|| DescriptionError::Reference(shown(reference)))?;
            // References that lead to each other would be followed forever.
            if *depth == MAX_DEPTH {
                return Err(DescriptionError::Circle(shown(reference)));
            }
            *depth += 1;
        }
        Ok(value)
    }

    fn write_at(
        &mut self,
        json: &mut BoundedJson,
        value: &'a Value,
        kind: Members,
        mut depth: usize,
    ) -> Result<(), DescriptionError> {
        let value = self.resolve_at(value, &mut depth)?;
        if let Some(reference) = reference(value) {
            return self.write_reference(json, reference, value.get("description"));
        }
        match (value, kind) {
            (Value::Object(members), Members::Keywords) => self.keywords(json, members, depth),
            (Value::Object(members), Members::Names) => json.object(|json| self.named(json, members, depth)),
            (Value::Array(items), _) => json.array(|json| {
                items.iter().try_for_each(|item| self.write_at(json, item, Members::Keywords, depth))
            }),
            (plain, _) => Ok(json.value(plain)?),
        }
    }

    /// Writes a reference to a schema, which is then needed.
    fn write_reference(
        &mut self,
        json: &mut BoundedJson,
        reference: &'a str,
        description: Option<&Value>,
    ) -> Result<(), DescriptionError> {
        let name = reference.strip_prefix(SCHEMAS).filter(|name| is_name(name));
        let name = name.ok_or_else(|| DescriptionError::Reference(shown(reference)))?;
        self.needed.insert(name);
        json.object(|json| {
            if let Some(text) = description {
                json.name("description")?;
                json.value(text)?;
            }
            json.text_member("$ref", &format!("{SCHEMAS}{}.{name}", self.prefix))
        })
        .map_err(|full: Full| full.into())
    }

    fn named(
        &mut self,
        json: &mut BoundedJson,
        members: &'a Map<String, Value>,
        depth: usize,
    ) -> Result<(), DescriptionError> {
        members.iter().try_for_each(|(name, value)| {
            json.name(name)?;
            self.write_at(json, value, Members::Keywords, depth)
        })
    }

    /// Writes an object of keywords. A schema of OpenAPI 3.0 becomes one of 3.1.
    fn keywords(
        &mut self,
        json: &mut BoundedJson,
        members: &'a Map<String, Value>,
        depth: usize,
    ) -> Result<(), DescriptionError> {
        let is_nullable = members.get("nullable") == Some(&Value::Bool(true));
        let has_type = members.get("type").is_some_and(Value::is_string);
        if !is_nullable || has_type {
            // With one type, null is a second type. Without one, it takes a choice of two schemas.
            return json.object(|json| self.modern(json, members, is_nullable, depth));
        }
        json.object(|json| {
            json.name("anyOf")?;
            json.array(|json| {
                json.object(|json| self.modern(json, members, false, depth))?;
                json.object(|json| Ok(json.text_member("type", "null")?))
            })
        })
    }

    /// Writes the members of a schema in the form of OpenAPI 3.1. Others stay as they are.
    fn modern(
        &mut self,
        json: &mut BoundedJson,
        members: &'a Map<String, Value>,
        is_nullable: bool,
        depth: usize,
    ) -> Result<(), DescriptionError> {
        let is_bool = |name: &str| members.get(name).is_some_and(Value::is_boolean);
        let excludes = |name: &str| members.get(name) == Some(&Value::Bool(true));
        for (name, value) in members {
            let name = match name.as_str() {
                "nullable" | "exclusiveMinimum" | "exclusiveMaximum" if is_bool(name) => continue,
                "discriminator" if value.get("propertyName").is_some_and(Value::is_string) => continue,
                // In 3.0 it is a flag beside the bound, and in 3.1 the bound itself.
                "minimum" if excludes("exclusiveMinimum") => "exclusiveMinimum",
                "maximum" if excludes("exclusiveMaximum") => "exclusiveMaximum",
                name => name,
            };
            json.name(name)?;
            match (name, value) {
                ("type", kind) if is_nullable => json.array(|json| {
                    json.value(kind)?;
                    json.text("null")
                })?,
                ("enum", Value::Array(values)) if is_nullable => json.array(|json| {
                    values.iter().try_for_each(|value| json.value(value))?;
                    if values.contains(&Value::Null) { Ok(()) } else { json.value(&Value::Null) }
                })?,
                // An example is a value: a member `$ref` in it refers to nothing.
                (name, data) if DATA.contains(&name) => json.value(data)?,
                ("examples", data @ Value::Array(_)) => json.value(data)?,
                (name, value) if NAMED.contains(&name) => {
                    self.write_at(json, value, Members::Names, depth)?;
                }
                (_, value) => self.write_at(json, value, Members::Keywords, depth)?,
            }
        }
        Ok(())
    }
}

fn reference(value: &Value) -> Option<&str> {
    value.as_object()?.get("$ref")?.as_str()
}

/// Returns true for the name of a component (OpenAPI 3.1, section 4.8.7).
fn is_name(text: &str) -> bool {
    (1..=100).contains(&text.len())
        && text.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b'-'))
}

/// Returns the beginning of a reference as a log may show it, on one line.
fn shown(reference: &str) -> String {
    excerpt(reference, 100)
}

#[cfg(test)]
mod tests;
