//! Tells the service manager when the process serves and when it ends (the protocol of `sd_notify`), so that whoever starts
//! it knows when calls are taken and whether that came to pass.

use std::{
    ffi::OsStr,
    io,
    os::{
        linux::net::SocketAddrExt as _,
        unix::{
            ffi::OsStrExt as _,
            net::{SocketAddr, UnixDatagram},
        },
    },
    sync::Arc,
    time::Duration,
};

use async_trait::async_trait;
use pingora_core::{server::ShutdownWatch, services::background::BackgroundService};
use tokio::{sync::watch, time::sleep};

use crate::state::State;
use transport::drain::Phase;

/// Where the service manager listens.
#[derive(Debug)]
pub(super) struct Manager {
    socket: UnixDatagram,
    address: SocketAddr,
}

/// Tells it.
pub(super) struct Notifier {
    /// Whose state is told.
    pub(super) state: Arc<State>,
    /// Who is told.
    pub(super) manager: Manager,
    /// Whether connections are taken.
    pub(super) open: watch::Receiver<bool>,
}

impl Manager {
    /// The one at `name`, which is what the variable `NOTIFY_SOCKET` says: a path, or a name after `@`.
    ///
    /// # Errors
    /// When it is neither.
    pub(super) fn at(name: &OsStr) -> io::Result<Self> {
        let address = match name.as_bytes() {
            [b'@', name @ ..] => SocketAddr::from_abstract_name(name)?,
            _ => SocketAddr::from_pathname(name)?,
        };
        Ok(Self { socket: UnixDatagram::unbound()?, address })
    }

    fn tell(&self, what: &str) {
        if let Err(error) = self.socket.send_to_addr(what.as_bytes(), &self.address) {
            log::warn!("service manager not notified: message={what} error=\"{error}\"");
        }
    }
}

#[async_trait]
impl BackgroundService for Notifier {
    async fn start(&self, _shutdown: ShutdownWatch) {
        let mut phase = self.state.drain.phase();
        tokio::select! {
            () = serving(&self.state, &self.open) => self.manager.tell("READY=1"),
            // It ends before it has served.
            _ = phase.wait_for(|phase| *phase != Phase::Serving) => (),
        }
        // It cannot fail: the state has the other end.
        let _ending = phase.wait_for(|phase| *phase != Phase::Serving).await;
        self.manager.tell("STOPPING=1");
    }
}

/// Waits until calls are taken and can be served.
async fn serving(state: &State, open: &watch::Receiver<bool>) {
    const LOOK_EVERY: Duration = Duration::from_millis(10);
    while !(*open.borrow() && state.is_ready()) {
        sleep(LOOK_EVERY).await;
    }
}
