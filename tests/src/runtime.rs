//! The runtime of fake servers and blocking clients. It is not the runtime of a test, so a test
//! that blocks its thread, for example while a process starts, does not keep a fake tool from
//! responding to probes.

use std::{net::SocketAddr, sync::LazyLock};

use tokio::{
    net::{TcpListener, TcpSocket},
    runtime::{Builder, Runtime},
};

/// The one runtime of the process.
pub(crate) static RUNTIME: LazyLock<Runtime> =
    LazyLock::new(|| Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap());

/// Binds a listener that belongs to [`RUNTIME`] to a free port.
pub(crate) fn listen() -> (TcpListener, SocketAddr) {
    let listener = listen_at("127.0.0.1:0".parse().unwrap());
    let address = listener.local_addr().unwrap();
    (listener, address)
}

/// Keeps a port for who listens at it again later: no other program gets it meanwhile. Port 0 means a free one.
pub(crate) fn keep_port(address: SocketAddr) -> (TcpSocket, SocketAddr) {
    // It never listens, so that a connection is refused while nobody does.
    let socket = bind(address);
    let address = socket.local_addr().unwrap();
    (socket, address)
}

/// Binds a listener that belongs to [`RUNTIME`].
pub(crate) fn listen_at(address: SocketAddr) -> TcpListener {
    let _context = RUNTIME.enter();
    bind(address).listen(1_024).unwrap()
}

fn bind(address: SocketAddr) -> TcpSocket {
    let socket = TcpSocket::new_v4().unwrap();
    socket.set_reuseaddr(true).unwrap();
    socket.bind(address).unwrap();
    socket
}
