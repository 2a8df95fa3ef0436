//! Reading a JSON body field by field, keeping every fault, so that a caller learns of all of them at once.

use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, MapAccess, Visitor};
use serde_json::{Map, Value};

use crate::{
    problem::{Code, Fault, Problem},
    tool::edit_distance,
};

/// The members of one JSON object, taken out one by one. What is left at the end is a fault too.
pub struct Fields {
    members: Map<String, Value>,
    known: Vec<&'static str>,
    faults: Vec<Fault>,
}

impl Fields {
    /// Reads a body that is one JSON object.
    ///
    /// # Errors
    /// Returns `body-malformed` if it is not, or when it has a member twice: two readers could pick
    /// different ones.
    pub fn read(body: &[u8]) -> Result<Self, Problem> {
        match serde_json::from_slice(body) {
            Ok(UniqueMembers(members)) => Ok(Self { members, known: Vec::new(), faults: Vec::new() }),
            Err(fault) => Err(Problem::new(
                Code::BodyMalformed,
                format!("{} at line {} column {}", reason(&fault), fault.line(), fault.column()),
            )),
        }
    }

    /// Takes a member that must be there. A missing one is a fault, and so is one that `parse` refuses; its
    /// error says what would be right. `None` means that a fault was noted.
    pub fn required<T>(
        &mut self,
        name: &'static str,
        parse: impl FnOnce(&Value) -> Result<T, String>,
    ) -> Option<T> {
        self.known.push(name);
        match self.members.remove(name) {
            None => {
                self.fault(name, "is missing");
                None
            }
            Some(value) => self.parsed(name, &value, parse),
        }
    }

    /// Takes a member that may be left out. A `null` is a value like any other.
    pub fn optional<T>(
        &mut self,
        name: &'static str,
        parse: impl FnOnce(&Value) -> Result<T, String>,
    ) -> Option<T> {
        self.known.push(name);
        self.members.remove(name).and_then(|value| self.parsed(name, &value, parse))
    }

    /// Takes a member that may be left out, or `null`, which reads as left out.
    pub fn nullable<T>(
        &mut self,
        name: &'static str,
        parse: impl FnOnce(&Value) -> Result<T, String>,
    ) -> Option<T> {
        if self.is_null(name) {
            self.members.remove(name);
        }
        self.optional(name, parse)
    }

    /// Takes a member that is an object with members of its own, and may be left out, or `null`, which reads as left
    /// out. Its faults are this body's, each with its own pointer: `#/limits/minute`.
    pub fn nullable_object<T>(&mut self, name: &'static str, read: impl FnOnce(&mut Self) -> T) -> Option<T> {
        let members = self.nullable(name, |value| {
            value.as_object().cloned().ok_or_else(|| format!("must be an object, not {}", kind(value)))
        })?;
        let mut inner = Self { members, known: Vec::new(), faults: Vec::new() };
        let value = read(&mut inner);
        let faults = inner.into_faults();
        let sound = faults.is_empty();
        self.faults.extend(faults.into_iter().map(|fault| {
            let below = fault.pointer.strip_prefix('#').unwrap_or_default();
            Fault { pointer: format!("{}{below}", pointer(name)), detail: fault.detail }
        }));
        sound.then_some(value)
    }

    /// Returns true if the body has the member, and it is `null`.
    #[must_use]
    pub fn is_null(&self, name: &str) -> bool {
        self.members.get(name).is_some_and(Value::is_null)
    }

    /// Returns true if the body has no member that was not taken yet.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.members.is_empty()
    }

    /// Notes a fault of a member.
    pub fn fault(&mut self, name: &str, detail: impl Into<String>) {
        self.faults.push(Fault { pointer: pointer(name), detail: detail.into() });
    }

    /// Notes a fault of the object as a whole.
    pub fn fault_of_all(&mut self, detail: impl Into<String>) {
        self.faults.push(Fault { pointer: "#".to_owned(), detail: detail.into() });
    }

    /// Checks that no member is left and that none was wrong.
    ///
    /// # Errors
    /// Returns `fields-invalid` with every fault.
    pub fn finish(self) -> Result<(), Problem> {
        let faults = self.into_faults();
        if faults.is_empty() { Ok(()) } else { Err(Problem::invalid_fields(&faults)) }
    }

    /// Returns every fault, what is left among them.
    fn into_faults(mut self) -> Vec<Fault> {
        for name in std::mem::take(&mut self.members).into_iter().map(|(name, _)| name) {
            let detail = self.unknown(&name);
            self.fault(&name, detail);
        }
        self.faults
    }

    fn parsed<T>(
        &mut self,
        name: &str,
        value: &Value,
        parse: impl FnOnce(&Value) -> Result<T, String>,
    ) -> Option<T> {
        parse(value).map_err(|detail| self.fault(name, detail)).ok()
    }

    fn unknown(&self, name: &str) -> String {
        match self.known.iter().find(|known| edit_distance(known, name) <= 2) {
            Some(meant) => format!("is not a field here; did you mean `{meant}`?"),
            None => format!("is not a field here; there are {}", self.known.join(", ")),
        }
    }
}

/// Returns a member's value as text.
///
/// # Errors
/// What is wrong with it, for [`Fields::required`] and [`Fields::optional`].
pub fn text(value: &Value) -> Result<&str, String> {
    value.as_str().ok_or_else(|| format!("must be a string, not {}", kind(value)))
}

/// Returns the type of a JSON value in words.
#[must_use]
pub const fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}

/// `#/name`, with the name escaped as RFC 6901 and RFC 3986 demand; at most 64 characters of it.
fn pointer(name: &str) -> String {
    let mut pointer = "#/".to_owned();
    for c in name.chars().take(64) {
        match c {
            '~' => pointer.push_str("~0"),
            '/' => pointer.push_str("~1"),
            c if c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.') => pointer.push(c),
            _ => pointer.push('?'),
        }
    }
    pointer
}

/// Returns the kind of fault only: serde's own text may quote the body, and bodies carry secrets.
fn reason(fault: &serde_json::Error) -> &'static str {
    match fault.classify() {
        serde_json::error::Category::Eof => "the body ends too early",
        serde_json::error::Category::Data => "the body must be one JSON object with each member once; not so",
        serde_json::error::Category::Io | serde_json::error::Category::Syntax => "the body is not JSON",
    }
}

struct UniqueMembers(Map<String, Value>);

impl<'de> Deserialize<'de> for UniqueMembers {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Members;
        impl<'de> Visitor<'de> for Members {
            type Value = Map<String, Value>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Self::Value, A::Error> {
                let mut members = Map::new();
                while let Some((name, value)) = access.next_entry::<String, Value>()? {
                    if members.insert(name, value).is_some() {
                        return Err(A::Error::custom("a member twice"));
                    }
                }
                Ok(members)
            }
        }
        deserializer.deserialize_map(Members).map(UniqueMembers)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn detail(body: &str) -> String {
        Fields::read(body.as_bytes()).err().map(|problem| problem.detail().to_owned()).unwrap_or_default()
    }

    #[test]
    fn a_member_sent_twice_is_refused() {
        assert!(detail(r#"{"tier":"free","tier":"enterprise"}"#).contains("each member once"));
    }

    #[test]
    fn a_body_that_is_no_object_is_refused_without_quoting_it() {
        for body in ["", "[]", "\"hush\"", "{\"a\":hush}", "{} hush"] {
            let detail = detail(body);
            assert!(!detail.is_empty() && !detail.contains("hush"), "{body}: {detail}");
        }
    }

    #[test]
    fn every_fault_is_kept_and_a_near_miss_is_met_with_the_right_name() {
        let mut fields = Fields::read(br#"{"emial":"x","name":7}"#).unwrap();
        assert_eq!(fields.required("email", |value| text(value).map(str::to_owned)), None);
        assert_eq!(fields.required("name", |value| text(value).map(str::to_owned)), None);
        let problem = fields.finish().unwrap_err();
        let body = problem.render(&crate::request_id::RequestId([0; 16])).body;
        assert!(body.contains("#/email") && body.contains("must be a string, not a number"), "{body}");
        assert!(body.contains("did you mean `email`?"), "{body}");
    }
}
