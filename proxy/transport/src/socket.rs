//! TCP connections of clients and upstreams. Pingora's keep their socket to themselves, and the
//! kernel must know both sockets to move a body from one to the other.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::AsRawFd as _;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use async_trait::async_trait;
use pingora::protocols::l4::socket::SocketAddr as PeerAddress;
use pingora::protocols::raw_connect::ProxyDigest;
use pingora::protocols::{
    GetProxyDigest, GetSocketDigest, GetTimingDigest, Peek, Shutdown, SocketDigest, Ssl, Stream,
    TimingDigest, UniqueID, UniqueIDType,
};
use tokio::io::{AsyncRead, AsyncWriteExt as _, Interest, ReadBuf};
use tokio::net::TcpStream;

use crate::delegate::delegate_write;
use crate::pipe::Pipe;
use crate::splice_end::SpliceEnd;

/// A TCP connection.
#[derive(Debug)]
pub(crate) struct Socket {
    stream: TcpStream,
    peer: SocketAddr,
}

impl Socket {
    /// Returns the connection. Its Nagle's algorithm is off, so that no part of a message waits for
    /// an acknowledgment: who connects switches it off, and who is accepted has it from the listener.
    pub(crate) const fn new(stream: TcpStream, peer: SocketAddr) -> Self {
        Self { stream, peer }
    }

    /// Returns the TCP connection, of which no byte has been read.
    pub(crate) const fn tcp(&mut self) -> &mut TcpStream {
        &mut self.stream
    }

    /// Sets the address of the client of a load balancer.
    pub(crate) const fn set_peer(&mut self, peer: SocketAddr) {
        self.peer = peer;
    }
}

/// Returns the connection behind a stream if the kernel can move its bytes: a TCP connection with
/// nothing in between, as TLS or HTTP/2.
pub(crate) fn splice_end(stream: &Stream) -> Option<&dyn SpliceEnd> {
    let stream = (**stream).as_any();
    #[cfg(test)]
    if let Some(fake) = stream.downcast_ref::<crate::fake_stream::FakeStream>() {
        return fake.splice_end();
    }
    stream.downcast_ref::<Socket>().map(|socket| socket as &dyn SpliceEnd)
}

/// Returns the address of the peer of a TCP connection with nothing in between.
pub(crate) fn peer(stream: &Stream) -> Option<IpAddr> {
    (**stream).as_any().downcast_ref::<Socket>().map(|socket| socket.peer.ip())
}

/// Makes the end of a TCP connection a reset. Its peer could take the end of a response that has no
/// length for that of its body. With TLS, the missing `close_notify` tells it.
pub(crate) fn reset_on_close(stream: &Stream) {
    let stream = (**stream).as_any();
    #[cfg(test)]
    if let Some(fake) = stream.downcast_ref::<crate::fake_stream::FakeStream>() {
        return fake.reset_on_close();
    }
    if let Some(socket) = stream.downcast_ref::<Socket>() {
        // Without it, the end looks as before.
        let _set = socket.stream.set_zero_linger();
    }
}

/// Returns true if the peer has ended a connection, or its half of it. Bytes before the end may be
/// unread. Only Linux knows.
pub(crate) fn is_ended_by_peer(stream: &Stream) -> bool {
    /// States of a connection: it does not exist any more, or the peer has ended its half.
    const CLOSE: u8 = 7;
    const CLOSE_WAIT: u8 = 8;
    #[cfg(test)]
    if let Some(fake) = (**stream).as_any().downcast_ref::<crate::fake_stream::FakeStream>() {
        return fake.is_ended_by_peer();
    }
    let info = stream.get_socket_digest().and_then(|digest| digest.tcp_info());
    info.is_some_and(|info| matches!(info.tcpi_state, CLOSE | CLOSE_WAIT))
}

impl SpliceEnd for Socket {
    fn poll_fill(&self, pipe: &mut Pipe, max: u64, context: &mut Context<'_>) -> Poll<io::Result<usize>> {
        loop {
            ready!(self.stream.poll_read_ready(context))?;
            match self.stream.try_io(Interest::READABLE, || pipe.fill(&self.stream, max)) {
                // `try_io` has cleared the readiness, so the loop waits. Returned as pending, no
                // waker would be registered.
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                filled => return Poll::Ready(filled),
            }
        }
    }

    fn poll_drain(&self, pipe: &mut Pipe, context: &mut Context<'_>) -> Poll<io::Result<usize>> {
        loop {
            ready!(self.stream.poll_write_ready(context))?;
            match self.stream.try_io(Interest::WRITABLE, || pipe.drain(&self.stream)) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                drained => return Poll::Ready(drained),
            }
        }
    }
}

impl AsyncRead for Socket {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

#[async_trait]
impl Shutdown for Socket {
    async fn shutdown(&mut self) {
        // The peer may be gone already.
        let _sent = self.stream.shutdown().await;
    }
}

impl GetSocketDigest for Socket {
    fn get_socket_digest(&self) -> Option<Arc<SocketDigest>> {
        let digest = SocketDigest::from_raw_fd(self.stream.as_raw_fd());
        digest.peer_addr.get_or_init(|| Some(PeerAddress::Inet(self.peer)));
        Some(Arc::new(digest))
    }
}

impl GetTimingDigest for Socket {
    fn get_timing_digest(&self) -> Vec<Option<TimingDigest>> {
        Vec::new()
    }
}

impl GetProxyDigest for Socket {
    fn get_proxy_digest(&self) -> Option<Arc<ProxyDigest>> {
        None
    }
}

impl UniqueID for Socket {
    fn id(&self) -> UniqueIDType {
        self.stream.as_raw_fd()
    }
}

impl Ssl for Socket {}
impl Peek for Socket {}
delegate_write!(Socket, stream);
