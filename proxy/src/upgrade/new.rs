//! The new process's side.

use std::{
    future::pending,
    io,
    net::SocketAddr,
    os::{fd::OwnedFd, unix::net::UnixStream as Blocking},
    path::Path,
    time::Duration,
};

use tokio::{
    io::AsyncWriteExt as _,
    net::UnixStream,
    sync::mpsc,
    time::{sleep, timeout},
};

use super::{Offer, READY, Role, UNTOLD, fds, learn, listener, tell};
use crate::{server::listener::Socket, state::State};

/// The process whose sockets are taken. It takes the connections until it is told that this one is ready.
#[derive(Debug)]
pub(crate) struct Predecessor {
    process: u32,
    stream: Blocking,
    sockets: Vec<(Role, OwnedFd)>,
}

/// An old process that is well answers at once; one that is busy with another new one does not.
const ANSWER_WITHIN: Duration = Duration::from_secs(10);
/// All that is remembered is said within this, at four million requests and 64 MB.
const ALL_WITHIN: Duration = Duration::from_secs(30);

impl Predecessor {
    /// Asks whoever listens at `place` for the sockets, a process in `direct` mode or not, as this one; `None` when nobody
    /// does.
    ///
    /// # Errors
    /// When the one who listens there is not of this user, or does not say what this process understands.
    pub(crate) fn meet(place: &Path, direct: bool) -> io::Result<Option<Self>> {
        let named = |what: &str| io::Error::other(format!("the upgrade socket {}: {what}", place.display()));
        let stream = match Blocking::connect(place) {
            Ok(stream) => stream,
            Err(error) if is_nobody(&error) => return Ok(None),
            Err(error) => return Err(named(&error.to_string())),
        };
        if !listener::is_own(place)? {
            return Err(named("it belongs to another user"));
        }
        stream.set_read_timeout(Some(ANSWER_WITHIN))?;
        let (line, sockets) = fds::receive(&stream).map_err(|error| match error.kind() {
            io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => named(
                "the process there does not answer; it is still relieving the one before it, or is stuck",
            ),
            _ => named(&format!("the process there does not answer: {error}")),
        })?;
        if line.is_empty() {
            return Err(named("the process there is ending; start again when it has ended"));
        }
        let offer = Offer::parse(&line)
            .filter(|offer| offer.sockets.len() == sockets.len() && offer.direct == direct);
        let offer =
            offer.ok_or_else(|| named("the process there hands over in another way; restart instead"))?;
        stream.set_nonblocking(true)?;
        Ok(Some(Self {
            process: offer.process,
            stream,
            sockets: offer.sockets.into_iter().zip(sockets).collect(),
        }))
    }

    /// The socket of a service that was configured to be at `address`, if there is one.
    ///
    /// # Errors
    /// When it is no socket that listens on an address.
    pub(crate) fn take(&mut self, service: &'static str, address: SocketAddr) -> io::Result<Option<Socket>> {
        let is_it = |role: &Role| role.service == service && role.configured == address;
        let found = self.sockets.iter().position(|(role, _)| is_it(role));
        let taken = found.map(|found| self.sockets.swap_remove(found));
        taken.map(|(_, socket)| Socket::taken(service, socket, address)).transpose()
    }

    /// Waits until calls could be served here, and learns what the old process has made; then `begin` is called, and both
    /// tell each other what they make until the old one has ended.
    pub(super) async fn relieve(self, state: &State, begin: impl FnOnce()) {
        const LOOK_EVERY: Duration = Duration::from_millis(10);
        while !state.is_prepared() {
            sleep(LOOK_EVERY).await;
        }
        let (other, made) = mpsc::channel(UNTOLD);
        state.tell(Some(other));
        let stream = UnixStream::from_std(self.stream);
        let met = async {
            let (mut from, mut to) = stream?.into_split();
            to.write_all(READY).await?;
            timeout(ALL_WITHIN, learn(state, &mut from)).await??;
            state.take_over();
            io::Result::Ok((from, to))
        };
        // One that fails now is gone, or soon will be: it does not keep this one from serving.
        let met = met.await;
        begin();
        match met {
            Ok((mut from, mut to)) => {
                log::info!("upgrade complete: predecessor={}", self.process);
                let told = async {
                    // One that hears nothing any more may still have said what is to be learnt.
                    let _told = tell(made, &mut to, pending()).await;
                    pending::<()>().await;
                };
                tokio::select! {
                    // It ends with the other process.
                    _ = learn(state, &mut from) => (),
                    () = told => (),
                }
            }
            Err(error) => log::warn!(
                "upgrade incomplete, predecessor lost: predecessor={} error=\"{error}\"",
                self.process
            ),
        }
        state.tell(None);
    }
}

/// Whether there is no process at the place, be there a socket or not.
fn is_nobody(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused)
}
