//! The schema of a body in outline: what it may have, in few bytes. Each tool has its own, because a client may show a
//! model one tool without the others.

use serde_json::{Map, Value};

/// The most values of an enumeration that is kept. A refusal names those of a longer one.
const MAX_VALUES: usize = 12;

/// How much of a schema is kept.
#[derive(Clone, Copy, Debug)]
pub(super) struct Outline {
    /// Levels of objects whose members have schemas. Those below are named.
    pub(super) levels: usize,
    /// Levels whose members are described.
    pub(super) described: usize,
    /// Whether null is named. It means the same as nothing, except in a merge patch.
    pub(super) nullable: bool,
}

impl Outline {
    /// Returns a schema of the OpenAPI description in outline, with what it refers to in place.
    pub(super) fn of(self, document: &Value, schema: &Value) -> Value {
        let schema = resolve(document, schema);
        let Some(members) = schema.as_object() else { return schema.clone() };
        let mut kept = Map::new();
        for (name, value) in members {
            let value = match name.as_str() {
                "type" | "format" => value.clone(),
                "nullable" if self.nullable => value.clone(),
                "enum" if is_short(value) => self.values(value),
                "description" if self.described > 0 => first_sentence(value).into(),
                // Below the last level the members are only named, in the description.
                "required" if self.levels > 0 => value.clone(),
                "properties" if self.levels > 0 => self.members(document, value),
                "items" | "additionalProperties" if value.is_object() => self.of(document, value),
                _ => continue,
            };
            kept.insert(name.clone(), value);
        }
        if let Some(names) = named_members(document, members).filter(|_| self.levels == 0) {
            let own = kept.get("description").and_then(Value::as_str).map(|own| format!("{own} "));
            let text = format!("{}Members: {names}", own.unwrap_or_default());
            kept.insert("description".to_owned(), text.into());
        }
        kept.into()
    }

    fn values(self, values: &Value) -> Value {
        // Null is only worth a mention where it resets something.
        let values = values.as_array().into_iter().flatten();
        values.filter(|value| self.nullable || !value.is_null()).cloned().collect()
    }

    fn members(self, document: &Value, properties: &Value) -> Value {
        let below = Self { levels: self.levels - 1, described: self.described.saturating_sub(1), ..self };
        let kept = writable(properties);
        Value::Object(kept.map(|(name, property)| (name.clone(), below.of(document, property))).collect())
    }
}

/// Returns the names of an object's members, each with its values if they are few: `kind (age|sensitive), min`.
fn named_members(document: &Value, object: &Map<String, Value>) -> Option<String> {
    let names = writable(object.get("properties")?).map(|(name, property)| {
        let values = resolve(document, property).get("enum").filter(|values| is_short(values));
        let values: Vec<_> =
            values.and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str).collect();
        if values.is_empty() { name.clone() } else { format!("{name} ({})", values.join("|")) }
    });
    Some(names.collect::<Vec<_>>().join(", "))
}

fn first_sentence(text: &Value) -> &str {
    let text = text.as_str().unwrap_or_default();
    text.find(". ").and_then(|end| text.get(..=end)).unwrap_or(text)
}

fn writable(properties: &Value) -> impl Iterator<Item = (&String, &Value)> {
    properties.as_object().into_iter().flatten().filter(|(_, property)| !is_ignored(property))
}

fn is_short(values: &Value) -> bool {
    values.as_array().is_some_and(|values| values.len() <= MAX_VALUES)
}

/// Returns an object of the description itself, if it is given by reference.
pub(super) fn resolve<'a>(document: &'a Value, value: &'a Value) -> &'a Value {
    let reference = value.get("$ref").and_then(Value::as_str).and_then(|to| to.strip_prefix('#'));
    reference.and_then(|pointer| document.pointer(pointer)).unwrap_or(value)
}

/// Returns true for a member of a body that is only in what is read.
pub(super) fn is_ignored(property: &Value) -> bool {
    let description = property.get("description").and_then(Value::as_str);
    description.is_some_and(|text| text.starts_with("Read-only"))
}
