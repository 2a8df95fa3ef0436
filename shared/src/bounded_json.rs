//! JSON text that never grows beyond its bounds, whatever it is made of.
//!
//! What others write (a tool's description) opens up into more than it has: a reference costs a few bytes and
//! stands for many. So what is made of it is written here, where the first byte too many is refused before
//! it is stored.
//!
//! Why: docs/decisions/proxy.md, "What a description opens up into is written to a bounded text".

use std::io;

use serde_json::Value;

/// What a text may have at most.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// Bytes of the text.
    pub bytes: usize,
    /// Values: objects, arrays, texts, numbers, booleans and nulls. A value that was read again takes up to
    /// some hundred bytes of memory, however short it is.
    pub values: usize,
    /// Objects and arrays within each other. Readers of JSON give up at 128.
    pub levels: usize,
}

/// The bound that the next part would go beyond.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Full {
    /// [`Bounds::bytes`]
    Bytes,
    /// [`Bounds::values`]
    Values,
    /// [`Bounds::levels`]
    Levels,
}

/// A JSON text that is being written. It stays within its bounds at every moment: a part that does not fit is an
/// error, after which the text is incomplete and of no use.
#[derive(Debug)]
pub struct BoundedJson {
    text: Vec<u8>,
    bounds: Bounds,
    values: usize,
    levels: usize,
    /// Whether a value came before on this level.
    follows: bool,
}

impl BoundedJson {
    /// Creates an empty text.
    pub const fn new(bounds: Bounds) -> Self {
        Self { text: Vec::new(), bounds, values: 0, levels: 0, follows: false }
    }

    /// Writes an object, whose members `fill` writes: each a [`name`](Self::name) and a value.
    ///
    /// # Errors
    /// Returns the error of `fill`, or the bound that was met.
    pub fn object<E: From<Full>>(&mut self, fill: impl FnOnce(&mut Self) -> Result<(), E>) -> Result<(), E> {
        self.nested(*b"{}", fill)
    }

    /// Writes an array, whose items `fill` writes.
    ///
    /// # Errors
    /// As [`object`](Self::object).
    pub fn array<E: From<Full>>(&mut self, fill: impl FnOnce(&mut Self) -> Result<(), E>) -> Result<(), E> {
        self.nested(*b"[]", fill)
    }

    /// Writes the name of a member. Its value must follow.
    ///
    /// # Errors
    /// Returns the bound that was met.
    pub fn name(&mut self, name: &str) -> Result<(), Full> {
        self.separate()?;
        self.plain(name)?;
        self.push(b":")?;
        self.follows = false;
        Ok(())
    }

    /// Writes a text.
    ///
    /// # Errors
    /// Returns the bound that was met.
    pub fn text(&mut self, text: &str) -> Result<(), Full> {
        self.begin()?;
        self.plain(text)
    }

    /// Writes a member whose value is a text.
    ///
    /// # Errors
    /// Returns the bound that was met.
    pub fn text_member(&mut self, name: &str, text: &str) -> Result<(), Full> {
        self.name(name)?;
        self.text(text)
    }

    /// Writes a copy of a value.
    ///
    /// # Errors
    /// Returns the bound that was met.
    pub fn value(&mut self, value: &Value) -> Result<(), Full> {
        match value {
            Value::Object(members) => self.object(|json| {
                members.iter().try_for_each(|(name, value)| {
                    json.name(name)?;
                    json.value(value)
                })
            }),
            Value::Array(items) => self.array(|json| items.iter().try_for_each(|item| json.value(item))),
            Value::String(text) => self.text(text),
            Value::Null | Value::Bool(_) | Value::Number(_) => {
                self.begin()?;
                self.plain(value)
            }
        }
    }

    /// Returns the number of bytes so far.
    pub const fn len(&self) -> usize {
        self.text.len()
    }

    /// Returns true if nothing was written.
    pub const fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    /// Returns the text.
    pub fn into_text(self) -> String {
        // Nothing but JSON in UTF-8 was written.
        String::from_utf8(self.text).unwrap_or_default()
    }

    fn nested<E: From<Full>>(
        &mut self,
        [open, close]: [u8; 2],
        fill: impl FnOnce(&mut Self) -> Result<(), E>,
    ) -> Result<(), E> {
        self.begin()?;
        // Whoever reads it calls itself for each level.
        if self.levels == self.bounds.levels {
            return Err(Full::Levels.into());
        }
        self.levels += 1;
        self.push(&[open])?;
        self.follows = false;
        fill(self)?;
        self.push(&[close])?;
        self.follows = true;
        self.levels -= 1;
        Ok(())
    }

    /// Begins a value.
    fn begin(&mut self) -> Result<(), Full> {
        self.separate()?;
        if self.values == self.bounds.values {
            return Err(Full::Values);
        }
        self.values += 1;
        self.follows = true;
        Ok(())
    }

    fn separate(&mut self) -> Result<(), Full> {
        if self.follows { self.push(b",") } else { Ok(()) }
    }

    /// Writes what has no other value in it.
    fn plain<T: serde::Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Full> {
        // Written through, because escapes can make a text six times as long.
        serde_json::to_writer(Unbuffered(self), value).map_err(|_| Full::Bytes)
    }

    fn push(&mut self, bytes: &[u8]) -> Result<(), Full> {
        // Before it is added, so that the text never grows beyond its bound.
        if bytes.len() > self.bounds.bytes - self.text.len() {
            return Err(Full::Bytes);
        }
        self.text.extend_from_slice(bytes);
        Ok(())
    }
}

/// Hands on what `serde_json` writes, piece by piece, so that it stops at the first that does not fit.
struct Unbuffered<'a>(&'a mut BoundedJson);

impl io::Write for Unbuffered<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.push(bytes).map_err(|_| io::Error::from(io::ErrorKind::StorageFull))?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    const WIDE: Bounds = Bounds { bytes: 1 << 20, values: 1 << 20, levels: 100 };

    fn written(value: &Value, bounds: Bounds) -> Result<String, Full> {
        let mut json = BoundedJson::new(bounds);
        let result = json.value(value);
        assert!(json.len() <= bounds.bytes && json.text.capacity() <= 2 * bounds.bytes.max(8));
        result.map(|()| json.into_text())
    }

    fn values(value: &Value) -> usize {
        1 + match value {
            Value::Object(members) => members.values().map(values).sum(),
            Value::Array(items) => items.iter().map(values).sum::<usize>(),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => 0,
        }
    }

    fn levels(value: &Value) -> usize {
        match value {
            Value::Object(members) => 1 + members.values().map(levels).max().unwrap_or(0),
            Value::Array(items) => 1 + items.iter().map(levels).max().unwrap_or(0),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => 0,
        }
    }

    fn any_value() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<f64>().prop_map(Value::from),
            ".{0,8}".prop_map(Value::from),
        ];
        leaf.prop_recursive(5, 40, 6, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
                prop::collection::btree_map("\\PC{0,4}", inner, 0..6)
                    .prop_map(|members| { Value::Object(members.into_iter().collect()) }),
            ]
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(100))]

        #[test]
        fn text_is_that_of_serde_json_and_each_bound_is_exact(value in any_value()) {
            let text = value.to_string();
            prop_assert_eq!(written(&value, WIDE), Ok(text.clone()));
            let exact = Bounds { bytes: text.len(), values: values(&value), levels: levels(&value) };
            prop_assert_eq!(written(&value, exact), Ok(text.clone()));
            let less = Bounds { bytes: exact.bytes - 1, ..exact };
            prop_assert_eq!(written(&value, less), Err(Full::Bytes));
            let less = Bounds { values: exact.values - 1, ..exact };
            prop_assert_eq!(written(&value, less), Err(Full::Values));
            if exact.levels > 0 {
                let less = Bounds { levels: exact.levels - 1, ..exact };
                prop_assert_eq!(written(&value, less), Err(Full::Levels));
            }
        }
    }

    #[test]
    fn members_and_items_are_separated() {
        let mut json = BoundedJson::new(WIDE);
        let result: Result<(), Full> = json.object(|json| {
            json.text_member("a", "1")?;
            json.name("b")?;
            json.array(|json| {
                json.value(&json!({}))?;
                json.text("c")
            })?;
            json.text_member("d", "\"")
        });
        assert_eq!((result, json.into_text().as_str()), (Ok(()), r#"{"a":"1","b":[{},"c"],"d":"\""}"#));
    }

    #[test]
    fn long_text_is_refused_before_it_is_stored() {
        let mut json = BoundedJson::new(Bounds { bytes: 100, ..WIDE });
        assert_eq!(json.text(&"x".repeat(1 << 20)), Err(Full::Bytes));
        assert!(json.text.capacity() <= 200, "{}", json.text.capacity());
    }
}
