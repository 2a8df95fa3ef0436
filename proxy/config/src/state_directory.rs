//! Where a process keeps what it leaves to the next one.

use std::ffi::OsStr;
use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

/// Returns the place with the name of a configuration file and this suffix: in the state directory that
/// systemd or the operator names, or else beside the configuration file.
pub fn place(config: &Path, state_directory: Option<&OsStr>, suffix: &str) -> PathBuf {
    let mut name = config.file_name().unwrap_or_default().to_owned();
    name.push(suffix);
    // systemd separates several by colons.
    let folder = state_directory.and_then(OsStr::to_str).and_then(|names| names.split(':').next());
    match folder.filter(|folder| !folder.is_empty()) {
        Some(folder) => Path::new(folder).join(name),
        None => config.with_file_name(name),
    }
}

/// Replaces a file atomically by these parts, one after the other. Only its owner can read it.
///
/// # Errors
/// Returns an error if the file cannot be written. It is as before then.
pub fn replace(path: &Path, parts: &[&str]) -> io::Result<()> {
    let mut new = path.as_os_str().to_owned();
    // During an upgrade two processes may write at the same time.
    new.push(format!(".new-{}", std::process::id()));
    let new = PathBuf::from(new);
    // A leftover of a process with the same id, or a link that another user has put there.
    let _removed = fs::remove_file(&new);
    let written =
        // `create_new` does not follow a link that is there, whoever has put it.
        OpenOptions::new().write(true).create_new(true).mode(0o600).open(&new).and_then(|mut out| {
            for part in parts {
                out.write_all(part.as_bytes())?;
            }
            out.sync_all()?;
            fs::rename(&new, path)
        });
    if written.is_err() {
        // A leftover that cannot be removed does no harm.
        let _removed = fs::remove_file(&new);
    }
    written
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn place_is_in_the_first_state_directory() {
        let place = |state| place(Path::new("/etc/utg/proxy.toml"), state, ".x");
        let beside = PathBuf::from("/etc/utg/proxy.toml.x");
        assert_eq!((place(None), place(Some(OsStr::new("")))), (beside.clone(), beside));
        let named = place(Some(OsStr::new("/var/lib/utg:/var/lib/other")));
        assert_eq!(named, Path::new("/var/lib/utg/proxy.toml.x"));
    }
}
