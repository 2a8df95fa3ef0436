//! Reads the files that a configuration names. They are written by others, so nothing is assumed of
//! them.

use std::fs::{self, Metadata, OpenOptions};
use std::io::{self, Read as _};
use std::os::unix::fs::{FileTypeExt as _, OpenOptionsExt as _};
use std::path::Path;

use rustix::fs::OFlags;

/// Maximum size of a file: more than a bundle of all public certificate authorities has.
const MAX_BYTES: u64 = 1 << 20;

/// Returns the content of a regular file of at most 1 MiB. It never waits for another program, as the
/// open or the read of a FIFO, a terminal or a device would.
///
/// # Errors
/// Returns an error if the file cannot be read, is of another kind, or is larger.
pub(crate) fn read(path: &Path) -> io::Result<Vec<u8>> {
    read_at_most(path, MAX_BYTES)
}

/// Does the same with another maximum size, in bytes.
///
/// # Errors
/// Returns an error if the file cannot be read, is of another kind, or is larger.
pub fn read_at_most(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    // Looked at before it is opened too, because to open a device can have an effect.
    check_kind(&fs::metadata(path)?)?;
    // Another kind may have taken its place: to open a FIFO would wait for a writer without the flag.
    let flags = OFlags::NONBLOCK | OFlags::NOCTTY;
    let flags = i32::try_from(flags.bits()).map_err(io::Error::other)?;
    let file = OpenOptions::new().read(true).custom_flags(flags).open(path)?;
    check_kind(&file.metadata()?)?;
    let mut bytes = Vec::new();
    // One byte more, so that a longer file is refused and not cut.
    file.take(most + 1).read_to_end(&mut bytes)?;
    match bytes.len() as u64 > most {
        true => Err(io::Error::other(format!("it is larger than {} MiB", most >> 20))),
        false => Ok(bytes),
    }
}

fn check_kind(metadata: &Metadata) -> io::Result<()> {
    let kind = metadata.file_type();
    let what = match () {
        () if kind.is_file() => return Ok(()),
        () if kind.is_dir() => "a directory",
        () if kind.is_fifo() => "a FIFO",
        () if kind.is_socket() => "a socket",
        () => "a device",
    };
    Err(io::Error::other(format!("it is {what}: expected a regular file")))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;
    use std::os::unix::net::UnixListener;

    use super::*;

    #[test]
    fn regular_file_is_read_up_to_the_limit() {
        let folder = tempfile::tempdir().unwrap();
        let (file, link) = (folder.path().join("file"), folder.path().join("link"));
        symlink(&file, &link).unwrap();
        let most = usize::try_from(MAX_BYTES).unwrap();
        for length in [0, 1, most] {
            fs::write(&file, vec![b'a'; length]).unwrap();
            assert_eq!(read(&link).unwrap().len(), length);
        }
        fs::write(&file, vec![b'a'; most + 1]).unwrap();
        assert_eq!(read(&file).unwrap_err().to_string(), "it is larger than 1 MiB");
    }

    #[test]
    fn other_kinds_of_files_are_refused_without_waiting() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let made = std::process::Command::new("mkfifo").arg(at("fifo")).status().unwrap();
        assert!(made.success());
        let _socket = UnixListener::bind(at("socket")).unwrap();
        symlink("/dev/zero", at("zero")).unwrap();
        symlink("nowhere", at("dangling")).unwrap();
        for (name, expected) in [
            ("", "it is a directory: expected a regular file"),
            ("fifo", "it is a FIFO: expected a regular file"),
            ("socket", "it is a socket: expected a regular file"),
            ("zero", "it is a device: expected a regular file"),
            ("dangling", "No such file or directory (os error 2)"),
        ] {
            assert_eq!(read(&at(name)).unwrap_err().to_string(), expected, "{name}");
        }
    }
}
