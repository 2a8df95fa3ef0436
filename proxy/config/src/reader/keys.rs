//! The known keys, collected as the reader reads them, and the unknown keys of a file. Tests
//! compare the known keys with `conf/README.md` and the schema for editors.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::ops::Range;

use shared::fields::edit_distance;
use shared::tool::Tool;

/// The known and unknown keys of one file.
#[derive(Debug, Default)]
pub(crate) struct Keys {
    /// Every known key in its general form, such as `pools.{tool}.upstreams`.
    pub(crate) known: RefCell<BTreeSet<String>>,
    /// The keys of the file that were not read.
    pub(super) unknown: RefCell<Vec<UnknownKey>>,
}

/// A key of the file that the reader does not know.
#[derive(Debug)]
pub(crate) struct UnknownKey {
    /// The position in the file.
    pub(crate) span: Range<usize>,
    /// The full path.
    pub(crate) path: String,
    /// The last part of the path.
    pub(crate) name: String,
    /// The known keys of its section.
    pub(crate) siblings: Vec<&'static str>,
}

impl Keys {
    /// Adds a key that the reader reads.
    pub(super) fn add_known(&self, path: &str) {
        self.known.borrow_mut().insert(general(path));
    }

    /// Returns the unknown keys with error messages that suggest a known key. Must be called when
    /// the whole file was read.
    pub(super) fn explain(&self) -> Vec<(UnknownKey, String)> {
        let unknown = self.unknown.take();
        unknown.into_iter().map(|key| (self.hint(&key), key)).map(|(hint, key)| (key, hint)).collect()
    }

    fn hint(&self, key: &UnknownKey) -> String {
        let nearest = key.siblings.iter().min_by_key(|sibling| edit_distance(sibling, &key.name));
        if let Some(sibling) = nearest.filter(|sibling| is_near(sibling, &key.name)) {
            return format!("unknown key `{}`; did you mean `{sibling}`?", key.name);
        }
        match self.elsewhere(key).as_deref() {
            Some("") => {
                format!("unknown key `{}`; it belongs at the top of the file, before any section", key.name)
            }
            Some(section) => format!("unknown key `{}`; it belongs in [{section}]", key.name),
            None => format!("unknown key `{}`; expected one of {}", key.name, key.siblings.join(", ")),
        }
    }

    /// Returns a section that has a key of this name, preferably one below the section of the key.
    fn elsewhere(&self, key: &UnknownKey) -> Option<String> {
        let own = key.path.strip_suffix(&key.name).unwrap_or("");
        let below = general(own);
        let known = self.known.borrow();
        let sections = known.iter().filter_map(|path| {
            let section = path.strip_suffix(&key.name)?;
            (section.is_empty() || section.ends_with('.')).then_some(section)
        });
        let nearest = sections.min_by_key(|section| below.is_empty() || !section.starts_with(&below))?;
        let nearest = match nearest.strip_prefix(&below) {
            Some(rest) => format!("{own}{rest}"),
            None => nearest.to_owned(),
        };
        Some(nearest.trim_end_matches('.').to_owned())
    }
}

/// Returns true if at most one letter in three differs, or if letters are only swapped.
fn is_near(known: &str, found: &str) -> bool {
    let sorted = |text: &str| {
        let mut letters: Vec<_> = text.chars().collect();
        letters.sort_unstable();
        letters
    };
    edit_distance(known, found) * 3 <= known.len().max(found.len()) || sorted(known) == sorted(found)
}

/// Returns the general form of a path: `{tool}` in place of a tool, `[]` in place of an index.
fn general(path: &str) -> String {
    let parts = path.split('.').enumerate().map(|(depth, part)| match part.split_once('[') {
        Some((name, _index)) => format!("{name}[]"),
        None if depth == 1 && part.parse::<Tool>().is_ok() && path.starts_with("pools.") => {
            "{tool}".to_owned()
        }
        None => part.to_owned(),
    });
    parts.collect::<Vec<_>>().join(".")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn general_path_replaces_tool_and_index() {
        assert_eq!(general("pools.qr.upstreams[3].weight"), "pools.{tool}.upstreams[].weight");
        assert_eq!(general("pools.yt"), "pools.{tool}");
        assert_eq!(general("server.qr"), "server.qr");
    }
}
