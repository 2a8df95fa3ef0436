//! Errors of the upgrade socket and the admin socket.

use std::io;
use std::path::{Path, PathBuf};

/// An error of a private socket, with its path.
#[derive(Debug, thiserror::Error)]
#[error("{what} socket {}: {cause}", path.display())]
pub struct SocketError {
    what: SocketKind,
    path: PathBuf,
    cause: Cause,
}

/// The use of a private socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::Display)]
#[strum(serialize_all = "lowercase")]
pub(crate) enum SocketKind {
    /// A new process takes over through it.
    Upgrade,
    /// An operator acts through it.
    Admin,
}

/// The reason why a private socket cannot be used.
#[derive(Debug, thiserror::Error)]
pub(super) enum Cause {
    /// The operating system reported an error.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// The path names no file in a directory.
    #[error("the path has no parent directory")]
    NoDirectory,
    /// Other users could replace the socket by one of theirs, and receive our sockets.
    #[error("others can write to {}: the directory must belong to this user and have mode 0700", .0.display())]
    WritableByOthers(PathBuf),
    /// Another process listens on it.
    #[error("another proxy listens on it: start this one with --upgrade, or stop the other one")]
    InUse,
    /// The socket belongs to another user.
    #[error("it belongs to another user")]
    ForeignOwner,
    /// The running process accepts the connection and sends nothing.
    #[error("the running process does not respond: it is taking over from an older one, or it is stuck")]
    NoResponse,
    /// The running process closed the connection.
    #[error("the running process is shutting down: start again when it has exited")]
    Closed,
    /// The running process speaks another protocol version, or is in the other mode.
    #[error("the running process is of an incompatible version or mode: restart instead of upgrading")]
    Incompatible,
}

impl Cause {
    /// Returns the error for the socket at `path`.
    pub(super) fn at(self, what: SocketKind, path: &Path) -> SocketError {
        SocketError { what, path: path.to_owned(), cause: self }
    }
}

impl SocketError {
    /// Returns true if the socket's directory does not exist.
    pub(crate) fn is_missing_directory(&self) -> bool {
        let parent = self.path.parent();
        matches!(&self.cause, Cause::Io(error) if error.kind() == io::ErrorKind::NotFound)
            && parent.is_some_and(|directory| !directory.exists())
    }
}

#[cfg(test)]
impl SocketError {
    pub(super) const fn cause(&self) -> &Cause {
        &self.cause
    }
}
