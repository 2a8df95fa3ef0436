//! Listening sockets. They are bound before anything else starts, so that a port in use is an error
//! at once, and a port that the system chose can be announced.

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::os::fd::{IntoRawFd, OwnedFd};
use std::sync::Arc;

use async_trait::async_trait;
use pingora::apps::ServerApp;
use pingora::listeners::ListenerConfig;
use pingora::protocols::l4::stream::L4BufferSettings;
use pingora::server::{ListenFds, ShutdownWatch};
use pingora::services::Service;
use pingora::services::listening::Service as Listening;
use tokio::sync::watch;

use transport::drain::{Drain, WorkKind};

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
        listener.set_nonblocking(true)?;
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

/// A Pingora service on a socket that is bound already.
pub(crate) struct BoundService<A> {
    socket: Option<Socket>,
    service: Listening<A>,
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
        let mut service = Listening::new(socket.service.to_owned(), app);
        // Measured: Pingora's read buffer takes 64 KiB per connection, also while it is idle, and
        // its write buffer copies every response. The transport has its own buffers.
        let buffers = L4BufferSettings::unbuffered();
        service.add_listener(ListenerConfig::tcp(socket.address.to_string()).l4_buffer(buffers));
        service.threads = threads;
        Self { socket: Some(socket), service, open, shutdown: None, drain: Arc::clone(drain) }
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
        fds: Option<ListenFds>,
        shutdown: ShutdownWatch,
        listeners_per_fd: usize,
    ) {
        // Pingora uses a socket that it finds in this table, as in its own upgrade.
        if let (Some(fds), Some(socket)) = (&fds, self.socket.take()) {
            fds.lock().add(socket.address.to_string(), socket.listener.into_raw_fd());
        }
        let mut ending = shutdown.clone();
        tokio::select! {
            // Until then the old process accepts the connections. A closed channel means shutdown.
            opened = self.open.wait_for(|open| *open) => if opened.is_err() { return },
            _ = ending.changed() => return,
        }
        let shutdown = self.shutdown.clone().unwrap_or(shutdown);
        let _listening = self.drain.track(WorkKind::Listener);
        self.service.start_service(fds, shutdown, listeners_per_fd).await;
    }

    fn name(&self) -> &str {
        Service::name(&self.service)
    }

    fn threads(&self) -> Option<usize> {
        Service::threads(&self.service)
    }

    fn listen_addresses(&self) -> Option<Vec<String>> {
        Service::listen_addresses(&self.service)
    }
}
