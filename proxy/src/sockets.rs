//! Listening sockets. They are bound before anything else starts, so that a port in use is an error
//! immediately, and a port that the system chose can be announced.

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::os::fd::OwnedFd;
use std::sync::Arc;

use async_trait::async_trait;
use pingora::apps::ServerApp;
use pingora::server::{ListenFds, ShutdownWatch};
use pingora::services::Service;
use tokio::sync::watch;

use transport::accept::accept;
use transport::drain::{Drain, WorkKind};

/// Maximum number of connections that wait to be accepted. The system's own limit may be lower.
const BACKLOG: i32 = 65_535;

/// A listening socket.
#[derive(Debug)]
pub(crate) struct Socket {
    listener: TcpListener,
    /// The service that accepts its connections.
    pub(crate) service: &'static str,
    /// The bound address, with the port that the system chose for port 0.
    pub(crate) address: SocketAddr,
    /// The configured address.
    pub(crate) configured: SocketAddr,
}

impl Socket {
    /// Binds an address for a service.
    ///
    /// # Errors
    /// Returns the error of the operating system.
    pub(crate) fn bind(service: &'static str, address: SocketAddr) -> io::Result<Self> {
        Self::of(service, TcpListener::bind(address)?, address)
    }

    /// Returns the socket of another process, which was `configured` to this address.
    ///
    /// # Errors
    /// Returns an error if it is not a listening TCP socket.
    pub(crate) fn inherit(
        service: &'static str,
        socket: OwnedFd,
        configured: SocketAddr,
    ) -> io::Result<Self> {
        Self::of(service, TcpListener::from(socket), configured)
    }

    fn of(service: &'static str, listener: TcpListener, configured: SocketAddr) -> io::Result<Self> {
        // A socket of another process keeps its mode. A blocking one would stop the thread in
        // `accept`.
        listener.set_nonblocking(true)?;
        // Each accepted connection has it too, without its own system call.
        rustix::net::sockopt::set_tcp_nodelay(&listener, true)?;
        // Again, because Rust's standard library asks for a queue of 128 connections.
        rustix::net::listen(&listener, BACKLOG)?;
        Ok(Self { service, address: listener.local_addr()?, configured, listener })
    }

    /// Returns a duplicate, for another process.
    ///
    /// # Errors
    /// Returns an error if the process has too many open files.
    pub(crate) fn duplicate(&self) -> io::Result<OwnedFd> {
        self.listener.try_clone().map(OwnedFd::from)
    }
}

/// A service on a socket that is bound already.
pub(crate) struct BoundService<A> {
    /// The application and its socket, until the service starts.
    unstarted: Option<(A, Socket)>,
    name: &'static str,
    threads: Option<usize>,
    open: watch::Receiver<bool>,
    shutdown: Option<watch::Receiver<bool>>,
    drain: Arc<Drain>,
}

impl<A: ServerApp + Send + Sync + 'static> BoundService<A> {
    /// Returns the service of `app`. It accepts connections when `open` is true. `threads` defaults
    /// to the number of the server.
    pub(crate) fn new(
        app: A,
        socket: Socket,
        open: watch::Receiver<bool>,
        drain: &Arc<Drain>,
        threads: Option<usize>,
    ) -> Self {
        let name = socket.service;
        let unstarted = Some((app, socket));
        Self { unstarted, name, threads, open, shutdown: None, drain: Arc::clone(drain) }
    }

    /// Returns the same service, which accepts connections during the shutdown until `end` is true.
    #[must_use]
    pub(crate) fn until(self, end: watch::Receiver<bool>) -> Self {
        Self { shutdown: Some(end), ..self }
    }
}

#[async_trait]
impl<A: ServerApp + Send + Sync + 'static> Service for BoundService<A> {
    async fn start_service(
        &mut self,
        _fds: Option<ListenFds>,
        shutdown: ShutdownWatch,
        _listeners_per_fd: usize,
    ) {
        let Some((app, socket)) = self.unstarted.take() else { return };
        let mut ending = shutdown.clone();
        tokio::select! {
            // Until then the old process accepts the connections. A closed channel means shutdown.
            opened = self.open.wait_for(|open| *open) => if opened.is_err() { return },
            _ = ending.changed() => return,
        }
        let shutdown = self.shutdown.clone().unwrap_or(shutdown);
        let _listening = self.drain.track(WorkKind::Listener);
        if let Err(error) = accept(socket.listener, app, shutdown).await {
            log::error!("not listening: address={} error=\"{error}\"", socket.address);
        }
    }

    fn name(&self) -> &str {
        self.name
    }

    fn threads(&self) -> Option<usize> {
        self.threads
    }
}

#[cfg(test)]
mod tests {
    use std::net::{Ipv4Addr, TcpStream};

    use super::*;

    #[test]
    fn accepted_connection_has_nagles_algorithm_off() {
        let socket = Socket::bind("test", (Ipv4Addr::LOCALHOST, 0).into()).unwrap();
        socket.listener.set_nonblocking(false).unwrap();
        let _client = TcpStream::connect(socket.address).unwrap();
        let (accepted, _) = socket.listener.accept().unwrap();
        assert!(accepted.nodelay().unwrap());
    }
}
