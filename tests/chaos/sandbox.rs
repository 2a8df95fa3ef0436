//! What the machine lends to a run: its own mounts, and a library that fakes clocks.

use std::{
    env, fs,
    io::Write as _,
    os::unix::process::CommandExt as _,
    path::{Path, PathBuf},
    process::Command,
};

/// Says that this process has its own mount namespace.
const INSIDE: &str = "CHAOS_MOUNTS";

/// The name of the file that fills the disk.
pub(crate) const BALLAST: &str = "ballast";

/// A file system of the run's own, which can be filled.
pub(crate) struct Disk(PathBuf);

/// A file in the place of `/etc/hosts`.
pub(crate) struct Hosts(PathBuf);

/// Starts these tests again in their own mount namespace if the machine allows that, which needs
/// root. Returns true if they have one.
pub(crate) fn enter() -> bool {
    if env::var_os(INSIDE).is_some() {
        return true;
    }
    let mut unshare = Command::new("unshare");
    if !unshare.args(["--mount", "true"]).output().is_ok_and(|output| output.status.success()) {
        return false;
    }
    let mut again = Command::new("unshare");
    again.arg("--mount").args(env::args_os()).env(INSIDE, "1").env("RUST_TEST_NOCAPTURE", "1");
    panic!("cannot start again: {}", again.exec())
}

fn mount(arguments: &[&str]) {
    let output = Command::new("mount").args(arguments).output().unwrap();
    assert!(output.status.success(), "mount {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
}

impl Disk {
    /// Mounts a file system in memory at a folder, of a size such as `512m`.
    pub(crate) fn mount(folder: &Path, size: &str) -> Self {
        mount(&["-t", "tmpfs", "-o", &format!("size={size}"), "chaos", &folder.display().to_string()]);
        Self(folder.to_owned())
    }

    /// Leaves no byte free.
    pub(crate) fn fill(&self) {
        let mut ballast = fs::File::create(self.ballast()).unwrap();
        for size in [1 << 20, 1 << 12, 1] {
            while ballast.write_all(&vec![0; size]).is_ok() {}
        }
    }

    pub(crate) fn free(&self) {
        fs::remove_file(self.ballast()).unwrap();
    }

    fn ballast(&self) -> PathBuf {
        self.0.join(BALLAST)
    }
}

impl Hosts {
    /// Puts a file of this folder in the place of `/etc/hosts`.
    pub(crate) fn mount(folder: &Path) -> Self {
        let file = folder.join("hosts");
        fs::write(&file, "").unwrap();
        mount(&["--bind", &file.display().to_string(), "/etc/hosts"]);
        Self(file)
    }

    /// Lets a name lead to an address, and every other name but `localhost` to none.
    pub(crate) fn point(&self, name: &str, address: &str) {
        // In place: what is mounted is the file, not its name.
        fs::write(&self.0, format!("127.0.0.1 localhost\n{address} {name}\n")).unwrap();
    }
}

/// Returns the library of libfaketime, which Debian's package `libfaketime` installs.
pub(crate) fn libfaketime() -> Option<PathBuf> {
    let folders = fs::read_dir("/usr/lib").ok()?.filter_map(Result::ok);
    folders.map(|folder| folder.path().join("faketime/libfaketimeMT.so.1")).find(|library| library.exists())
}
