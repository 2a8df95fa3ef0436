//! Files that are either whole or known not to be: a line that says what follows, how long it is and its checksum.

use std::{
    fmt,
    fs::{self, OpenOptions},
    io::{self, Write as _},
    os::unix::fs::OpenOptionsExt as _,
    path::{Path, PathBuf},
};

/// What a file holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Counters,
    Records,
}

/// Why a file cannot be used.
#[derive(Debug)]
pub(super) enum FileFault {
    /// The system says so.
    Io(io::Error),
    /// It was cut short, changed, or written by something else.
    Damaged,
}

impl fmt::Display for FileFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io(error) => error.fmt(f),
            Self::Damaged => f.write_str("is damaged, or not a file of this version"),
        }
    }
}

impl From<io::Error> for FileFault {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

impl Kind {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Counters => "utg-counters 1",
            Self::Records => "utg-records 1",
        }
    }

    fn first_line(self, payload: &[u8]) -> String {
        format!("{} {} {:08x}\n", self.as_str(), payload.len(), crc32fast::hash(payload))
    }
}

/// What the file holds; `None` when there is none.
pub(super) fn read(path: &Path, kind: Kind) -> Result<Option<Vec<u8>>, FileFault> {
    let mut bytes = match fs::read(path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    let end = bytes.iter().position(|&b| b == b'\n').ok_or(FileFault::Damaged)?;
    let payload = bytes.split_off(end + 1);
    if bytes == kind.first_line(&payload).as_bytes() { Ok(Some(payload)) } else { Err(FileFault::Damaged) }
}

/// Puts a file in the place of the one before, at once or not at all, readable by its owner alone.
pub(super) fn write(path: &Path, kind: Kind, payload: &[u8]) -> io::Result<()> {
    let (mut file, new) = create_beside(path)?;
    file.write_all(kind.first_line(payload).as_bytes())?;
    file.write_all(payload)?;
    file.sync_all()?;
    fs::rename(new, path)
}

/// Finds out whether [`write`] would work.
pub(super) fn try_out(path: &Path) -> io::Result<()> {
    let (_file, new) = create_beside(path)?;
    fs::remove_file(new)
}

/// Two processes that hand over may write at once, each to its own.
fn create_beside(path: &Path) -> io::Result<(fs::File, PathBuf)> {
    let new = with_ending(path, &format!("new-{}", std::process::id()));
    let file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&new)?;
    Ok((file, new))
}

/// The path with another ending behind its own.
pub(super) fn with_ending(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".");
    name.push(ending);
    name.into()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn a_file_is_read_back_whole_or_not_at_all() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("keys");
        assert!(read(&path, Kind::Counters).unwrap().is_none());
        write(&path, Kind::Counters, b"first").unwrap();
        write(&path, Kind::Counters, b"second\n\xff").unwrap();
        assert_eq!(read(&path, Kind::Counters).unwrap().as_deref(), Some(&b"second\n\xff"[..]));
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "nothing is left beside it");
        assert!(matches!(read(&path, Kind::Records), Err(FileFault::Damaged)));
        let whole = fs::read(&path).unwrap();
        for length in 0..whole.len() {
            fs::write(&path, &whole[..length]).unwrap();
            assert!(matches!(read(&path, Kind::Counters), Err(FileFault::Damaged)), "{length}");
        }
        for place in 0..whole.len() {
            let mut changed = whole.clone();
            changed[place] ^= 1;
            fs::write(&path, changed).unwrap();
            assert!(matches!(read(&path, Kind::Counters), Err(FileFault::Damaged)), "{place}");
        }
    }
}
