//! The outputs of the access log: standard output or a file.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Stdout, Write};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

/// An output of the access log.
pub trait LogOutput: Write {
    /// Opens the file anew, because its name may belong to another one.
    fn reopen(&mut self) {}
}

impl LogOutput for Stdout {}

impl LogOutput for Box<dyn LogOutput + Send> {
    fn reopen(&mut self) {
        (**self).reopen();
    }
}

/// A file that lines are appended to.
#[derive(Debug)]
pub struct LogFile {
    path: PathBuf,
    file: File,
}

impl LogFile {
    /// Opens the file, or creates it for its owner and group.
    ///
    /// # Errors
    /// Returns the error of the operating system.
    pub fn open(path: &Path) -> io::Result<Self> {
        Ok(Self { path: path.to_owned(), file: append(path)? })
    }

    /// Checks that [`Self::open`] would open the file. Leaves none behind.
    ///
    /// # Errors
    /// Returns the error of the operating system.
    pub fn check(path: &Path) -> io::Result<()> {
        let is_new = !path.try_exists()?;
        append(path)?;
        // Otherwise a check as root would leave a file that the proxy's user cannot write.
        if is_new { fs::remove_file(path) } else { Ok(()) }
    }
}

fn append(path: &Path) -> io::Result<File> {
    OpenOptions::new().append(true).create(true).mode(0o640).open(path)
}

impl LogOutput for LogFile {
    fn reopen(&mut self) {
        match append(&self.path) {
            Ok(file) => self.file = file,
            Err(error) => log::error!(
                "access log not reopened, the open file stays in use: file={} error=\"{error}\"",
                self.path.display()
            ),
        }
    }
}

impl Write for LogFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}
