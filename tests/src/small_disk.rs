//! A small file system that can be filled. To mount it takes root.

use std::{
    fs::{self, File},
    io::Write as _,
    path::{Path, PathBuf},
    process::Command,
};

/// A file system of 256 KiB at a folder. It is unmounted when this is dropped.
pub struct SmallDisk {
    folder: PathBuf,
}

impl SmallDisk {
    /// Mounts it.
    ///
    /// # Panics
    /// If this process may not mount.
    pub fn mount(folder: &Path) -> Self {
        let folder = folder.to_owned();
        let options = ["-t", "tmpfs", "-o", "size=256k", "tmpfs"];
        let mounted = Command::new("mount").args(options).arg(&folder).status();
        assert!(mounted.unwrap().success(), "a test of a full disk mounts one: run it as root");
        Self { folder }
    }

    /// Fills it to the last byte. New files can be made, and get no content.
    pub fn fill(&self) {
        let mut file = File::create(self.filler()).unwrap();
        // Pages first, then the rest of the last one.
        for piece in [vec![b'x'; 4_096], vec![b'x']] {
            while file.write_all(&piece).is_ok() {}
        }
    }

    /// Makes room again.
    pub fn free(&self) {
        fs::remove_file(self.filler()).unwrap();
    }

    fn filler(&self) -> PathBuf {
        self.folder.join("filler")
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        // Detached, because a process may still use it.
        let _unmounted = Command::new("umount").arg("-l").arg(&self.folder).status();
    }
}
