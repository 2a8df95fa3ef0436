//! The old process's side of an upgrade, and the service that runs both sides.

use std::io;
use std::os::fd::{AsFd as _, OwnedFd};
use std::sync::{Arc, mpsc as std_mpsc};
use std::time::Duration;

use async_trait::async_trait;
use parking_lot::Mutex;
use pingora::server::ShutdownWatch;
use pingora::services::background::BackgroundService;
use rustix::process::geteuid;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, Interest};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::{mpsc, watch};
use tokio::time::{sleep, timeout};

use super::handoff::{Handoff, READY, SocketRole};
use super::listener::PrivateListener;
use super::new::OldProcess;
use super::{fds, stored};
use crate::shutdown::ShutdownReason;
use crate::sockets::Socket;
use direct::sync_record::{self, END, QUEUE, SyncRecord};
use phases::state::State;
use transport::drain::{InFlightGuard, Phase, WorkKind};

/// The background service that takes over from the old process, if there is one, and then waits for
/// a new process.
pub(crate) struct UpgradeService {
    state: Arc<State>,
    /// Taken when the service starts.
    parts: Mutex<Option<Parts>>,
}

struct Parts {
    old: Option<OldProcess>,
    listener: PrivateListener,
    sockets: Vec<(SocketRole, OwnedFd)>,
    open: watch::Sender<bool>,
    reasons: std_mpsc::Sender<ShutdownReason>,
}

/// The process that has taken over the sockets.
struct NewProcess {
    stream: UnixStream,
    /// Records for it.
    queue: mpsc::Receiver<SyncRecord>,
    /// Delays the exit until every record has been sent.
    unsent: InFlightGuard,
}

/// Timeout for the new process to be ready. It must probe all upstreams first.
const READY_TIMEOUT: Duration = Duration::from_secs(300);

impl UpgradeService {
    /// Returns the service of a process with these sockets. It sets `open` when connections are to
    /// be accepted, and sends a reason to `reasons` when another process has taken over.
    ///
    /// # Errors
    /// Returns an error if the sockets cannot be duplicated.
    pub(crate) fn new(
        state: Arc<State>,
        old: Option<OldProcess>,
        listener: PrivateListener,
        sockets: [&Socket; 2],
        open: watch::Sender<bool>,
        reasons: std_mpsc::Sender<ShutdownReason>,
    ) -> io::Result<Self> {
        let sockets = sockets.map(|socket| {
            let role = SocketRole { service: socket.service.to_owned(), configured: socket.configured };
            Ok((role, socket.duplicate()?))
        });
        let sockets = sockets.into_iter().collect::<io::Result<_>>()?;
        let parts = Parts { old, listener, sockets, open, reasons };
        Ok(Self { state, parts: Mutex::new(Some(parts)) })
    }
}

#[async_trait]
impl BackgroundService for UpgradeService {
    async fn start(&self, _shutdown: ShutdownWatch) {
        let Some(mut parts) = self.parts.lock().take() else { return };
        let mut phase = self.state.drain.phase();
        let new = tokio::select! {
            new = parts.run(&self.state) => new,
            // Drops the sockets: a process that shuts down accepts no connections.
            _ = phase.wait_for(|phase| *phase == Phase::Closing) => None,
        };
        // Outside of the select, because records are exchanged until the process exits.
        if let Some(new) = new {
            new.sync(&self.state).await;
        }
    }
}

impl Parts {
    /// Takes over from the old process, and returns the new process once it has taken over from
    /// this one. Accepts no new process while the old one still runs, because its records must come
    /// first.
    async fn run(&mut self, state: &State) -> Option<NewProcess> {
        let old = self.old.take();
        match old {
            Some(old) => old.take_over(state, || self.begin()).await,
            None => self.begin(),
        }
        let listener = self.listener.listener().try_clone().and_then(UnixListener::from_std);
        match listener {
            Ok(listener) => Some(self.accept(listener, state).await),
            Err(error) => {
                log::error!("upgrade unavailable: error=\"{error}\"");
                None
            }
        }
    }

    /// Starts to accept connections, and publishes the upgrade socket.
    fn begin(&mut self) {
        self.open.send_replace(true);
        if let Err(error) = self.listener.publish() {
            log::error!("upgrade unavailable: error=\"{error}\"");
        }
    }

    async fn accept(&mut self, listener: UnixListener, state: &State) -> NewProcess {
        const PAUSE: Duration = Duration::from_secs(1);
        loop {
            let upgraded = match listener.accept().await {
                Ok((stream, _)) => self.hand_off(stream, state).await,
                Err(error) => {
                    sleep(PAUSE).await;
                    Err(error)
                }
            };
            match upgraded {
                Ok(new) => return new,
                Err(error) => {
                    log::warn!("upgrade failed, this process keeps serving: error=\"{error}\"");
                }
            }
        }
    }

    /// Passes the sockets and the state to a new process. Nothing has changed here until the new
    /// process is ready and has received the whole state.
    async fn hand_off(&mut self, mut stream: UnixStream, state: &State) -> io::Result<NewProcess> {
        // Whoever gets the sockets gets the clients, with their keys.
        if stream.peer_cred()?.uid() != geteuid().as_raw() {
            return Err(io::ErrorKind::PermissionDenied.into());
        }
        let handoff = Handoff {
            process: std::process::id(),
            direct: state.mode.is_direct(),
            grants_known_since: state.mode.grants_known_since(),
            sockets: self.sockets.iter().map(|(role, _)| role.clone()).collect(),
        };
        let mut handoff = handoff;
        let mut sockets: Vec<_> = self.sockets.iter().map(|(_, socket)| socket.as_fd()).collect();
        let stored = stored::write(&state.to_stored());
        if let Ok(stored) = &stored {
            handoff.sockets.push(SocketRole::stored());
            sockets.push(stored.as_fd());
        }
        stream
            .async_io(Interest::WRITABLE, || fds::send(&stream, handoff.to_line().as_bytes(), &sockets))
            .await?;
        let mut response = [0; READY.len()];
        timeout(READY_TIMEOUT, stream.read_exact(&mut response)).await??;
        // A process that fails before it is ready has changed nothing here.
        if response != READY {
            return Err(io::ErrorKind::InvalidData.into());
        }
        let (other, queue) = mpsc::channel(QUEUE);
        // From now on each change is also sent on. What was before is in the records, so that
        // nothing is missing between them.
        let exported = match state.mode.export(other) {
            Ok(records) => send_all(records, &mut stream).await,
            Err(error) => Err(error),
        };
        if let Err(error) = exported {
            state.mode.mirror_to(None);
            return Err(error);
        }
        // Tracked before the sockets are left: the shutdown that follows must wait for the records.
        let new = NewProcess { stream, queue, unsent: state.drain.track(WorkKind::Sending) };
        self.leave(state);
        Ok(new)
    }

    /// Stops accepting connections. The shutdown that follows waits for the records, which the new
    /// process must have before it accepts connections.
    fn leave(&mut self, state: &State) {
        log::info!(
            "sockets handed over: connections={} requests_in_flight={}",
            state.drain.connections(),
            state.drain.requests()
        );
        state.drain.hand_over();
        // The path belongs to the new process now. Removed here, no further upgrade would find it.
        self.listener.leave();
        self.sockets.clear();
        // A failed send means that the process is exiting already.
        let _sent = self.reasons.send(ShutdownReason::Upgraded);
    }
}

async fn send_all(records: impl Iterator<Item = Vec<SyncRecord>>, stream: &mut UnixStream) -> io::Result<()> {
    for part in records {
        stream.write_all(part.as_flattened()).await?;
    }
    Ok(())
}

impl NewProcess {
    /// Exchanges records with the new process until this one exits.
    async fn sync(self, state: &State) {
        let Self { stream, queue, unsent } = self;
        let (mut from, mut to) = stream.into_split();
        let sent = async move {
            let _unsent = unsent;
            // The new process accepts connections only after this record, when it has the whole
            // state.
            to.write_all(&END).await?;
            sync_record::send(queue, &mut to, last_call(state)).await
        };
        let received = sync_record::receive(&mut from, |record| state.mode.apply(record));
        let (_received, _sent) = tokio::join!(received, sent);
    }
}

/// Waits until the process is shutting down and no call is in flight.
async fn last_call(state: &State) {
    const POLL_EVERY: Duration = Duration::from_millis(10);
    let mut phase = state.drain.phase();
    // This cannot fail, because `state` holds the sender.
    drop(phase.wait_for(|phase| *phase == Phase::Closing).await);
    // The end of the last call is still to be told: the new process missed how calls had ended, and
    // let one too many pass.
    while state.drain.requests() > 0 {
        sleep(POLL_EVERY).await;
    }
}
