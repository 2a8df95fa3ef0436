//! Private sockets: Unix sockets that only this user can reach, such as the upgrade socket.

use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::{fs, io};

use rustix::process::geteuid;

use super::error::{Cause, SocketError, SocketKind};

/// A bound private socket. Other processes cannot find it until it is published.
#[derive(Debug)]
pub(crate) struct PrivateListener {
    listener: UnixListener,
    what: SocketKind,
    path: PathBuf,
    /// Path of the socket until it is published.
    private_path: PathBuf,
    is_published: bool,
}

impl PrivateListener {
    /// Binds a socket for `path`, without publishing it. If `replace` is true, another process may
    /// listen at `path`, and is not affected. A socket without a listener is replaced in any case.
    ///
    /// # Errors
    /// Returns an error if the socket cannot be bound, if other users can write to its directory, or if
    /// another process listens on it.
    pub(crate) fn bind(what: SocketKind, path: &Path, replace: bool) -> Result<Self, SocketError> {
        Self::try_bind(what, path, replace).map_err(|cause| cause.at(what, path))
    }

    fn try_bind(what: SocketKind, path: &Path, replace: bool) -> Result<Self, Cause> {
        check_directory(path)?;
        // A socket file alone says nothing: a killed process leaves one. Only a listener is a
        // running process.
        if !replace && UnixStream::connect(path).is_ok() {
            return Err(Cause::InUse);
        }
        let private_path = private_path(path);
        // A leftover of a process with the same id, which has exited.
        let _removed = fs::remove_file(&private_path);
        let listener = UnixListener::bind(&private_path)?;
        let listener = Self { listener, what, path: path.to_owned(), private_path, is_published: false };
        // Before it is published: until then no other process knows the path.
        fs::set_permissions(&listener.private_path, fs::Permissions::from_mode(0o600))?;
        listener.listener.set_nonblocking(true)?;
        Ok(listener)
    }

    /// Moves the socket to its path. Replaces what is there.
    ///
    /// # Errors
    /// Returns an error if it cannot be moved.
    pub(crate) fn publish(&mut self) -> Result<(), SocketError> {
        fs::rename(&self.private_path, &self.path)
            .map_err(|error| Cause::Io(error).at(self.what, &self.path))?;
        self.is_published = true;
        Ok(())
    }

    /// Leaves the path to the socket of another process.
    pub(crate) const fn leave(&mut self) {
        self.is_published = false;
    }

    pub(crate) const fn listener(&self) -> &UnixListener {
        &self.listener
    }
}

impl Drop for PrivateListener {
    fn drop(&mut self) {
        // A leftover does not prevent a later process from binding.
        let _removed = fs::remove_file(if self.is_published { &self.path } else { &self.private_path });
    }
}

/// Checks that no other user can write to the directory: they could replace the socket by one of
/// theirs, and receive our sockets.
fn check_directory(path: &Path) -> Result<(), Cause> {
    let directory = path.parent().ok_or(Cause::NoDirectory)?;
    let found = fs::metadata(directory)?;
    let own = found.uid() == geteuid().as_raw() || found.uid() == 0;
    if own && found.mode() & 0o022 == 0 {
        return Ok(());
    }
    Err(Cause::WritableByOthers(directory.to_owned()))
}

/// Returns true if the socket at `path` belongs to this user or to root.
pub(super) fn is_own(path: &Path) -> io::Result<bool> {
    let owner = fs::metadata(path)?.uid();
    Ok(owner == geteuid().as_raw() || owner == 0)
}

/// Returns a path in the same directory, so that the socket can be moved atomically.
fn private_path(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".{}", std::process::id()));
    PathBuf::from(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn private() -> tempfile::TempDir {
        tempfile::tempdir().unwrap()
    }

    #[test]
    fn published_socket_is_reachable_by_its_owner_only() {
        let directory = private();
        let path = directory.path().join("upgrade.sock");
        let mut listener = PrivateListener::bind(SocketKind::Upgrade, &path, false).unwrap();
        assert!(UnixStream::connect(&path).is_err());
        listener.publish().unwrap();
        assert!(UnixStream::connect(&path).is_ok());
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o600);
        assert!(is_own(&path).unwrap());
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1);
        drop(listener);
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0);
    }

    #[test]
    fn stale_socket_is_replaced_and_live_one_is_in_use() {
        let directory = private();
        let path = directory.path().join("upgrade.sock");
        drop(UnixListener::bind(&path).unwrap());
        let mut listener = PrivateListener::bind(SocketKind::Upgrade, &path, false).unwrap();
        listener.publish().unwrap();
        let error = PrivateListener::bind(SocketKind::Upgrade, &path, false).unwrap_err();
        assert!(matches!(error.cause(), Cause::InUse), "{error}");
        assert!(error.to_string().contains("upgrade.sock"), "{error}");
        assert!(PrivateListener::bind(SocketKind::Upgrade, &path, true).is_ok());
    }

    #[test]
    fn directory_writable_by_others_is_refused() {
        let directory = private();
        fs::set_permissions(directory.path(), fs::Permissions::from_mode(0o777)).unwrap();
        let error = PrivateListener::bind(SocketKind::Upgrade, &directory.path().join("upgrade.sock"), false)
            .unwrap_err();
        assert!(matches!(error.cause(), Cause::WritableByOthers(_)), "{error}");
        assert!(
            PrivateListener::bind(SocketKind::Upgrade, Path::new("/nowhere/at/all.sock"), false).is_err()
        );
    }
}
