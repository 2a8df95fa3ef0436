//! The effective configuration: the values of a file with environment references replaced, and the
//! defaults of the keys that it leaves out.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fmt::{self, Write as _};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use ipnet::IpNet;

use super::values;

/// The values in TOML, by the path of their key.
#[derive(Debug, Default)]
pub(crate) struct Effective(RefCell<BTreeMap<String, Value>>);

/// The values of a file by their key, to compare them with those of another file. Secrets are not among
/// them.
#[derive(Clone, Default)]
pub(crate) struct EffectiveValues(BTreeMap<String, String>);

#[derive(Debug)]
enum Value {
    Scalar(String),
    Array(Vec<String>),
}

impl Effective {
    /// Records a value. A path such as `accept[0]` is an element of an array.
    pub(crate) fn record(&self, path: &str, value: String) {
        let mut values = self.0.borrow_mut();
        match path.strip_suffix(']').and_then(|path| path.split_once('[')) {
            Some((array, _index)) => {
                if let Value::Array(elements) =
                    values.entry(array.to_owned()).or_insert_with(|| Value::Array(Vec::new()))
                {
                    elements.push(value);
                }
            }
            None => {
                values.insert(path.to_owned(), Value::Scalar(value));
            }
        }
    }

    /// Records an array, whose elements follow.
    pub(crate) fn record_array(&self, path: &str) {
        self.0.borrow_mut().insert(path.to_owned(), Value::Array(Vec::new()));
    }

    /// Returns the values by their key.
    pub(crate) fn values(&self) -> EffectiveValues {
        let text = |value: &Value| match value {
            Value::Scalar(value) => value.clone(),
            Value::Array(elements) => format!("[{}]", elements.join(", ")),
        };
        EffectiveValues(self.0.borrow().iter().map(|(path, value)| (path.clone(), text(value))).collect())
    }

    /// Returns all values as a TOML file.
    pub(crate) fn into_text(self) -> String {
        let mut sections: BTreeMap<String, String> = BTreeMap::new();
        for (path, value) in self.0.into_inner() {
            let (section, key) = path.rsplit_once('.').unwrap_or(("", &path));
            let text = sections.entry(section.to_owned()).or_default();
            // Writing to memory cannot fail.
            let _infallible = match value {
                Value::Scalar(value) => writeln!(text, "{key} = {value}"),
                Value::Array(elements) => writeln!(text, "{key} = [{}]", elements.join(", ")),
            };
        }
        let section = |(name, text): (String, String)| match name.as_str() {
            "" => text,
            name => format!("\n[{name}]\n{text}"),
        };
        sections.into_iter().map(section).collect()
    }
}

impl EffectiveValues {
    /// Returns the keys whose value is another one than in `former`.
    pub(crate) fn changed_keys<'a>(&'a self, former: &'a Self) -> impl Iterator<Item = &'a String> {
        let all = self.0.keys().chain(former.0.keys());
        all.filter(|key| self.0.get(*key) != former.0.get(*key))
    }
}

impl fmt::Debug for EffectiveValues {
    /// Omits the values, because configurations are compared by what they mean.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EffectiveValues").finish_non_exhaustive()
    }
}

/// Returns a string in TOML notation. The escapes of JSON are among those of TOML.
pub(crate) fn quoted(text: &str) -> String {
    let quoted = serde_json::Value::from(text).to_string();
    quoted.replace('\u{7f}', "\\u007f")
}

/// A default value that can be shown in TOML.
pub(crate) trait ToToml {
    /// Returns the value in TOML, or `None` if the default is to leave the key out.
    fn to_toml(&self) -> Option<String>;
}

/// A number of bytes, written with its unit.
#[derive(Clone, Copy)]
pub(crate) struct Size(pub(crate) u64);

impl ToToml for Size {
    fn to_toml(&self) -> Option<String> {
        let units = [(1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")];
        let unit = units.into_iter().find(|(scale, _)| self.0 > 0 && self.0.is_multiple_of(*scale));
        let (scale, name) = unit.unwrap_or((1, "B"));
        Some(quoted(&format!("{}{name}", self.0 / scale)))
    }
}

impl ToToml for Duration {
    fn to_toml(&self) -> Option<String> {
        Some(quoted(&values::show(*self)))
    }
}

impl ToToml for String {
    fn to_toml(&self) -> Option<String> {
        Some(quoted(self))
    }
}

impl ToToml for PathBuf {
    fn to_toml(&self) -> Option<String> {
        self.to_str().map(quoted)
    }
}

impl ToToml for SocketAddr {
    fn to_toml(&self) -> Option<String> {
        Some(quoted(&self.to_string()))
    }
}

impl ToToml for IpNet {
    fn to_toml(&self) -> Option<String> {
        Some(quoted(&self.to_string()))
    }
}

impl<T: ToToml> ToToml for Option<T> {
    fn to_toml(&self) -> Option<String> {
        self.as_ref().and_then(ToToml::to_toml)
    }
}

impl<T: ToToml> ToToml for Vec<T> {
    fn to_toml(&self) -> Option<String> {
        let elements: Vec<_> = self.iter().filter_map(ToToml::to_toml).collect();
        Some(format!("[{}]", elements.join(", ")))
    }
}

macro_rules! to_toml_as_is {
    ($($type:ty),*) => {
        $(impl ToToml for $type {
            fn to_toml(&self) -> Option<String> {
                Some(self.to_string())
            }
        })*
    };
}

to_toml_as_is!(bool, u16, u32, u64, usize);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_are_escaped_and_sizes_have_units() {
        assert_eq!(quoted("a\"b\\c\n\u{7f}é"), "\"a\\\"b\\\\c\\n\\u007fé\"");
        for (bytes, text) in [(0, "0B"), (1_000, "1000B"), (1 << 10, "1KiB"), (10 << 20, "10MiB")] {
            assert_eq!(Size(bytes).to_toml(), Some(quoted(text)));
        }
    }
}
