//! Where a process keeps what it leaves to the next one.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// Returns the place with the name of a configuration file and this suffix: in the state directory that
/// systemd or the operator names, or else beside the configuration file.
pub(crate) fn place(config: &Path, state_directory: Option<&OsStr>, suffix: &str) -> PathBuf {
    let mut name = config.file_name().unwrap_or_default().to_owned();
    name.push(suffix);
    // systemd separates several by colons.
    let folder = state_directory.and_then(OsStr::to_str).and_then(|names| names.split(':').next());
    match folder.filter(|folder| !folder.is_empty()) {
        Some(folder) => Path::new(folder).join(name),
        None => config.with_file_name(name),
    }
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
