//! The new process's side of an upgrade.

use std::future::pending;
use std::io;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream as BlockingStream;
use std::path::Path;
use std::time::Duration;

use shared::time::UnixMillis;
use tokio::io::AsyncWriteExt as _;
use tokio::net::UnixStream;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::sync::mpsc;
use tokio::time::{sleep, timeout};

use super::error::{Cause, SocketError, SocketKind};
use super::handoff::{Handoff, READY, SocketRole};
use super::{fds, listener, stored};
use crate::sockets::Socket;
use direct::sync_record::{self, QUEUE};
use phases::last_good::Stored;
use phases::state::State;

/// The running process, whose sockets this one has received. It accepts connections until this
/// process is ready.
#[derive(Debug)]
pub(crate) struct OldProcess {
    process: u32,
    grants_known_since: Option<UnixMillis>,
    stream: BlockingStream,
    sockets: Vec<(SocketRole, OwnedFd)>,
}

/// Timeout for the first message. Only a process that is busy with another upgrade exceeds it.
const HANDOFF_TIMEOUT: Duration = Duration::from_secs(10);
/// Timeout for the whole state: at most four million requests in 64 MB.
const STATE_TIMEOUT: Duration = Duration::from_secs(30);

impl OldProcess {
    /// Receives the sockets of the process that listens on the upgrade socket at `path`. Returns
    /// `None` if there is no such process.
    ///
    /// # Errors
    /// Returns an error if the process belongs to another user, is of an incompatible version, or is
    /// not in `direct` mode exactly if this one is.
    pub(crate) fn connect(path: &Path, direct: bool) -> Result<Option<Self>, SocketError> {
        Self::try_connect(path, direct).map_err(|cause| cause.at(SocketKind::Upgrade, path))
    }

    fn try_connect(path: &Path, direct: bool) -> Result<Option<Self>, Cause> {
        let stream = match BlockingStream::connect(path) {
            Ok(stream) => stream,
            Err(error) if has_no_listener(&error) => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        // Another user's process could pass sockets on which it accepts too, and get clients with
        // their keys.
        if !listener::is_own(path)? {
            return Err(Cause::ForeignOwner);
        }
        stream.set_read_timeout(Some(HANDOFF_TIMEOUT))?;
        let (line, sockets) = fds::receive(&stream).map_err(|error| match error.kind() {
            io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => Cause::NoResponse,
            _ => Cause::Io(error),
        })?;
        if line.is_empty() {
            return Err(Cause::Closed);
        }
        let handoff = Handoff::parse(&line)
            // The records mean something else in the other mode: requests would be applied as
            // counts.
            .filter(|handoff| handoff.sockets.len() == sockets.len() && handoff.direct == direct)
            .ok_or(Cause::Incompatible)?;
        stream.set_nonblocking(true)?;
        let sockets = handoff.sockets.into_iter().zip(sockets).collect();
        let Handoff { process, grants_known_since, .. } = handoff;
        Ok(Some(Self { process, grants_known_since, stream, sockets }))
    }

    /// Takes the last good state, if the process has passed it.
    pub(crate) fn take_stored(&mut self) -> Option<Stored> {
        let found = self.sockets.iter().position(|(role, _)| *role == SocketRole::stored())?;
        let (_, file) = self.sockets.swap_remove(found);
        stored::read(file)
            .inspect_err(|error| log::warn!("last good state of the predecessor not read: error=\"{error}\""))
            .ok()
    }

    /// Takes the socket of a service with this configured address, if there is one.
    ///
    /// # Errors
    /// Returns an error if it is not a listening socket.
    pub(crate) fn take_socket(
        &mut self,
        service: &'static str,
        address: SocketAddr,
    ) -> io::Result<Option<Socket>> {
        let is_it = |role: &SocketRole| role.service == service && role.configured == address;
        let found = self.sockets.iter().position(|(role, _)| is_it(role));
        let taken = found.map(|found| self.sockets.swap_remove(found));
        taken.map(|(_, socket)| Socket::inherit(service, socket, address)).transpose()
    }

    /// Waits until this process is ready, imports the old process's state and calls `begin`. Then
    /// exchanges records until the old process has exited.
    pub(super) async fn take_over(self, state: &State, begin: impl FnOnce()) {
        const POLL_EVERY: Duration = Duration::from_millis(10);
        // The old process serves until every upstream was probed here. Before, calls would get a
        // 503.
        while !state.is_prepared() {
            sleep(POLL_EVERY).await;
        }
        let (other, queue) = mpsc::channel(QUEUE);
        // Before the import: what is counted here from the first call on is new to the old process.
        state.mode.mirror_to(Some(other));
        let imported = import(self.stream, state, self.grants_known_since).await;
        // An old process that fails now has exited or is about to. This one serves in any case.
        begin();
        match imported {
            Ok((mut from, mut to)) => {
                log::info!("upgrade complete: predecessor={}", self.process);
                let sent = async {
                    // If sending fails, records of the old process may still arrive.
                    let _sent = sync_record::send(queue, &mut to, pending()).await;
                    pending::<()>().await;
                };
                tokio::select! {
                    // Ends when the old process has exited.
                    _ = sync_record::receive(&mut from, |record| state.mode.apply(record)) => (),
                    () = sent => (),
                }
            }
            Err(error) => log::warn!(
                "upgrade incomplete, predecessor lost: predecessor={} error=\"{error}\"",
                self.process
            ),
        }
        state.mode.mirror_to(None);
    }
}

/// Reports that this process is ready, and imports the state that the old process sends and writes.
async fn import(
    stream: BlockingStream,
    state: &State,
    grants_known_since: Option<UnixMillis>,
) -> io::Result<(OwnedReadHalf, OwnedWriteHalf)> {
    let (mut from, mut to) = UnixStream::from_std(stream)?.into_split();
    to.write_all(READY).await?;
    // Bounded: an old process that hangs must not keep this one from serving.
    timeout(STATE_TIMEOUT, sync_record::receive(&mut from, |record| state.mode.apply(record))).await??;
    state.mode.import(grants_known_since);
    Ok((from, to))
}

/// Returns true if no process listens at the path, whether or not there is a socket.
fn has_no_listener(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused)
}
