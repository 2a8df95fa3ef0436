//! One simulated tool: its listener and its connections.

use std::future::poll_fn;
use std::net::SocketAddr;
use std::sync::Arc;

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use serde_json::Value;
use shared::tool::Tool;
use tokio::io::AsyncWriteExt;
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::sync::Mutex;

use super::accept_loop::{self, AcceptLoop, BindError};
use super::fault::{FaultKind, InjectFaultError};
use super::service;
use super::settings::Settings;
use super::state::{ToolCounters, ToolState};

/// A simulated tool at a fixed address, listening or stopped.
pub struct ToolServer {
    state: Arc<ToolState>,
    addr: SocketAddr,
    listener: Mutex<ListenerState>,
}

enum ListenerState {
    Open(AcceptLoop),
    /// The socket stays bound, so that connects are refused and no other process can take the port.
    Closed(Option<TcpSocket>),
}

impl ToolServer {
    /// Starts a tool. Port 0 selects any free port.
    pub(super) fn start(tool: Tool, addr: SocketAddr) -> Result<Self, BindError> {
        let (listener, addr) = accept_loop::listen(tool.as_str(), addr, None)?;
        let state = Arc::new(ToolState::new(tool));
        let listener = Mutex::new(ListenerState::Open(Self::accept(&state, listener)));
        Ok(Self { state, addr, listener })
    }

    /// Returns the simulated tool.
    pub fn tool(&self) -> Tool {
        self.state.tool
    }

    /// Returns the address, which does not change while the tool is stopped.
    pub const fn addr(&self) -> SocketAddr {
        self.addr
    }

    /// Returns the counters.
    pub fn counters(&self) -> ToolCounters {
        *self.state.counters()
    }

    /// Returns what it has received as a receiver of webhooks.
    pub fn webhooks(&self) -> Value {
        self.state.webhooks.status()
    }

    /// Returns the settings.
    pub fn settings(&self) -> Settings {
        *self.state.settings()
    }

    /// Replaces the settings. They apply from the next request on, also on open connections.
    pub fn set(&self, settings: Settings) {
        *self.state.settings() = settings;
    }

    /// Returns true if the tool is listening.
    pub async fn is_listening(&self) -> bool {
        matches!(*self.listener.lock().await, ListenerState::Open(_))
    }

    /// Closes the listener and all connections. Returns when connects are refused. Idempotent.
    pub async fn stop(&self) {
        let mut listener = self.listener.lock().await;
        if let ListenerState::Open(accept_loop) = &mut *listener {
            accept_loop.stop().await;
            *listener = ListenerState::Closed(accept_loop::bind(self.addr).ok());
        }
    }

    /// Listens again at the same address. Idempotent.
    ///
    /// # Errors
    /// Returns an error if another process has taken the port.
    pub async fn resume(&self) -> Result<(), BindError> {
        let mut state = self.listener.lock().await;
        if let ListenerState::Closed(socket) = &mut *state {
            let (listener, _) = accept_loop::listen(self.tool().as_str(), self.addr, socket.take())?;
            *state = ListenerState::Open(Self::accept(&self.state, listener));
        }
        Ok(())
    }

    /// Restores the initial settings, counters and listener.
    ///
    /// # Errors
    /// Returns an error if another process has taken the port.
    pub async fn reset(&self) -> Result<(), BindError> {
        self.state.reset();
        self.resume().await
    }

    fn accept(state: &Arc<ToolState>, listener: TcpListener) -> AcceptLoop {
        let state = Arc::clone(state);
        AcceptLoop::start(listener, move |stream| {
            state.counters().connections += 1;
            serve(stream, Arc::clone(&state))
        })
    }
}

/// Serves one HTTP/1.1 connection until it is closed, or until a fault takes over the socket.
async fn serve(stream: TcpStream, state: Arc<ToolState>) {
    let service = service_fn(move |request| Box::pin(service::respond(request, Arc::clone(&state))));
    let mut connection = http1::Builder::new().serve_connection(TokioIo::new(stream), service);
    let result = poll_fn(|cx| connection.poll_without_shutdown(cx)).await;
    let mut stream = connection.into_parts().io.into_inner();
    let fault = result.err().as_ref().and_then(fault_kind);
    // It fails if the client closed the connection first, which is expected with faults.
    let _closed = match fault {
        Some(kind) => kind.inject(stream).await,
        None => stream.shutdown().await,
    };
}

/// Returns the fault to inject, if that is why the connection's service failed.
fn fault_kind(error: &hyper::Error) -> Option<FaultKind> {
    std::error::Error::source(error)?.downcast_ref::<InjectFaultError>().map(|error| error.0)
}
