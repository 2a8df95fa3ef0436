//! What this process leaves to the next one, so that a faulty file or an unreachable name server does not
//! stop a restart or an upgrade: the last good content of files, and the last known servers of names.
//!
//! Why: docs/decisions/proxy.md, "A faulty file keeps its last good state and nothing else's".

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use parking_lot::Mutex;
use rustix::process::geteuid;
use serde::{Deserialize, Serialize};

use config::state_directory;
use config::{Config, LastGood, file};
use upstreams::ResolvedNames;

/// The last good state, in the form in which it is stored.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Stored {
    /// The content of files, by the key of the configuration.
    parts: BTreeMap<String, String>,
    /// The servers of names.
    names: ResolvedNames,
}

/// The file of the last good state.
#[derive(Debug)]
pub struct LastGoodFile {
    path: PathBuf,
    written: Mutex<Written>,
}

/// What the file has.
#[derive(Debug, Default)]
struct Written {
    stored: Stored,
    /// Whether the last write failed.
    has_failed: bool,
}

/// Maximum size of the file: each pool can have its own file of authorities.
pub const MAX_BYTES: u64 = 64 << 20;

impl Stored {
    /// Returns what is good in a configuration, and the servers of its names.
    pub fn of(config: &Config, names: &ResolvedNames) -> Self {
        Self { parts: config.last_good.to_stored(), names: names.clone() }
    }

    /// Returns the contents for a configuration that is loaded.
    pub fn last_good(&self) -> LastGood {
        LastGood::of_stored(self.parts.clone())
    }

    /// Returns the servers of names.
    pub fn into_names(self) -> ResolvedNames {
        self.names
    }

    /// Parses what another process has written. Returns `None` if it is not of this form.
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        serde_json::from_slice(bytes).ok()
    }

    /// Returns the text for another process.
    pub fn to_text(&self) -> String {
        // It has only strings and numbers, so it can be written.
        serde_json::to_string_pretty(self).unwrap_or_default()
    }
}

impl LastGoodFile {
    /// Returns the file of the process with this configuration file. It is in the state directory that
    /// systemd or the operator names, or else beside the configuration file.
    pub fn of(config: &Path, state_directory: Option<&OsStr>) -> Self {
        let path = state_directory::place(config, state_directory, ".last-good.json");
        Self { path, written: Mutex::default() }
    }

    /// Reads the state that a former process has stored. It is empty without a file, or if the file is damaged
    /// or others can write it.
    pub fn read(&self) -> Stored {
        let read = self.try_read().unwrap_or_else(|error| {
            let file = self.path.display();
            log::warn!("last good state of the former process not read: file={file} error=\"{error}\"");
            None
        });
        let stored = read.unwrap_or_default();
        self.written.lock().stored.clone_from(&stored);
        stored
    }

    fn try_read(&self) -> io::Result<Option<Stored>> {
        let found = match fs::symlink_metadata(&self.path) {
            Ok(found) => found,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        // Whoever can write it decides where calls go.
        let is_own = found.uid() == geteuid().as_raw() || found.uid() == 0;
        if !is_own || found.mode() & 0o022 != 0 {
            return Err(io::Error::other("others can write it: expected a file of this user, mode 0600"));
        }
        let bytes = file::read_at_most(&self.path, MAX_BYTES)?;
        Stored::parse(&bytes).map(Some).ok_or_else(|| io::Error::other("it is damaged"))
    }

    /// Replaces the file if it has another state than `current` returns. Logs each change between success
    /// and failure.
    pub fn write(&self, current: impl FnOnce() -> Stored) {
        // Taken first, so that no other thread writes an older state after this one.
        let mut written = self.written.lock();
        let stored = current();
        if written.stored == stored {
            return;
        }
        let (result, file) =
            (state_directory::replace(&self.path, &[&stored.to_text(), "\n"]), self.path.display());
        let had_failed = std::mem::replace(&mut written.has_failed, result.is_err());
        match result {
            Ok(()) if had_failed => log::info!("last good state stored again: file={file}"),
            Ok(()) => {}
            Err(error) if !had_failed => log::warn!(
                "last good state not stored, a restart has none of a faulty file: file={file} error=\"{error}\""
            ),
            Err(_) => return,
        }
        if !written.has_failed {
            written.stored = stored;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    fn stored(text: &str) -> Stored {
        Stored { parts: [("pools.qr.upstreams".to_owned(), text.to_owned())].into(), ..Stored::default() }
    }

    #[test]
    fn stored_state_is_read_by_the_next_process() {
        let folder = tempfile::tempdir().unwrap();
        let config = folder.path().join("proxy.toml");
        let file = || LastGoodFile::of(&config, None);
        assert_eq!(file().read(), Stored::default());
        for text in ["10.0.0.4:9100", "10.0.0.5:9100 backup"] {
            let writer = file();
            writer.write(|| stored(text));
            assert_eq!(file().read(), stored(text));
        }
        let path = folder.path().join("proxy.toml.last-good.json");
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "nothing is left beside it");
    }

    #[test]
    fn damaged_or_foreign_file_is_not_used() {
        let folder = tempfile::tempdir().unwrap();
        let file = LastGoodFile::of(Path::new("/etc/utg/proxy.toml"), Some(folder.path().as_os_str()));
        let path = folder.path().join("proxy.toml.last-good.json");
        file.write(|| stored("10.0.0.4:9100"));
        fs::set_permissions(&path, fs::Permissions::from_mode(0o666)).unwrap();
        assert_eq!(file.read(), Stored::default());
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        assert_eq!(file.read(), stored("10.0.0.4:9100"));
        let whole = fs::read(&path).unwrap();
        fs::write(&path, &whole[..whole.len() / 2]).unwrap();
        assert_eq!(file.read(), Stored::default());
    }

    #[test]
    fn file_is_in_the_first_state_directory() {
        let path = |state| LastGoodFile::of(Path::new("/etc/utg/proxy.toml"), state).path;
        let beside = Path::new("/etc/utg/proxy.toml.last-good.json");
        assert_eq!(path(None), beside);
        assert_eq!(path(Some(OsStr::new(""))), beside);
        let named = path(Some(OsStr::new("/var/lib/utg:/var/lib/other")));
        assert_eq!(named, Path::new("/var/lib/utg/proxy.toml.last-good.json"));
    }
}
