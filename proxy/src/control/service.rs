//! The admin socket: reads requests of operators.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use parking_lot::Mutex;
use pingora::server::ShutdownWatch;
use pingora::services::background::BackgroundService;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::watch;
use tokio::time::{sleep, timeout};

use super::controller::{Controller, MAX_REQUEST, PATIENCE};
use crate::upgrade::PrivateListener;

/// The background service of the admin socket.
pub(crate) struct ControlService {
    controller: Arc<Controller>,
    /// Taken when the service starts.
    listener: Mutex<Option<PrivateListener>>,
    open: watch::Receiver<bool>,
}

impl ControlService {
    /// Returns the service at a socket. It accepts requests when `open` is true.
    pub(crate) const fn new(
        controller: Arc<Controller>,
        listener: PrivateListener,
        open: watch::Receiver<bool>,
    ) -> Self {
        Self { controller, listener: Mutex::new(Some(listener)), open }
    }

    /// Serves one connection after another: an operator's changes have an order.
    async fn serve(&self, listener: &UnixListener) {
        const PAUSE: Duration = Duration::from_secs(1);
        loop {
            match listener.accept().await {
                Ok((stream, _)) => {
                    // A client that left knows that it has no response.
                    let _served = self.serve_connection(stream).await;
                }
                Err(error) => {
                    log::warn!("admin socket: connection not accepted: error=\"{error}\"");
                    // Without a pause, a process without free descriptors would fill the log with
                    // this line.
                    sleep(PAUSE).await;
                }
            }
        }
    }

    async fn serve_connection(&self, stream: UnixStream) -> io::Result<()> {
        // From the kernel and not from the request, so that the log names who it was.
        let peer = stream.peer_cred()?;
        let by = format!("uid={} pid={}", peer.uid(), peer.pid().unwrap_or_default());
        let (read, mut write) = stream.into_split();
        let mut line = String::new();
        // Connections are served one after another. A client that sends nothing would lock all
        // others out.
        timeout(PATIENCE, BufReader::new(read.take(MAX_REQUEST as u64)).read_line(&mut line)).await??;
        let mut line = serde_json::to_vec(&self.controller.handle(&line, by).await)?;
        line.push(b'\n');
        timeout(PATIENCE, write.write_all(&line)).await?
    }
}

#[async_trait]
impl BackgroundService for ControlService {
    async fn start(&self, mut shutdown: ShutdownWatch) {
        let Some(mut listener) = self.listener.lock().take() else { return };
        let mut open = self.open.clone();
        if open.wait_for(|open| *open).await.is_err() {
            return;
        }
        let published = listener.publish().map_err(|error| error.to_string());
        let accepting = published.and_then(|()| {
            let socket = listener.listener().try_clone().and_then(UnixListener::from_std);
            socket.map_err(|error| error.to_string())
        });
        let socket = match accepting {
            Ok(socket) => socket,
            Err(error) => {
                log::error!("admin socket unavailable: error=\"{error}\"");
                return;
            }
        };
        let mut handed_over = self.controller.drain().handed_over();
        tokio::select! {
            () = self.serve(&socket) => {}
            _ = handed_over.wait_for(|handed_over| *handed_over) => {}
            _ = shutdown.changed() => {}
        }
        // Both may have come. The socket at the path is that of the new process then.
        if *self.controller.drain().handed_over().borrow() {
            listener.leave();
        }
    }
}
