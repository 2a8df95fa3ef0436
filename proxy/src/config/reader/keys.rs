//! Which keys there are: the reader's own questions are the list. It names what is unknown, and keeps
//! `conf/README.md` and the schema for editors complete.

use std::{cell::RefCell, collections::BTreeSet, ops::Range};

use shared::tool::{Tool, edit_distance};

/// Every key that was asked for while one file was read, and every key that nobody asked for.
#[derive(Debug, Default)]
pub(crate) struct Keys {
    asked: RefCell<BTreeSet<String>>,
    unknown: RefCell<Vec<Unknown>>,
}

/// A key of the file that nobody asked for.
#[derive(Debug)]
pub(crate) struct Unknown {
    /// Where it stands.
    pub(crate) span: Range<usize>,
    /// Its whole path.
    pub(crate) path: String,
    /// Its own name.
    pub(crate) name: String,
    /// The keys that its section has.
    pub(crate) siblings: Vec<&'static str>,
}

impl Keys {
    pub(crate) fn asked(&self, path: &str) {
        self.asked.borrow_mut().insert(general(path));
    }

    pub(crate) fn unknown(&self, key: Unknown) {
        self.unknown.borrow_mut().push(key);
    }

    /// Every key, in its general form: `pools.{tool}.upstreams`.
    pub(crate) fn into_asked(self) -> BTreeSet<String> {
        self.asked.into_inner()
    }

    /// The unknown keys, each with what was probably meant. Only at the end of the file all keys are known.
    pub(crate) fn explain(&self) -> Vec<(Unknown, String)> {
        let unknown = self.unknown.take();
        unknown.into_iter().map(|key| (self.meant(&key), key)).map(|(meant, key)| (key, meant)).collect()
    }

    fn meant(&self, key: &Unknown) -> String {
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

    /// The section that has a key of this name: one below the key's own before any other.
    fn elsewhere(&self, key: &Unknown) -> Option<String> {
        let own = key.path.strip_suffix(&key.name).unwrap_or("");
        let below = general(own);
        let asked = self.asked.borrow();
        let sections = asked.iter().filter_map(|path| {
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

/// One letter in three is wrong, or letters have changed places.
fn is_near(known: &str, written: &str) -> bool {
    let sorted = |text: &str| {
        let mut letters: Vec<_> = text.chars().collect();
        letters.sort_unstable();
        letters
    };
    edit_distance(known, written) * 3 <= known.len().max(written.len()) || sorted(known) == sorted(written)
}

/// A path without the tool and the place in an array that it happens to name.
fn general(path: &str) -> String {
    let parts = path.split('.').enumerate().map(|(depth, part)| match part.split_once('[') {
        Some((name, _place)) => format!("{name}[]"),
        None if depth == 1 && Tool::parse(part).is_some() && path.starts_with("pools.") => {
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
