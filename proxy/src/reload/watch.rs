//! Detects changed files by polling their metadata. It works on every file system, and for all ways
//! of changing a file: writing in place, renaming over it (editors, configuration management) and
//! switching a symbolic link (Kubernetes).

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

/// A set of watched files.
#[derive(Clone, Debug)]
pub(crate) struct FileWatch {
    files: Vec<Watched>,
}

/// One watched file.
#[derive(Clone, Debug)]
struct Watched {
    path: PathBuf,
    /// The version that was read.
    read: Option<Version>,
    /// The version at the last check.
    seen: Option<Version>,
    /// The number of checks in a row that saw another version than the one before.
    moving: u32,
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

/// The number of checks after which a file that never rests is read all the same.
const PATIENCE: u32 = 20;

impl FileWatch {
    /// Creates a watch of `first` and `others`, in their present versions.
    pub(crate) fn new(first: &Path, others: &[PathBuf]) -> Self {
        let paths = std::iter::once(first.to_owned()).chain(others.iter().cloned());
        Self { files: paths.map(Watched::new).collect() }
    }

    /// Records the present versions as those that are read.
    pub(super) fn mark_read(&mut self) {
        self.mark_those_read(|_| true);
    }

    /// Records the present versions as those that are read, except of files that are being written.
    /// Returns those. The first is never one of them.
    pub(super) fn mark_resting_read(&mut self) -> Vec<PathBuf> {
        let written = self.files.iter().skip(1).filter(|file| file.is_being_written());
        let written = written.map(|file| file.path.clone()).collect::<Vec<_>>();
        self.mark_those_read(|path| !written.contains(path));
        written
    }

    /// Records the versions of the last check as those that were read, without a look at the files.
    pub(super) fn give_up(&mut self) {
        self.files.iter_mut().for_each(|file| file.read = file.seen);
    }

    fn mark_those_read(&mut self, is_read: impl Fn(&PathBuf) -> bool) {
        for file in self.files.iter_mut().filter(|file| is_read(&file.path)) {
            *file = Watched::new(std::mem::take(&mut file.path));
        }
    }

    /// Returns true if `others` are the watched files beside the first.
    pub(super) fn covers(&self, others: &[PathBuf]) -> bool {
        self.files.iter().skip(1).map(|file| &file.path).eq(others)
    }

    /// Returns true if the first file differs from the version that was read.
    pub(super) fn has_first_changed(&self) -> bool {
        self.files.first().is_some_and(Watched::has_changed)
    }

    /// Checks the files. Returns true if one differs from the version that was read and has not changed
    /// since the last check. This way a file is not loaded while it is being written. One that another
    /// program writes all the time keeps no other from being loaded, except the first.
    pub(super) fn poll_changed(&mut self) -> bool {
        self.files.iter_mut().for_each(Watched::check);
        // A half-written configuration could be valid, and would be applied.
        let is_first_at_rest = !self.files.first().is_some_and(Watched::is_being_written);
        let is_due = |file: &Watched| file.has_changed() && !file.is_being_written();
        is_first_at_rest && self.files.iter().any(is_due)
    }
}

impl Watched {
    fn new(path: PathBuf) -> Self {
        let now = version(&path);
        Self { path, read: now, seen: now, moving: 0 }
    }

    fn check(&mut self) {
        let now = version(&self.path);
        self.moving = if now == self.seen { 0 } else { self.moving.saturating_add(1) };
        self.seen = now;
    }

    fn has_changed(&self) -> bool {
        self.seen != self.read
    }

    const fn is_being_written(&self) -> bool {
        self.moving > 0 && self.moving < PATIENCE
    }
}

/// Returns the version of a file. Symbolic links are followed.
fn version(file: &Path) -> Option<Version> {
    let metadata = fs::metadata(file).ok()?;
    Some(Version {
        device: metadata.dev(),
        inode: metadata.ino(),
        length: metadata.len(),
        modified: (metadata.mtime(), metadata.mtime_nsec()),
        // The length and the time of a change can be the same, as after `cp -p`. The time of the
        // inode cannot be set.
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

    #[test]
    fn file_that_never_rests_delays_no_other_and_is_read_at_last() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let others = [at("busy.json"), at("calm.json")];
        let mut watch = FileWatch::new(&at("proxy.toml"), &others);
        let mut length = 0;
        let mut poll = |watch: &mut FileWatch| {
            length += 1;
            fs::write(at("busy.json"), "x".repeat(length)).unwrap();
            watch.poll_changed()
        };
        fs::write(at("calm.json"), "[]").unwrap();
        assert!(!poll(&mut watch) && poll(&mut watch));
        assert_eq!(watch.mark_resting_read(), [at("busy.json")]);
        let polls = (0..2 * PATIENCE).take_while(|_| !poll(&mut watch)).count();
        assert!((10..PATIENCE as usize).contains(&polls), "{polls}");
        assert_eq!(watch.mark_resting_read(), [] as [PathBuf; 0]);
        // It is not lost if it rests at once.
        fs::write(at("busy.json"), "").unwrap();
        assert!(has_changed(&mut watch));
    }
}
