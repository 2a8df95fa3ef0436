//! Sockets that are bound before anything else starts, so that a port that is taken is known at once and a port
//! that the system chose can be told.

use std::{
    io,
    net::{SocketAddr, TcpListener},
    os::fd::{IntoRawFd, OwnedFd},
    sync::Arc,
};

use async_trait::async_trait;
use pingora_core::{
    apps::ServerApp,
    listeners::ListenerConfig,
    protocols::l4::stream::L4BufferSettings,
    server::{ListenFds, ShutdownWatch},
    services::{Service, listening::Service as Listening},
};
use tokio::sync::watch;

use transport::drain::Drain;

/// A bound socket.
#[derive(Debug)]
pub(crate) struct Socket {
    listener: TcpListener,
    /// The service that it is for.
    pub(crate) service: &'static str,
    /// Where it is bound, with the port the system chose for port 0.
    pub(crate) address: SocketAddr,
    /// Where it was told to be.
    pub(crate) configured: SocketAddr,
}

impl Socket {
    /// Binds an address for a service.
    ///
    /// # Errors
    /// When it cannot be bound; the message names it.
    pub(crate) fn bind(service: &'static str, address: SocketAddr) -> io::Result<Self> {
        let named =
            |error: io::Error| io::Error::new(error.kind(), format!("cannot listen on {address}: {error}"));
        let listener = TcpListener::bind(address).map_err(named)?;
        Self::of(service, listener, address).map_err(named)
    }

    /// The socket of another process, which bound it where it was `configured` to.
    ///
    /// # Errors
    /// When it is no socket that listens on an address.
    pub(crate) fn taken(service: &'static str, socket: OwnedFd, configured: SocketAddr) -> io::Result<Self> {
        Self::of(service, TcpListener::from(socket), configured)
    }

    fn of(service: &'static str, listener: TcpListener, configured: SocketAddr) -> io::Result<Self> {
        listener.set_nonblocking(true)?;
        Ok(Self { service, address: listener.local_addr()?, configured, listener })
    }

    /// The same socket once more, to be handed to another process.
    ///
    /// # Errors
    /// When there are no more file descriptors.
    pub(crate) fn again(&self) -> io::Result<OwnedFd> {
        self.listener.try_clone().map(OwnedFd::from)
    }
}

/// A service that is given its socket instead of binding one.
pub(crate) struct BoundService<A> {
    socket: Option<Socket>,
    service: Listening<A>,
    open: watch::Receiver<bool>,
    lasting: Option<watch::Receiver<bool>>,
    drain: Arc<Drain>,
}

impl<A: ServerApp + Send + Sync + 'static> BoundService<A> {
    /// `app` on `socket`, from when `open` is true; `threads` is the server's own number when left out.
    #[must_use]
    pub(crate) fn new(
        app: A,
        socket: Socket,
        open: watch::Receiver<bool>,
        drain: &Arc<Drain>,
        threads: Option<usize>,
    ) -> Self {
        let mut service = Listening::new(socket.service.to_owned(), app);
        // Measured: Pingora's read buffer is 64 KiB for each connection, held also while it is idle, and its write buffer
        // copies every answer. What reads and writes here brings its own.
        let buffers = L4BufferSettings::unbuffered();
        service.add_listener(ListenerConfig::tcp(socket.address.to_string()).l4_buffer(buffers));
        service.threads = threads;
        Self { socket: Some(socket), service, open, lasting: None, drain: Arc::clone(drain) }
    }

    /// The same service, which goes on through the end of the process until `end` is true.
    #[must_use]
    pub(crate) fn lasting(self, end: watch::Receiver<bool>) -> Self {
        Self { lasting: Some(end), ..self }
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
        // Pingora takes a socket it finds in this table, as it does with those of a process it replaces.
        if let (Some(fds), Some(socket)) = (&fds, self.socket.take()) {
            fds.lock().add(socket.address.to_string(), socket.listener.into_raw_fd());
        }
        let mut ending = shutdown.clone();
        tokio::select! {
            // Until then another process takes the connections; when nobody can open it any more, the process is ending.
            opened = self.open.wait_for(|open| *open) => if opened.is_err() { return },
            _ = ending.changed() => return,
        }
        let shutdown = self.lasting.clone().unwrap_or(shutdown);
        let _listening = self.drain.track_listener();
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
