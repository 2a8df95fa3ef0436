//! A listener and the accept loop that serves its connections.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use thiserror::Error;
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::sync::oneshot;
use tokio::task::{JoinHandle, JoinSet};

/// A listener that could not be opened.
#[derive(Debug, Error)]
#[error("cannot listen on {addr} for {name}: {source}")]
pub struct BindError {
    /// The tool or API that needs the address.
    pub name: &'static str,
    /// The address.
    pub addr: SocketAddr,
    /// The cause.
    pub source: io::Error,
}

/// A running accept loop. Dropping it closes the listener and its connections asynchronously.
pub(super) struct AcceptLoop {
    stop: Option<oneshot::Sender<()>>,
    task: JoinHandle<()>,
}

impl AcceptLoop {
    /// Spawns the loop. Each connection is served by its own task.
    pub(super) fn start<F>(listener: TcpListener, serve: impl Fn(TcpStream) -> F + Send + 'static) -> Self
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let (stop, stopped) = oneshot::channel();
        Self { stop: Some(stop), task: tokio::spawn(accept_until_stopped(stopped, listener, serve)) }
    }

    /// Stops the loop. Returns when the listener and all connections are closed.
    pub(super) async fn stop(&mut self) {
        drop(self.stop.take());
        // A task that panicked, or whose runtime is shutting down, has dropped its sockets.
        let _ended = (&mut self.task).await;
    }
}

async fn accept_until_stopped<F>(
    mut stopped: oneshot::Receiver<()>,
    listener: TcpListener,
    serve: impl Fn(TcpStream) -> F,
) where
    F: Future<Output = ()> + Send + 'static,
{
    const ACCEPT_ERROR_PAUSE: Duration = Duration::from_millis(10);
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            _ = &mut stopped => break,
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => {
                    if stream.set_nodelay(true).is_ok() {
                        connections.spawn(serve(stream));
                    }
                }
                // Out of file descriptors: retry once connections have closed.
                Err(_) => tokio::time::sleep(ACCEPT_ERROR_PAUSE).await,
            },
            Some(_) = connections.join_next() => {}
        }
    }
    drop(listener);
    connections.shutdown().await;
}

/// Binds a socket without listening. Connections in TIME_WAIT do not block the port.
pub(super) fn bind(addr: SocketAddr) -> io::Result<TcpSocket> {
    let socket = if addr.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() }?;
    socket.set_reuseaddr(true)?;
    socket.bind(addr)?;
    Ok(socket)
}

/// Starts to listen on `socket`, or on a new one bound to `addr`.
pub(super) fn listen(
    name: &'static str,
    addr: SocketAddr,
    socket: Option<TcpSocket>,
) -> Result<(TcpListener, SocketAddr), BindError> {
    const BACKLOG: u32 = 1024;
    let listening = socket.map_or_else(|| bind(addr), Ok).and_then(|socket| {
        let listener = socket.listen(BACKLOG)?;
        let addr = listener.local_addr()?;
        Ok((listener, addr))
    });
    listening.map_err(|source| BindError { name, addr, source })
}
