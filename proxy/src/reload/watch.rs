//! Whether files have changed, by looking at them again and again: it sees a file that is written over, one that another
//! takes the place of (editors, configuration management), and a link that is turned (Kubernetes) alike, on every file
//! system.

use std::{
    fs,
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
};

/// Files, and how they were when they were read.
#[derive(Debug)]
pub struct Watch {
    files: Vec<PathBuf>,
    read: Vec<Option<Mark>>,
    seen: Vec<Option<Mark>>,
}

/// What differs between a file and the same one changed, or another in its place. A file that is not there has none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Mark {
    device: u64,
    inode: u64,
    length: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

impl Watch {
    /// Files as they are now: the first, and others.
    #[must_use]
    pub fn new(first: &Path, others: &[PathBuf]) -> Self {
        let files: Vec<_> = std::iter::once(first.to_owned()).chain(others.iter().cloned()).collect();
        let now = marks(&files);
        Self { files, seen: now.clone(), read: now }
    }

    /// From now on changes count from what is there now.
    pub fn look(&mut self) {
        self.read = marks(&self.files);
        self.seen.clone_from(&self.read);
    }

    /// Whether these are the files beside the first.
    #[must_use]
    pub fn is_of(&self, others: &[PathBuf]) -> bool {
        self.files.iter().skip(1).eq(others)
    }

    /// Whether one of the files is another than the one that was read, and has been as it is since this was asked last:
    /// one that is being written is left alone.
    pub fn has_changed(&mut self) -> bool {
        let now = marks(&self.files);
        let at_rest = now == self.seen;
        self.seen = now;
        at_rest && self.seen != self.read
    }
}

fn marks(files: &[PathBuf]) -> Vec<Option<Mark>> {
    files.iter().map(|file| mark(file)).collect()
}

/// Links are followed.
fn mark(file: &Path) -> Option<Mark> {
    let metadata = fs::metadata(file).ok()?;
    Some(Mark {
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

    /// Asked often enough for a change at rest to be seen.
    fn has_changed(watch: &mut Watch) -> bool {
        let _first = watch.has_changed();
        watch.has_changed()
    }

    #[test]
    fn a_file_that_is_written_over_or_replaced_or_taken_away_has_changed() {
        let folder = tempfile::tempdir().unwrap();
        let (file, other) = (folder.path().join("proxy.toml"), folder.path().join("other"));
        fs::write(&file, "one").unwrap();
        let mut watch = Watch::new(&file, &[]);
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
            watch.look();
            assert!(!has_changed(&mut watch));
        }
    }

    #[test]
    fn a_link_that_is_turned_has_changed_wherever_on_the_way_it_lies() {
        let folder = tempfile::tempdir().unwrap();
        for version in ["1", "2"] {
            fs::create_dir(folder.path().join(version)).unwrap();
            fs::write(folder.path().join(version).join("secret"), "same length").unwrap();
        }
        let (data, secret) = (folder.path().join("..data"), folder.path().join("secret"));
        symlink("1", &data).unwrap();
        symlink("..data/secret", &secret).unwrap();
        let mut watch = Watch::new(&folder.path().join("none"), &[secret]);
        assert!(!has_changed(&mut watch));
        symlink("2", folder.path().join("..new")).unwrap();
        fs::rename(folder.path().join("..new"), &data).unwrap();
        assert!(has_changed(&mut watch));
    }

    #[test]
    fn a_file_that_is_being_written_is_left_alone_until_it_is_at_rest() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("proxy.toml");
        fs::write(&file, "").unwrap();
        let mut watch = Watch::new(&file, &[]);
        for length in 1..10 {
            fs::write(&file, "x".repeat(length)).unwrap();
            assert!(!watch.has_changed());
        }
        assert!(watch.has_changed());
    }
}
