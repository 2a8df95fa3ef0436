//! Where a new process knocks: a Unix socket that nobody else on the machine can come to.

use std::{
    fs, io,
    os::unix::{
        fs::{MetadataExt as _, PermissionsExt as _},
        net::{UnixListener, UnixStream},
    },
    path::{Path, PathBuf},
};

use rustix::process::geteuid;

/// A bound socket that nobody finds until it is put in its place.
#[derive(Debug)]
pub(crate) struct Door {
    listener: UnixListener,
    place: PathBuf,
    /// Where it lies until then.
    aside: PathBuf,
    is_in_place: bool,
}

impl Door {
    /// Binds a socket that is to be at `place`. Another process that listens there is left alone if it is to be
    /// `replaced`; a socket that nobody listens at any more is no hindrance.
    ///
    /// # Errors
    /// When it cannot be bound, others could put their own in its place, or another process listens there; the message
    /// names the place.
    pub(crate) fn open(place: &Path, replaced: bool) -> io::Result<Self> {
        let named = |error: io::Error| named(place, &error);
        check_directory(place).map_err(named)?;
        if !replaced && UnixStream::connect(place).is_ok() {
            return Err(named(io::Error::other(
                "another proxy listens there; start this one with --upgrade, or end the other",
            )));
        }
        let aside = aside(place);
        // What lies there was left by a process of the same number that is gone.
        let _left = fs::remove_file(&aside);
        let listener = UnixListener::bind(&aside).map_err(named)?;
        let door = Self { listener, place: place.to_owned(), aside, is_in_place: false };
        fs::set_permissions(&door.aside, fs::Permissions::from_mode(0o600)).map_err(named)?;
        door.listener.set_nonblocking(true).map_err(named)?;
        Ok(door)
    }

    /// Puts it in its place, and whatever was there is gone.
    ///
    /// # Errors
    /// When that fails; the message names the place.
    pub(crate) fn put_in_place(&mut self) -> io::Result<()> {
        fs::rename(&self.aside, &self.place).map_err(|error| named(&self.place, &error))?;
        self.is_in_place = true;
        Ok(())
    }

    /// Leaves the place to another process's socket.
    pub(super) const fn leave(&mut self) {
        self.is_in_place = false;
    }

    pub(super) const fn listener(&self) -> &UnixListener {
        &self.listener
    }
}

impl Drop for Door {
    fn drop(&mut self) {
        // One that stays is no hindrance to the next.
        let _removed = fs::remove_file(if self.is_in_place { &self.place } else { &self.aside });
    }
}

/// Whoever can write to the directory can take a socket's place, and be given ours.
fn check_directory(place: &Path) -> io::Result<()> {
    let directory = place.parent().ok_or_else(|| io::Error::other("it is in no directory"))?;
    let found = fs::metadata(directory)?;
    let own = found.uid() == geteuid().as_raw() || found.uid() == 0;
    if own && found.mode() & 0o022 == 0 {
        return Ok(());
    }
    Err(io::Error::other(format!(
        "others can write to {}; it must belong to this user and have mode 0700",
        directory.display()
    )))
}

/// Whether the socket at `place` is one of this user's own.
pub(super) fn is_own(place: &Path) -> io::Result<bool> {
    let owner = fs::metadata(place)?.uid();
    Ok(owner == geteuid().as_raw() || owner == 0)
}

/// Beside the place, so that it can be moved there in one step.
fn aside(place: &Path) -> PathBuf {
    let mut name = place.as_os_str().to_owned();
    name.push(format!(".{}", std::process::id()));
    PathBuf::from(name)
}

fn named(place: &Path, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("the upgrade socket {}: {error}", place.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn private() -> tempfile::TempDir {
        tempfile::tempdir().unwrap()
    }

    #[test]
    fn a_door_is_found_once_it_is_in_its_place_and_by_its_owner_alone() {
        let directory = private();
        let place = directory.path().join("upgrade.sock");
        let mut door = Door::open(&place, false).unwrap();
        assert!(UnixStream::connect(&place).is_err());
        door.put_in_place().unwrap();
        assert!(UnixStream::connect(&place).is_ok());
        assert_eq!(fs::metadata(&place).unwrap().mode() & 0o777, 0o600);
        assert!(is_own(&place).unwrap());
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1);
        drop(door);
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0);
    }

    #[test]
    fn one_that_was_left_behind_is_replaced_and_one_that_is_answered_is_not() {
        let directory = private();
        let place = directory.path().join("upgrade.sock");
        drop(UnixListener::bind(&place).unwrap());
        let mut door = Door::open(&place, false).unwrap();
        door.put_in_place().unwrap();
        let refused = Door::open(&place, false).unwrap_err().to_string();
        assert!(refused.contains("--upgrade") && refused.contains("upgrade.sock"), "{refused}");
        assert!(Door::open(&place, true).is_ok());
    }

    #[test]
    fn a_directory_that_others_can_write_to_is_no_place_for_it() {
        let directory = private();
        fs::set_permissions(directory.path(), fs::Permissions::from_mode(0o777)).unwrap();
        let refused = Door::open(&directory.path().join("upgrade.sock"), false).unwrap_err().to_string();
        assert!(refused.contains("others can write to"), "{refused}");
        assert!(Door::open(Path::new("/nowhere/at/all.sock"), false).is_err());
    }
}
