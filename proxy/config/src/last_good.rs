//! The last good state of what a configuration takes from other files: what stays in use while a file
//! is faulty.
//!
//! Why: docs/decisions/proxy.md, "A faulty file keeps its last good state and nothing else's".

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;

use transport::tls::ServerTls;

/// The last good content of each file that a configuration names, by the key that names it.
#[derive(Clone, Default)]
pub struct LastGood {
    contents: BTreeMap<String, Content>,
    tls: Option<ServerTls>,
}

#[derive(Clone)]
struct Content {
    text: String,
    place: Kept,
}

/// The place where a last good content is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kept {
    /// In memory, until the process exits: secrets are never written.
    InMemory,
    /// Also on disk, for the next process.
    OnDisk,
}

/// The knowledge of the files that a configuration names, before they are read.
#[derive(Clone, Copy, Debug)]
pub struct Known<'a> {
    /// What stays in use of a faulty file.
    pub last_good: &'a LastGood,
    /// The files that are being written. Their last good content stays in use, and they are not faulty.
    pub changing: &'a [PathBuf],
}

static NOTHING: LastGood = LastGood::new();

impl Known<'static> {
    /// Nothing is known: every file is read, and a faulty one has no content.
    pub const NOTHING: Self = Self { last_good: &NOTHING, changing: &[] };
}

impl LastGood {
    /// Returns one that has nothing.
    pub(super) const fn new() -> Self {
        Self { contents: BTreeMap::new(), tls: None }
    }

    /// Returns the contents that a former process has stored.
    pub fn of_stored(stored: BTreeMap<String, String>) -> Self {
        let content = |text| Content { text, place: Kept::OnDisk };
        let contents = stored.into_iter().map(|(key, text)| (key, content(text))).collect();
        Self { contents, tls: None }
    }

    /// Returns the contents to store for the next process, by key.
    pub fn to_stored(&self) -> BTreeMap<String, String> {
        let stored = self.contents.iter().filter(|(_, content)| content.place == Kept::OnDisk);
        stored.map(|(key, content)| (key.clone(), content.text.clone())).collect()
    }

    /// Returns the keys whose content is another than in `former`.
    pub(super) fn changed_keys(&self, former: &Self) -> Vec<String> {
        let all = self.contents.keys().chain(former.contents.keys());
        all.filter(|key| self.content(key) != former.content(key)).cloned().collect()
    }

    /// Returns the content of a key.
    pub(super) fn content(&self, key: &str) -> Option<&str> {
        self.contents.get(key).map(|content| content.text.as_str())
    }

    /// Returns the certificate towards clients, with its key.
    pub(super) const fn tls(&self) -> Option<&ServerTls> {
        self.tls.as_ref()
    }

    pub(super) fn keep(&mut self, key: &str, text: String, place: Kept) {
        self.contents.insert(key.to_owned(), Content { text, place });
    }

    pub(super) fn keep_tls(&mut self, tls: ServerTls) {
        self.tls = Some(tls);
    }
}

impl fmt::Debug for LastGood {
    /// Omits the contents, because secrets are among them.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LastGood").field("keys", &self.contents.keys()).finish_non_exhaustive()
    }
}
