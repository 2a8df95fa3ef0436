//! Detects changed files by polling their metadata. It works on every file system, and for all ways
//! of changing a file: writing in place, renaming over it (editors, configuration management) and
//! switching a symbolic link (Kubernetes).

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

/// A set of watched files.
#[derive(Debug)]
pub(crate) struct FileWatch {
    files: Vec<PathBuf>,
    /// The version of each file that was read.
    read: Vec<Option<Version>>,
    /// The version of each file at the last check.
    seen: Vec<Option<Version>>,
}

/// The metadata that identify one version of a file. `None` stands for a missing file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Version {
    device: u64,
    inode: u64,
    length: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

impl FileWatch {
    /// Creates a watch of `first` and `others`, in their present versions.
    pub(crate) fn new(first: &Path, others: &[PathBuf]) -> Self {
        let files: Vec<_> = std::iter::once(first.to_owned()).chain(others.iter().cloned()).collect();
        let now = versions(&files);
        Self { files, seen: now.clone(), read: now }
    }

    /// Records the present versions as those that were read.
    pub(super) fn mark_read(&mut self) {
        self.read = versions(&self.files);
        self.seen.clone_from(&self.read);
    }

    /// Returns true if `others` are the watched files beside the first.
    pub(super) fn covers(&self, others: &[PathBuf]) -> bool {
        self.files.iter().skip(1).eq(others)
    }

    /// Returns true if the first file differs from the version that was read.
    pub(super) fn has_first_changed(&self) -> bool {
        self.seen.first() != self.read.first()
    }

    /// Checks the files. Returns true if one differs from the version that was read and none has
    /// changed since the last check. This way a file is not loaded while it is being written.
    pub(super) fn poll_changed(&mut self) -> bool {
        let now = versions(&self.files);
        let is_stable = now == self.seen;
        self.seen = now;
        is_stable && self.seen != self.read
    }
}

fn versions(files: &[PathBuf]) -> Vec<Option<Version>> {
    files.iter().map(|file| version(file)).collect()
}

/// Returns the version of a file. Symbolic links are followed.
fn version(file: &Path) -> Option<Version> {
    let metadata = fs::metadata(file).ok()?;
    Some(Version {
        device: metadata.dev(),
        inode: metadata.ino(),
        length: metadata.len(),
        modified: (metadata.mtime(), metadata.mtime_nsec()),
        changed: (metadata.ctime(), metadata.ctime_nsec()),
    })
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    /// Polls twice, because a change is reported only once the file is stable.
    fn has_changed(watch: &mut FileWatch) -> bool {
        let _first = watch.poll_changed();
        watch.poll_changed()
    }

    #[test]
    fn overwritten_replaced_or_removed_file_is_a_change() {
        let folder = tempfile::tempdir().unwrap();
        let (file, other) = (folder.path().join("proxy.toml"), folder.path().join("other"));
        fs::write(&file, "one").unwrap();
        let mut watch = FileWatch::new(&file, &[]);
        assert!(!has_changed(&mut watch));
        let changes: [&dyn Fn(); 3] = [
            &|| fs::write(&file, "another").unwrap(),
            &|| {
                fs::write(&other, "another").unwrap();
                fs::rename(&other, &file).unwrap();
            },
            &|| fs::remove_file(&file).unwrap(),
        ];
        for change in changes {
            change();
            assert!(has_changed(&mut watch));
            watch.mark_read();
            assert!(!has_changed(&mut watch));
        }
    }

    #[test]
    fn change_of_another_file_is_not_one_of_the_first() {
        let folder = tempfile::tempdir().unwrap();
        let (file, other) = (folder.path().join("proxy.toml"), folder.path().join("servers.json"));
        fs::write(&file, "one").unwrap();
        let mut watch = FileWatch::new(&file, std::slice::from_ref(&other));
        fs::write(&other, "[]").unwrap();
        assert!(has_changed(&mut watch) && !watch.has_first_changed());
        fs::write(&file, "another").unwrap();
        assert!(has_changed(&mut watch) && watch.has_first_changed());
    }

    #[test]
    fn switched_link_on_the_path_is_a_change() {
        let folder = tempfile::tempdir().unwrap();
        for version in ["1", "2"] {
            fs::create_dir(folder.path().join(version)).unwrap();
            fs::write(folder.path().join(version).join("secret"), "same length").unwrap();
        }
        let (data, secret) = (folder.path().join("..data"), folder.path().join("secret"));
        symlink("1", &data).unwrap();
        symlink("..data/secret", &secret).unwrap();
        let mut watch = FileWatch::new(&folder.path().join("none"), &[secret]);
        assert!(!has_changed(&mut watch));
        symlink("2", folder.path().join("..new")).unwrap();
        fs::rename(folder.path().join("..new"), &data).unwrap();
        assert!(has_changed(&mut watch));
    }

    #[test]
    fn file_being_written_is_a_change_once_stable() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("proxy.toml");
        fs::write(&file, "").unwrap();
        let mut watch = FileWatch::new(&file, &[]);
        for length in 1..10 {
            fs::write(&file, "x".repeat(length)).unwrap();
            assert!(!watch.poll_changed());
        }
        assert!(watch.poll_changed());
    }
}
