//! The last good descriptions of the tools, on disk for the next process.
//!
//! Each tool has its own file, with what it published: the next process parses it as if it had just been
//! read, so a file that is damaged or too large is refused like a description is, and costs one tool its
//! description.
//!
//! Why: docs/decisions/proxy.md, "The last good description of a tool outlives the process".

use std::ffi::OsStr;
use std::fs::{DirBuilder, OpenOptions};
use std::io::{self, Read as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::fs::OFlags;
use shared::catalog::MAX_DESCRIPTION;
use shared::tool::Tool;

use config::state_directory;

/// Maximum size of a file: a description, and the line with its path.
const MAX_BYTES: usize = MAX_DESCRIPTION + 4 * 1024;

/// The folder of the descriptions.
#[derive(Debug)]
pub struct DescriptionStore {
    folder: PathBuf,
    /// Whether the last write failed.
    has_failed: AtomicBool,
}

/// A description as a tool published it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Published {
    /// The path at the tool.
    pub(super) path: String,
    pub(super) text: String,
}

impl DescriptionStore {
    /// Returns the store of the process with this configuration file. It is in the state directory that systemd or
    /// the operator names, or else beside the configuration file.
    pub fn of(config: &Path, state_directory: Option<&OsStr>) -> Self {
        let folder = state_directory::place(config, state_directory, ".descriptions");
        Self { folder, has_failed: AtomicBool::new(false) }
    }

    /// Reads what was stored of a tool. Logs why it cannot be read.
    pub(super) fn read(&self, tool: Tool) -> Option<Published> {
        let file = self.file(tool);
        read(&file).unwrap_or_else(|error| {
            let file = file.display();
            log::warn!("stored description not read: tool={tool} file={file} error=\"{error}\"");
            None
        })
    }

    /// Stores what a tool published. Logs why it cannot, once for all tools until it can.
    pub(super) fn write(&self, tool: Tool, published: &Published) {
        let file = self.file(tool);
        let result = self
            .create_folder()
            .and_then(|()| state_directory::replace(&file, &[&published.path, "\n", &published.text]));
        let had_failed = self.has_failed.swap(result.is_err(), Ordering::Relaxed);
        if let Err(error) = result
            && !had_failed
        {
            let file = file.display();
            log::warn!(
                "description not stored, the next process has none until it reads one: tool={tool} file={file} error=\"{error}\""
            );
        }
    }

    pub(super) fn file(&self, tool: Tool) -> PathBuf {
        self.folder.join(tool.as_str())
    }

    fn create_folder(&self) -> io::Result<()> {
        match DirBuilder::new().mode(0o700).create(&self.folder) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
            Ok(()) | Err(_) => Ok(()),
        }
    }
}

/// Reads a file, whose first line is the path. Returns `None` without a file.
fn read(file: &Path) -> io::Result<Option<Published>> {
    // Without waiting for the other end, if it is a FIFO.
    let flags = i32::try_from(OFlags::NONBLOCK.bits()).map_err(io::Error::other)?;
    let opened = match OpenOptions::new().read(true).custom_flags(flags).open(file) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        opened => opened?,
    };
    if !opened.metadata()?.is_file() {
        return Err(io::Error::other("it is not a file"));
    }
    let mut text = String::new();
    // One byte more than allowed, by which a file that is too long is told from one that just fits.
    opened.take(MAX_BYTES as u64 + 1).read_to_string(&mut text)?;
    if text.len() > MAX_BYTES {
        return Err(io::Error::other(format!("it has more than {MAX_BYTES} bytes")));
    }
    let (path, text) = text.split_once('\n').ok_or_else(|| io::Error::other("it is damaged"))?;
    Ok(Some(Published { path: path.to_owned(), text: text.to_owned() }))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use rustix::fs::{CWD, FileType, Mode, mknodat};

    use super::*;

    fn published(text: &str) -> Published {
        Published { path: "/openapi.json".to_owned(), text: text.to_owned() }
    }

    #[test]
    fn stored_description_is_read_by_the_next_process() {
        let folder = tempfile::tempdir().unwrap();
        let store = || DescriptionStore::of(&folder.path().join("proxy.toml"), None);
        assert_eq!(store().read(Tool::Qr), None);
        for text in ["{}", "", "a\nb\n"] {
            store().write(Tool::Qr, &published(text));
            assert_eq!(store().read(Tool::Qr), Some(published(text)));
        }
        store().write(Tool::Pdf, &published("pdf"));
        assert_eq!(store().read(Tool::Qr), Some(published("a\nb\n")));
        assert_eq!(fs::read_dir(&store().folder).unwrap().count(), 2, "nothing is left beside them");
    }

    #[test]
    fn file_that_is_none_is_not_read() {
        let folder = tempfile::tempdir().unwrap();
        let store = DescriptionStore::of(Path::new("/etc/utg/proxy.toml"), Some(folder.path().as_os_str()));
        let file = store.file(Tool::Qr);
        store.create_folder().unwrap();
        for bytes in [vec![b'\n'; MAX_BYTES + 1], b"/openapi.json".to_vec(), b"/\n\xff".to_vec()] {
            fs::write(&file, bytes).unwrap();
            assert_eq!(store.read(Tool::Qr), None);
        }
        fs::remove_file(&file).unwrap();
        mknodat(CWD, &file, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
        assert_eq!(store.read(Tool::Qr), None);
        fs::remove_file(&file).unwrap();
        fs::create_dir(&file).unwrap();
        assert_eq!(store.read(Tool::Qr), None);
        store.write(Tool::Qr, &published("it cannot be replaced"));
        assert_eq!(fs::read_dir(&store.folder).unwrap().count(), 1);
    }
}
