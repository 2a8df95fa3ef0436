//! Sockets that are bound before anything else starts, so that a port that is taken is known at once and a port
//! that the system chose can be told.

use std::{
    io,
    net::{SocketAddr, TcpListener},
    os::fd::IntoRawFd,
};

use async_trait::async_trait;
use pingora_core::{
    apps::ServerApp,
    server::{ListenFds, ShutdownWatch},
    services::{Service, listening::Service as Listening},
};
use tokio::sync::watch;

/// A bound socket.
#[derive(Debug)]
pub struct Socket {
    listener: TcpListener,
    /// Where it is bound, with the port the system chose for port 0.
    pub address: SocketAddr,
}

impl Socket {
    /// Binds an address.
    ///
    /// # Errors
    /// When it cannot be bound; the message names it.
    pub fn bind(address: SocketAddr) -> io::Result<Self> {
        let named =
            |error: io::Error| io::Error::new(error.kind(), format!("cannot listen on {address}: {error}"));
        let listener = TcpListener::bind(address).map_err(named)?;
        listener.set_nonblocking(true).map_err(named)?;
        Ok(Self { address: listener.local_addr().map_err(named)?, listener })
    }
}

/// A service that is given its socket instead of binding one.
pub struct Bound<A> {
    socket: Option<Socket>,
    service: Listening<A>,
    lasting: Option<watch::Sender<bool>>,
}

impl<A: ServerApp + Send + Sync + 'static> Bound<A> {
    /// `app` on `socket`; `threads` is the server's own number when left out.
    #[must_use]
    pub fn new(name: &str, app: A, socket: Socket, threads: Option<usize>) -> Self {
        let mut service = Listening::new(name.to_owned(), app);
        service.add_tcp(&socket.address.to_string());
        service.threads = threads;
        Self { socket: Some(socket), service, lasting: None }
    }

    /// The same service, which goes on until the very end of the process instead of the beginning of its end.
    #[must_use]
    pub fn lasting(self) -> Self {
        Self { lasting: Some(watch::Sender::new(false)), ..self }
    }
}

#[async_trait]
impl<A: ServerApp + Send + Sync + 'static> Service for Bound<A> {
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
        let shutdown = self.lasting.as_ref().map_or(shutdown, watch::Sender::subscribe);
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
