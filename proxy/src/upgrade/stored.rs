//! The last good state of the old process, passed to the new one as a file without a name: it may be larger
//! than a message, and a disk that is full does not matter.

use std::fs::File;
use std::io::{self, Read as _, Seek as _, Write as _};
use std::os::fd::OwnedFd;

use phases::last_good::{MAX_BYTES, Stored};

/// Returns a file with the state.
#[cfg(target_os = "linux")]
pub(super) fn write(stored: &Stored) -> io::Result<OwnedFd> {
    let file = rustix::fs::memfd_create(c"utg-last-good", rustix::fs::MemfdFlags::CLOEXEC)?;
    let mut file = File::from(file);
    file.write_all(stored.to_text().as_bytes())?;
    Ok(file.into())
}

/// There is no such file elsewhere. The new process reads the one that is stored.
#[cfg(not(target_os = "linux"))]
pub(super) fn write(_stored: &Stored) -> io::Result<OwnedFd> {
    Err(io::ErrorKind::Unsupported.into())
}

/// Reads the state of a file that was passed.
pub(super) fn read(file: OwnedFd) -> io::Result<Stored> {
    let mut file = File::from(file);
    file.rewind()?;
    let mut bytes = Vec::new();
    file.take(MAX_BYTES).read_to_end(&mut bytes)?;
    Stored::parse(&bytes).ok_or_else(|| io::ErrorKind::InvalidData.into())
}
