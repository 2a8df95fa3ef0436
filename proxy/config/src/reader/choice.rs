//! Settings that are one of several words.

use super::effective::{ToToml, quoted};
use super::{Entry, ValueError};

/// A setting that is one of several words.
pub(crate) trait Choice: Copy + PartialEq + 'static {
    /// The name of the setting in error messages.
    const NAME: &'static str;
    /// The words with their values, in the order in which error messages list them.
    const WORDS: &'static [(&'static str, Self)];
}

/// Parses one of the words of a setting.
pub(crate) fn choice<T: Choice>(entry: &Entry<'_>) -> Result<T, ValueError> {
    let text = entry.text()?;
    let found = T::WORDS.iter().find(|(word, _)| *word == text);
    found.map(|(_, value)| *value).ok_or_else(|| {
        let words: Vec<_> = T::WORDS.iter().map(|(word, _)| *word).collect();
        ValueError::invalid(T::NAME, text, alternatives(&words))
    })
}

/// Returns words as an enumeration: `a, b or c`.
pub(crate) fn alternatives(words: &[&str]) -> String {
    match words {
        [] => String::new(),
        [word] => (*word).to_owned(),
        [words @ .., last] => format!("{} or {last}", words.join(", ")),
    }
}

impl<T: Choice> ToToml for T {
    fn to_toml(&self) -> Option<String> {
        T::WORDS.iter().find(|(_, value)| value == self).map(|(word, _)| quoted(word))
    }
}

/// Implements [`Choice`] for enums.
macro_rules! choices {
    ($($type:ty: $name:literal { $($word:literal => $value:expr),* $(,)? })*) => {
        $(impl $crate::reader::choice::Choice for $type {
            const NAME: &'static str = $name;
            const WORDS: &'static [(&'static str, Self)] = &[$(($word, $value)),*];
        })*
    };
}
pub(crate) use choices;
