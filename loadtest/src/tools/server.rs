//! One simulated tool: its listener, its connections, and stopping and starting them.

use std::future::poll_fn;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use shared::tool::Tool;
use tokio::io::AsyncWriteExt;
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::sync::{Mutex, oneshot};
use tokio::task::{JoinHandle, JoinSet};

use super::fault::FaultDue;
use super::service;
use super::settings::Settings;
use super::state::{Counters, State};

const BACKLOG: u32 = 1024;

/// A simulated tool at a fixed address, listening or stopped.
pub struct Server {
    state: Arc<State>,
    addr: SocketAddr,
    listening: Mutex<Listening>,
}

enum Listening {
    Open(Accepting),
    /// The port stays bound, so that a connect is refused and nobody else can take it.
    Closed(Option<TcpSocket>),
}

impl Server {
    /// Starts to listen; a port of 0 takes any free one.
    pub(super) async fn start(tool: Tool, addr: SocketAddr) -> io::Result<Self> {
        let listener = bind(addr)
            .and_then(|socket| socket.listen(BACKLOG))
            .map_err(|cause| named(tool.as_str(), addr, &cause))?;
        let addr = listener.local_addr()?;
        let state = Arc::new(State::new(tool));
        let accepting = Self::accept(&state, listener);
        Ok(Self { state, addr, listening: Mutex::new(Listening::Open(accepting)) })
    }

    /// Which tool it plays.
    #[must_use]
    pub fn tool(&self) -> Tool {
        self.state.tool
    }

    /// Where it listens, or will again.
    #[must_use]
    pub const fn addr(&self) -> SocketAddr {
        self.addr
    }

    /// What it has seen.
    #[must_use]
    pub fn counters(&self) -> Counters {
        self.state.counters()
    }

    /// How it behaves.
    #[must_use]
    pub fn settings(&self) -> Settings {
        *self.state.settings()
    }

    /// Makes it behave so from the next request on, on connections that are open already too.
    pub fn set(&self, settings: Settings) {
        *self.state.settings() = settings;
    }

    /// Whether it listens.
    pub async fn is_listening(&self) -> bool {
        matches!(*self.listening.lock().await, Listening::Open(_))
    }

    /// Closes the listener and every connection; when it returns, connects are refused. Again is no fault.
    pub async fn stop(&self) {
        let mut listening = self.listening.lock().await;
        if let Listening::Open(accepting) = &mut *listening {
            accepting.stop().await;
            *listening = Listening::Closed(bind(self.addr).ok());
        }
    }

    /// Listens again at the same address. Again is no fault.
    ///
    /// # Errors
    /// When somebody else has taken the port since.
    pub async fn resume(&self) -> io::Result<()> {
        let mut listening = self.listening.lock().await;
        if let Listening::Closed(kept) = &mut *listening {
            let socket = kept.take().map_or_else(|| bind(self.addr), Ok);
            let listener = socket
                .and_then(|socket| socket.listen(BACKLOG))
                .map_err(|cause| named(self.tool().as_str(), self.addr, &cause))?;
            *listening = Listening::Open(Self::accept(&self.state, listener));
        }
        Ok(())
    }

    /// Back to a new process's settings, counters and listener.
    ///
    /// # Errors
    /// As [`Server::resume`].
    pub async fn reset(&self) -> io::Result<()> {
        self.state.reset();
        self.resume().await
    }

    fn accept(state: &Arc<State>, listener: TcpListener) -> Accepting {
        let state = Arc::clone(state);
        Accepting::start(listener, move |stream| {
            state.count_connection();
            serve(stream, Arc::clone(&state))
        })
    }
}

/// A listener being served. Dropping it closes the listener and its connections, a little later.
pub(super) struct Accepting {
    stop: Option<oneshot::Sender<()>>,
    task: JoinHandle<()>,
}

impl Accepting {
    pub(super) fn start<F>(listener: TcpListener, serve: impl Fn(TcpStream) -> F + Send + 'static) -> Self
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let (stop, stopped) = oneshot::channel();
        Self { stop: Some(stop), task: tokio::spawn(accept_until(stopped, listener, serve)) }
    }

    /// Returns when the listener and every connection are closed.
    pub(super) async fn stop(&mut self) {
        drop(self.stop.take());
        if (&mut self.task).await.is_err() {
            // It panicked or the runtime is going down; either way it has dropped all that it had open.
        }
    }
}

async fn accept_until<F>(
    mut stopped: oneshot::Receiver<()>,
    listener: TcpListener,
    serve: impl Fn(TcpStream) -> F,
) where
    F: Future<Output = ()> + Send + 'static,
{
    const OUT_OF_DESCRIPTORS: Duration = Duration::from_millis(10);
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
                Err(_) => tokio::time::sleep(OUT_OF_DESCRIPTORS).await,
            },
            Some(_) = connections.join_next() => {}
        }
    }
    drop(listener);
    connections.shutdown().await;
}

/// Serves one connection with HTTP/1.1 until it ends or a fault is due, which then gets the bare socket.
async fn serve(stream: TcpStream, state: Arc<State>) {
    let service = service_fn(move |request| Box::pin(service::respond(request, Arc::clone(&state))));
    let mut connection = http1::Builder::new().serve_connection(TokioIo::new(stream), service);
    let ended = poll_fn(|cx| connection.poll_without_shutdown(cx)).await;
    let mut stream = connection.into_parts().io.into_inner();
    let fault = ended.err().as_ref().and_then(due);
    let closed = match fault {
        Some(kind) => kind.strike(stream).await,
        None => stream.shutdown().await,
    };
    if closed.is_err() {
        // The other side went first, which is what faults are for.
    }
}

fn due(ended: &hyper::Error) -> Option<super::Kind> {
    std::error::Error::source(ended)?.downcast_ref::<FaultDue>().map(|due| due.0)
}

/// A bound socket that does not listen yet. Ports left in TIME_WAIT by earlier connections are no hindrance.
pub(super) fn bind(addr: SocketAddr) -> io::Result<TcpSocket> {
    let socket = if addr.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() }?;
    socket.set_reuseaddr(true)?;
    socket.bind(addr)?;
    Ok(socket)
}

pub(super) fn named(who: &str, addr: SocketAddr, cause: &io::Error) -> io::Error {
    io::Error::new(cause.kind(), format!("cannot listen on {addr} for {who}: {cause}"))
}
