//! Files with a checksum: the first line names the kind, the length and the CRC-32 of the rest. A
//! damaged file is always detected, and a file is replaced atomically.

use std::fs::{self, OpenOptions};
use std::io::{self, BufWriter, Seek as _, Write};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

/// The kind of a file's content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Counters,
    Records,
    Units,
}

/// An error of reading a file.
#[derive(Debug, thiserror::Error)]
pub(super) enum FileError {
    /// The file cannot be read.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// The file was truncated, changed, or written by another program or version.
    #[error("is damaged, or not a file of this version")]
    Damaged,
}

impl Kind {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Counters => "utg-counters 1",
            Self::Records => "utg-records 1",
            Self::Units => "utg-units 1",
        }
    }

    /// Returns the first line. Its length is fixed, so that it can be written last.
    fn first_line(self, length: u64, checksum: u32) -> String {
        format!("{} {length:020} {checksum:08x}\n", self.as_str())
    }

    /// Returns true if this is the first line of a file with this payload. The length may have
    /// fewer leading zeros.
    fn begins(self, line: &[u8], payload: &[u8]) -> bool {
        let parts = || {
            let (rest, checksum) = std::str::from_utf8(line).ok()?.strip_suffix('\n')?.rsplit_once(' ')?;
            let (kind, length) = rest.rsplit_once(' ')?;
            Some((kind, length.parse().ok()?, u32::from_str_radix(checksum, 16).ok()?))
        };
        parts() == Some((self.as_str(), payload.len(), crc32fast::hash(payload)))
    }
}

/// A writer that counts and checksums the content, which are known only at its end.
pub(super) struct Payload {
    file: BufWriter<fs::File>,
    length: u64,
    checksum: crc32fast::Hasher,
}

impl Payload {
    fn begin(file: fs::File, kind: Kind) -> io::Result<Self> {
        let mut file = BufWriter::new(file);
        file.write_all(kind.first_line(0, 0).as_bytes())?;
        Ok(Self { file, length: 0, checksum: crc32fast::Hasher::new() })
    }

    fn end(mut self, kind: Kind) -> io::Result<()> {
        self.file.rewind()?;
        self.file.write_all(kind.first_line(self.length, self.checksum.finalize()).as_bytes())?;
        // Before the rename. Otherwise a power failure can leave the new name with an empty file.
        self.file.into_inner()?.sync_all()
    }
}

impl Write for Payload {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.file.write(bytes)?;
        let taken = bytes.get(..written).unwrap_or(bytes);
        self.checksum.update(taken);
        self.length += taken.len() as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

/// Returns the content of the file, or `None` if it does not exist.
pub(super) fn read(path: &Path, kind: Kind) -> Result<Option<Vec<u8>>, FileError> {
    let mut bytes = match fs::read(path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    let end = bytes.iter().position(|&b| b == b'\n').ok_or(FileError::Damaged)?;
    let payload = bytes.split_off(end + 1);
    if kind.begins(&bytes, &payload) { Ok(Some(payload)) } else { Err(FileError::Damaged) }
}

/// Replaces the file by what `fill` writes, atomically. Only its owner can read it.
pub(super) fn write(
    path: &Path,
    kind: Kind,
    fill: impl FnOnce(&mut Payload) -> io::Result<()>,
) -> io::Result<()> {
    let (file, new) = create_beside(path)?;
    let written = write_whole(file, kind, fill).and_then(|()| fs::rename(&new, path));
    if written.is_err() {
        // A leftover that cannot be removed does no harm.
        let _removed = fs::remove_file(new);
    }
    written
}

fn write_whole(
    file: fs::File,
    kind: Kind,
    fill: impl FnOnce(&mut Payload) -> io::Result<()>,
) -> io::Result<()> {
    let mut payload = Payload::begin(file, kind)?;
    fill(&mut payload)?;
    payload.end(kind)
}

/// Checks that [`write`] can create its temporary file.
pub(super) fn check_writable(path: &Path) -> io::Result<()> {
    let (_file, new) = create_beside(path)?;
    fs::remove_file(new)
}

/// Creates a temporary file next to `path`. Its name has the process id, because during an upgrade
/// two processes may write at the same time.
fn create_beside(path: &Path) -> io::Result<(fs::File, PathBuf)> {
    let new = with_suffix(path, &format!("new-{}", std::process::id()));
    let file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&new)?;
    Ok((file, new))
}

/// Returns the path with `.` and a suffix appended.
pub(super) fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".");
    name.push(suffix);
    name.into()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn file_is_read_whole_or_reported_damaged() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("keys");
        assert!(read(&path, Kind::Counters).unwrap().is_none());
        write(&path, Kind::Counters, |out| out.write_all(b"first")).unwrap();
        write(&path, Kind::Counters, |out| {
            out.write_all(b"second\n")?;
            out.write_all(b"\xff")
        })
        .unwrap();
        let failed = write(&path, Kind::Counters, |out| {
            out.write_all(b"third")?;
            Err(io::ErrorKind::StorageFull.into())
        });
        assert_eq!(failed.map_err(|error| error.kind()), Err(io::ErrorKind::StorageFull));
        assert_eq!(read(&path, Kind::Counters).unwrap().as_deref(), Some(&b"second\n\xff"[..]));
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "nothing is left beside it");
        assert!(matches!(read(&path, Kind::Records), Err(FileError::Damaged)));
        let whole = fs::read(&path).unwrap();
        for length in 0..whole.len() {
            fs::write(&path, &whole[..length]).unwrap();
            assert!(matches!(read(&path, Kind::Counters), Err(FileError::Damaged)), "{length}");
        }
        for place in 0..whole.len() {
            let mut changed = whole.clone();
            changed[place] ^= 1;
            fs::write(&path, changed).unwrap();
            assert!(matches!(read(&path, Kind::Counters), Err(FileError::Damaged)), "{place}");
        }
    }

    #[test]
    fn length_without_leading_zeros_is_accepted() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("keys");
        fs::write(&path, format!("utg-records 1 5 {:08x}\nfirst", crc32fast::hash(b"first"))).unwrap();
        assert_eq!(read(&path, Kind::Records).unwrap().as_deref(), Some(&b"first"[..]));
    }
}
