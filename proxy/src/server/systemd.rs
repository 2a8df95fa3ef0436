//! Notifies systemd when the process is ready and when it is stopping (`sd_notify(3)`).

use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use pingora::server::ShutdownWatch;
use pingora::services::background::BackgroundService;
use tokio::sync::watch;
use tokio::time::sleep;

use phases::state::State;
use transport::drain::Phase;

/// The notification socket of the service manager.
#[derive(Debug)]
pub(super) struct Manager {
    socket: UnixDatagram,
    address: SocketAddr,
}

/// The background service that sends the notifications.
pub(super) struct Notifier {
    /// The state that decides readiness.
    pub(super) state: Arc<State>,
    /// The receiver of the notifications.
    pub(super) manager: Manager,
    /// Whether connections are accepted.
    pub(super) open: watch::Receiver<bool>,
}

impl Manager {
    /// Returns the socket with the address in `NOTIFY_SOCKET`: a path, or an abstract name after
    /// `@`.
    ///
    /// # Errors
    /// Returns an error if the address is neither.
    pub(super) fn at(name: &OsStr) -> io::Result<Self> {
        let address = match name.as_bytes() {
            [b'@', name @ ..] => abstract_address(name)?,
            _ => SocketAddr::from_pathname(name)?,
        };
        Ok(Self { socket: UnixDatagram::unbound()?, address })
    }

    fn notify(&self, message: &str) {
        if let Err(error) = self.socket.send_to_addr(message.as_bytes(), &self.address) {
            log::warn!("service manager not notified: message={message} error=\"{error}\"");
        }
    }
}

#[cfg(target_os = "linux")]
fn abstract_address(name: &[u8]) -> io::Result<SocketAddr> {
    use std::os::linux::net::SocketAddrExt as _;
    SocketAddr::from_abstract_name(name)
}

/// Abstract names exist on Linux alone, as systemd does.
#[cfg(not(target_os = "linux"))]
fn abstract_address(_name: &[u8]) -> io::Result<SocketAddr> {
    Err(io::Error::new(
        io::ErrorKind::Unsupported,
        "NOTIFY_SOCKET has an abstract name, which is Linux's alone",
    ))
}

#[async_trait]
impl BackgroundService for Notifier {
    async fn start(&self, _shutdown: ShutdownWatch) {
        let mut phase = self.state.drain.phase();
        tokio::select! {
            () = serving(&self.state, &self.open) => self.manager.notify("READY=1"),
            // It shuts down before it was ready.
            _ = phase.wait_for(|phase| *phase != Phase::Serving) => (),
        }
        // This cannot fail, because `state` holds the sender.
        let _ending = phase.wait_for(|phase| *phase != Phase::Serving).await;
        self.manager.notify("STOPPING=1");
    }
}

/// Waits until connections are accepted and the process is ready.
async fn serving(state: &State, open: &watch::Receiver<bool>) {
    const POLL_EVERY: Duration = Duration::from_millis(10);
    while !(*open.borrow() && state.is_ready()) {
        sleep(POLL_EVERY).await;
    }
}
