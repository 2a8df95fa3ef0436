//! Reads a JSON body field by field and collects every error, so that a client sees all of them at
//! once.

mod merge;

use std::{borrow::Cow, fmt};

use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};
use thiserror::Error as ErrorType;

use crate::problem::{FieldError, Problem, codes};

pub use merge::merge;

/// The members of one JSON object, taken out one by one. A member that is left at the end is an
/// error.
pub struct Fields {
    members: Map<String, Value>,
    known: Vec<&'static str>,
    hints: Hints,
    errors: Vec<FieldError>,
}

/// Names that other products give to a field, each with what to write instead.
pub type Hints = &'static [(&'static str, &'static str)];

/// An error of a member that has another JSON type than expected. It never quotes the value,
/// because bodies carry secrets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ErrorType)]
#[error("must be {expected}, not {found}")]
pub struct TypeError {
    expected: &'static str,
    found: &'static str,
}

impl TypeError {
    /// Returns the error of a `value` where `expected`, such as "a string", must be.
    pub const fn new(expected: &'static str, value: &Value) -> Self {
        Self { expected, found: kind(value) }
    }
}

impl Fields {
    /// Reads a body that is one JSON object.
    ///
    /// # Errors
    /// Returns `body-malformed` if it is not, or if an object in it has a member twice: two readers
    /// could pick different ones.
    pub fn read(body: &[u8]) -> Result<Self, Problem> {
        let Ok(body) = std::str::from_utf8(body) else {
            return Err(Problem::new(codes::BODY_MALFORMED, "the body is not UTF-8"));
        };
        match serde_json::from_str(body) {
            Ok(UniqueMembers(members)) => Ok(Self::of(members)),
            Err(error) => Err(Problem::new(
                codes::BODY_MALFORMED,
                format!("{} at line {} column {}", reason(&error), error.line(), error.column()),
            )),
        }
    }

    /// Returns the fields of an object that was parsed before.
    pub const fn of(members: Map<String, Value>) -> Self {
        Self { members, known: Vec::new(), hints: &[], errors: Vec::new() }
    }

    /// Returns the members of the object.
    pub fn into_members(self) -> Map<String, Value> {
        self.members
    }

    /// Takes every member, for an object whose names are free.
    pub fn take_members(&mut self) -> Map<String, Value> {
        std::mem::take(&mut self.members)
    }

    /// Sets the hints for names that other products use for the fields of this object.
    pub const fn hint(&mut self, hints: Hints) {
        self.hints = hints;
    }

    /// Drops members that are ignored, such as read-only fields of a response that is sent back.
    pub fn ignore(&mut self, names: &[&str]) {
        self.members.retain(|name, _| !names.contains(&name.as_str()));
    }

    /// Returns true if the member is there, as `null` perhaps, and was not taken yet.
    pub fn contains(&self, name: &str) -> bool {
        self.members.contains_key(name)
    }

    /// Takes a member that must be there. It is an error if it is missing or if `parse` refuses it.
    /// Returns `None` after an error.
    pub fn required<T, E: fmt::Display>(
        &mut self,
        name: &'static str,
        parse: impl FnOnce(&Value) -> Result<T, E>,
    ) -> Option<T> {
        let value = self.take_required(name)?;
        self.parsed(name, &value, parse)
    }

    /// Takes a member that may be left out. A `null` is a value like any other.
    pub fn optional<T, E: fmt::Display>(
        &mut self,
        name: &'static str,
        parse: impl FnOnce(&Value) -> Result<T, E>,
    ) -> Option<T> {
        let value = self.take(name)?;
        self.parsed(name, &value, parse)
    }

    /// Takes a member that may be left out, or `null`, which reads as left out.
    pub fn nullable<T, E: fmt::Display>(
        &mut self,
        name: &'static str,
        parse: impl FnOnce(&Value) -> Result<T, E>,
    ) -> Option<T> {
        let value = self.take(name).filter(|value| !value.is_null())?;
        self.parsed(name, &value, parse)
    }

    /// Takes a member that is an object with its own members, and may be left out, or `null`,
    /// which reads as left out. Its errors are added to this body's, each with its own pointer:
    /// `#/limits/minute`.
    pub fn nullable_object<T>(&mut self, name: &'static str, read: impl FnOnce(&mut Self) -> T) -> Option<T> {
        let members = self.nullable(name, |value| {
            value.as_object().cloned().ok_or_else(|| TypeError::new("an object", value))
        })?;
        let mut inner = Self::of(members);
        let value = read(&mut inner);
        // A value of faulty members must not be used, though it is there.
        self.absorb(&pointer(name), inner).then_some(value)
    }

    /// Takes a member that is an array of at most `max` objects. It may be left out, or `null`,
    /// which reads as left out. `read` reads one of them. Their errors are added to this body's,
    /// each with its own pointer: `#/links/3/url`.
    pub fn nullable_list<T>(
        &mut self,
        name: &'static str,
        max: usize,
        mut read: impl FnMut(&mut Self) -> Option<T>,
    ) -> Option<Vec<T>> {
        let items = self.nullable(name, |value| match value.as_array() {
            None => Err(TypeError::new("an array", value).to_string()),
            Some(items) if items.len() > max => {
                Err(format!("has {} items; at most {max} are allowed", items.len()))
            }
            Some(items) => Ok(items.clone()),
        })?;
        let (mut list, mut is_valid) = (Vec::with_capacity(items.len()), true);
        for (at, item) in items.into_iter().enumerate() {
            let place = format!("{}/{at}", pointer(name));
            let Value::Object(members) = item else {
                let detail = TypeError::new("an object", &item).to_string();
                self.errors.push(FieldError { pointer: place, detail });
                is_valid = false;
                continue;
            };
            let mut inner = Self::of(members);
            let value = read(&mut inner);
            is_valid &= self.absorb(&place, inner);
            list.extend(value);
        }
        is_valid.then_some(list)
    }

    /// Takes a member that must be an array of at most `max` values. `parse` reads one of them. Their
    /// errors are added to this body's, each with its own pointer: `#/hosts/3`.
    pub fn required_items<T, E: fmt::Display>(
        &mut self,
        name: &'static str,
        max: usize,
        parse: impl Fn(&Value) -> Result<T, E>,
    ) -> Vec<T> {
        let Some(value) = self.take_required(name) else { return Vec::new() };
        let items = match value.as_array() {
            Some(items) if items.len() <= max => items,
            Some(items) => {
                self.add_error(name, format!("has {} items; at most {max} are allowed", items.len()));
                return Vec::new();
            }
            None => {
                self.add_error(name, TypeError::new("an array", &value).to_string());
                return Vec::new();
            }
        };
        let mut list = Vec::with_capacity(items.len());
        for (at, item) in items.iter().enumerate() {
            match parse(item) {
                Ok(item) => list.push(item),
                Err(error) => {
                    let pointer = format!("{}/{at}", pointer(name));
                    self.errors.push(FieldError { pointer, detail: error.to_string() });
                }
            }
        }
        list
    }

    /// Adds errors that were found elsewhere.
    pub fn add_errors(&mut self, errors: Vec<FieldError>) {
        self.errors.extend(errors);
    }

    /// Takes over the errors of an object below `place`. Returns true if there are none.
    fn absorb(&mut self, place: &str, inner: Self) -> bool {
        let errors = inner.into_errors();
        let is_valid = errors.is_empty();
        self.errors.extend(errors.into_iter().map(|error| {
            let below = error.pointer.strip_prefix('#').unwrap_or_default();
            FieldError { pointer: format!("{place}{below}"), detail: error.detail }
        }));
        is_valid
    }

    /// Returns true if the body has the member, and it is `null`.
    pub fn is_null(&self, name: &str) -> bool {
        self.members.get(name).is_some_and(Value::is_null)
    }

    /// Returns true if the body has no member that was not taken yet.
    pub fn is_empty(&self) -> bool {
        self.members.is_empty()
    }

    /// Adds an error of the object as a whole.
    pub fn add_object_error(&mut self, detail: impl Into<String>) {
        self.errors.push(FieldError { pointer: "#".to_owned(), detail: detail.into() });
    }

    /// Adds an error of a member.
    pub fn add_error(&mut self, name: &str, detail: String) {
        self.errors.push(FieldError { pointer: pointer(name), detail });
    }

    /// Checks that no member is left and that there was no error.
    ///
    /// # Errors
    /// Returns `fields-invalid` with every error.
    pub fn finish(self) -> Result<(), Problem> {
        let errors = self.into_errors();
        if errors.is_empty() { Ok(()) } else { Err(Problem::invalid_fields(&errors)) }
    }

    /// Returns every error, those of unknown members among them.
    fn into_errors(mut self) -> Vec<FieldError> {
        // What nobody has taken is unknown. Ignored, a misspelled field would seem to be set.
        for name in std::mem::take(&mut self.members).into_iter().map(|(name, _)| name) {
            let detail = self.unknown(&name);
            self.add_error(&name, detail);
        }
        self.errors
    }

    /// Takes a member. Not generic, so that the worker has it once.
    fn take(&mut self, name: &'static str) -> Option<Value> {
        self.known.push(name);
        self.members.remove(name)
    }

    fn take_required(&mut self, name: &'static str) -> Option<Value> {
        let value = self.take(name);
        if value.is_none() {
            self.add_error(name, "is missing".to_owned());
        }
        value
    }

    fn parsed<T, E: fmt::Display>(
        &mut self,
        name: &str,
        value: &Value,
        parse: impl FnOnce(&Value) -> Result<T, E>,
    ) -> Option<T> {
        parse(value).map_err(|error| self.add_error(name, error.to_string())).ok()
    }

    fn unknown(&self, name: &str) -> String {
        let snake = snake_case(name);
        if let Some((_, hint)) = self.hints.iter().find(|(other, _)| *other == snake) {
            return format!("is not a field here; {hint}");
        }
        match self.known.iter().find(|known| edit_distance(known, &snake) <= 2) {
            Some(meant) => format!("is not a field here; did you mean `{meant}`?"),
            None => format!("is not a field here; there are {}", self.known.join(", ")),
        }
    }
}

/// Returns a member's value as text.
///
/// # Errors
/// Returns an error if it is not a string.
pub fn text(value: &Value) -> Result<&str, TypeError> {
    value.as_str().ok_or_else(|| TypeError::new("a string", value))
}

/// An error of a line of text.
#[derive(Clone, Debug, PartialEq, ErrorType)]
pub enum LineError {
    /// It is no text.
    #[error(transparent)]
    Type(#[from] TypeError),
    /// It has nothing but spaces.
    #[error("is empty")]
    Empty,
    /// It has too many characters.
    #[error("has {length} characters; expected at most {limit}")]
    TooLong {
        /// The number of characters.
        length: usize,
        /// The maximum number.
        limit: usize,
    },
    /// It has a control character, such as a line feed.
    #[error("holds a control character")]
    ControlCharacter,
}

/// Returns an amount as people type it with a point before its decimals: `9,90` is `9.90`. Three digits behind a comma may be
/// thousands, so that text stays as it is.
pub fn with_decimal_point(typed: &str) -> Cow<'_, str> {
    let typed = typed.trim();
    match typed.split_once(',') {
        Some((whole, decimals)) if decimals.len() <= 2 => format!("{whole}.{decimals}").into(),
        _ => typed.into(),
    }
}

/// Returns a member's value as a line of text of at most `limit` characters, without the spaces around it.
///
/// # Errors
/// Returns an error if it is no such line.
pub fn line(value: &Value, limit: usize) -> Result<String, LineError> {
    let text = text(value)?;
    let length = text.chars().count();
    if length > limit {
        return Err(LineError::TooLong { length, limit });
    }
    if text.chars().any(char::is_control) {
        return Err(LineError::ControlCharacter);
    }
    // After the bounds, which are about what was sent.
    match text.trim() {
        "" => Err(LineError::Empty),
        text => Ok(text.to_owned()),
    }
}

/// Returns the type of a JSON value in words.
const fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}

/// Returns `camelCase` and `kebab-case` as `snake_case`, cut to 64 characters.
fn snake_case(name: &str) -> String {
    let mut snake = String::new();
    // The distance to each known name takes time by the square of the length.
    for c in name.chars().take(64) {
        if c.is_ascii_uppercase() && !snake.is_empty() && !snake.ends_with('_') {
            snake.push('_');
        }
        snake.push(if c == '-' { '_' } else { c.to_ascii_lowercase() });
    }
    snake
}

/// Returns `#/name`, with the name escaped as RFC 6901 and RFC 3986 demand, and cut to 64
/// characters.
fn pointer(name: &str) -> String {
    let mut pointer = "#/".to_owned();
    for c in name.chars().take(64) {
        match c {
            '~' => pointer.push_str("~0"),
            '/' => pointer.push_str("~1"),
            c if c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.') => pointer.push(c),
            // The name is the client's own, and must not bring control characters into a problem.
            _ => pointer.push('?'),
        }
    }
    pointer
}

/// Returns the category of an error. serde's own text may quote the body, and bodies carry secrets.
fn reason(error: &serde_json::Error) -> &'static str {
    match error.classify() {
        serde_json::error::Category::Eof => "the body ends too early",
        serde_json::error::Category::Data => "the body must be one JSON object with each member once; not so",
        serde_json::error::Category::Io | serde_json::error::Category::Syntax => "the body is not JSON",
    }
}

/// A JSON value of which no object, at any depth, has a member twice.
struct UniqueValue(Value);

/// A JSON object whose values are such values, and that has no member twice.
struct UniqueMembers(Map<String, Value>);

struct MembersVisitor;

impl<'de> Deserialize<'de> for UniqueMembers {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(MembersVisitor)
    }
}

impl<'de> Visitor<'de> for MembersVisitor {
    type Value = UniqueMembers;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<UniqueMembers, A::Error> {
        let mut members = Map::new();
        while let Some((name, UniqueValue(value))) = access.next_entry::<String, UniqueValue>()? {
            // Programs differ on which of two members counts (RFC 8259, section 4), so a check in
            // front of the gateway could see another value.
            if members.insert(name, value).is_some() {
                return Err(A::Error::custom("a member twice"));
            }
        }
        Ok(UniqueMembers(members))
    }
}

impl<'de> Deserialize<'de> for UniqueValue {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct ValueVisitor;
        impl<'de> Visitor<'de> for ValueVisitor {
            type Value = Value;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a JSON value")
            }

            fn visit_unit<E>(self) -> Result<Value, E> {
                Ok(Value::Null)
            }

            fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
                Ok(value.into())
            }

            fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
                Ok(value.into())
            }

            fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
                Ok(value.into())
            }

            fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
                Ok(value.into())
            }

            fn visit_str<E>(self, value: &str) -> Result<Value, E> {
                Ok(value.into())
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut access: A) -> Result<Value, A::Error> {
                let mut items = Vec::new();
                while let Some(UniqueValue(item)) = access.next_element()? {
                    items.push(item);
                }
                Ok(Value::Array(items))
            }

            fn visit_map<A: MapAccess<'de>>(self, access: A) -> Result<Value, A::Error> {
                MembersVisitor.visit_map(access).map(|UniqueMembers(members)| Value::Object(members))
            }
        }
        deserializer.deserialize_any(ValueVisitor).map(UniqueValue)
    }
}

/// Levenshtein distance in characters: how many insertions, deletions and replacements lie between
/// two words.
pub fn edit_distance(a: &str, b: &str) -> usize {
    let mut row: Vec<usize> = (0..=b.chars().count()).collect();
    for (i, left) in a.chars().enumerate() {
        let mut diagonal = i;
        let mut previous = i + 1;
        let mut next = vec![previous];
        for (right, &above) in b.chars().zip(row.iter().skip(1)) {
            let replaced = diagonal + usize::from(left != right);
            previous = replaced.min(above + 1).min(previous + 1);
            diagonal = above;
            next.push(previous);
        }
        row = next;
    }
    row.last().copied().unwrap_or(0)
}

#[cfg(test)]
mod tests;
