//! The old process's side, and the service of both.

use std::{
    io,
    os::fd::{AsFd as _, OwnedFd},
    sync::{Arc, mpsc as std_mpsc},
    time::Duration,
};

use async_trait::async_trait;
use parking_lot::Mutex;
use pingora_core::{server::ShutdownWatch, services::background::BackgroundService};
use rustix::process::geteuid;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _, Interest},
    net::{UnixListener, UnixStream},
    sync::{mpsc, watch},
    time::{sleep, timeout},
};

use super::{Door, END, Offer, Predecessor, READY, Role, UNTOLD, Word, fds, learn, tell};
use crate::{
    server::{listener::Socket, shutdown::ShutdownReason},
    state::State,
};
use transport::drain::{InFlightGuard, Phase};

/// Relieves the process before this one, if there is one, and then waits for the one that relieves this one.
pub(crate) struct Successors {
    state: Arc<State>,
    parts: Mutex<Option<Parts>>,
}

/// What is used up once.
struct Parts {
    predecessor: Option<Predecessor>,
    door: Door,
    sockets: Vec<(Role, OwnedFd)>,
    open: watch::Sender<bool>,
    told: std_mpsc::Sender<ShutdownReason>,
}

/// The process that takes the connections now.
struct Successor {
    stream: UnixStream,
    /// What is made here.
    made: mpsc::Receiver<Word>,
    /// Keeps this process from its end until it has said all of that.
    untold: InFlightGuard,
}

/// A new process is ready once it has probed its upstreams, or something is wrong with it.
const READY_WITHIN: Duration = Duration::from_secs(300);

impl Successors {
    /// The service of a process with these `sockets`, which are accepted from when it has set `open`. It tells `told` when
    /// another process has them.
    ///
    /// # Errors
    /// When there are no more file descriptors.
    pub(crate) fn new(
        state: Arc<State>,
        predecessor: Option<Predecessor>,
        door: Door,
        sockets: [&Socket; 2],
        open: watch::Sender<bool>,
        told: std_mpsc::Sender<ShutdownReason>,
    ) -> io::Result<Self> {
        let sockets = sockets.map(|socket| {
            let role = Role { service: socket.service.to_owned(), configured: socket.configured };
            Ok((role, socket.again()?))
        });
        let sockets = sockets.into_iter().collect::<io::Result<_>>()?;
        let parts = Parts { predecessor, door, sockets, open, told };
        Ok(Self { state, parts: Mutex::new(Some(parts)) })
    }
}

#[async_trait]
impl BackgroundService for Successors {
    async fn start(&self, _shutdown: ShutdownWatch) {
        let Some(mut parts) = self.parts.lock().take() else { return };
        let mut phase = self.state.drain.phase();
        let successor = tokio::select! {
            successor = parts.run(&self.state) => successor,
            // The sockets are closed with it: a process that ends takes no connections.
            _ = phase.wait_for(|phase| *phase == Phase::Closing) => None,
        };
        // What is done until the end is told too, so that this does not end with the phase.
        if let Some(successor) = successor {
            successor.share(&self.state).await;
        }
    }
}

impl Parts {
    /// The process that has relieved this one. One at a time: no other is met before the one that is relieved has ended,
    /// and what it made is known.
    async fn run(&mut self, state: &State) -> Option<Successor> {
        let predecessor = self.predecessor.take();
        match predecessor {
            Some(predecessor) => predecessor.relieve(state, || self.begin()).await,
            None => self.begin(),
        }
        let successors = self.door.listener().try_clone().and_then(UnixListener::from_std);
        match successors {
            Ok(successors) => Some(self.wait_for(successors, state).await),
            Err(error) => {
                log::error!("upgrade unavailable: error=\"{error}\"");
                None
            }
        }
    }

    /// From now on connections are taken here, and who looks for this process finds it.
    fn begin(&mut self) {
        self.open.send_replace(true);
        if let Err(error) = self.door.put_in_place() {
            log::error!("upgrade unavailable: error=\"{error}\"");
        }
    }

    async fn wait_for(&mut self, successors: UnixListener, state: &State) -> Successor {
        const PAUSE: Duration = Duration::from_secs(1);
        loop {
            let met = match successors.accept().await {
                Ok((stream, _)) => self.hand_over(stream, state).await,
                Err(error) => {
                    sleep(PAUSE).await;
                    Err(error)
                }
            };
            match met {
                Ok(successor) => return successor,
                Err(error) => {
                    log::warn!("upgrade failed, this process keeps serving: error=\"{error}\"");
                }
            }
        }
    }

    /// Gives a new process what it needs and lets it take the connections. Until it has said that it is ready and all that
    /// is remembered was said to it, nothing has changed here.
    async fn hand_over(&mut self, mut stream: UnixStream, state: &State) -> io::Result<Successor> {
        if stream.peer_cred()?.uid() != geteuid().as_raw() {
            return Err(io::ErrorKind::PermissionDenied.into());
        }
        let offer = Offer {
            process: std::process::id(),
            direct: state.direct.is_some(),
            sockets: self.sockets.iter().map(|(role, _)| role.clone()).collect(),
        };
        let sockets: Vec<_> = self.sockets.iter().map(|(_, socket)| socket.as_fd()).collect();
        stream
            .async_io(Interest::WRITABLE, || fds::send(&stream, offer.to_line().as_bytes(), &sockets))
            .await?;
        let mut said = [0; READY.len()];
        timeout(READY_WITHIN, stream.read_exact(&mut said)).await??;
        if said != READY {
            return Err(io::ErrorKind::InvalidData.into());
        }
        let (other, made) = mpsc::channel(UNTOLD);
        let all = match state.hand_over(other) {
            Ok(remembered) => tell_all(remembered, &mut stream).await,
            Err(error) => Err(error),
        };
        if let Err(error) = all {
            state.tell(None);
            return Err(error);
        }
        let successor = Successor { stream, made, untold: state.drain.track_sending() };
        self.leave(state);
        Ok(successor)
    }

    /// From now on no connection is taken here. What the new process has to find when it begins is written here.
    fn leave(&mut self, state: &State) {
        log::info!(
            "sockets handed over: connections={} requests_in_flight={}",
            state.drain.connections(),
            state.drain.requests()
        );
        state.drain.hand_over();
        self.door.leave();
        self.sockets.clear();
        // Nobody listens only when the process is ending already.
        let _told = self.told.send(ShutdownReason::Upgraded);
    }
}

async fn tell_all(remembered: impl Iterator<Item = Vec<Word>>, stream: &mut UnixStream) -> io::Result<()> {
    for part in remembered {
        stream.write_all(part.as_flattened()).await?;
    }
    Ok(())
}

impl Successor {
    /// Tells the new process what is still made here, and learns what it makes, until this one ends.
    async fn share(self, state: &State) {
        let Self { stream, made, untold } = self;
        let (mut from, mut to) = stream.into_split();
        let told = async move {
            let _untold = untold;
            to.write_all(&END).await?;
            tell(made, &mut to, last_call(state)).await
        };
        let (_learned, _told) = tokio::join!(learn(state, &mut from), told);
    }
}

/// Waits until the process is ending and no call is left of which the other one has to know.
async fn last_call(state: &State) {
    const LOOK_EVERY: Duration = Duration::from_millis(10);
    let mut phase = state.drain.phase();
    // It cannot fail: the state has the other end.
    drop(phase.wait_for(|phase| *phase == Phase::Closing).await);
    while state.drain.requests() > 0 {
        sleep(LOOK_EVERY).await;
    }
}
