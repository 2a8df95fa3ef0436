//! Connections that are simulated, and the dialer that opens them.

use std::cell::RefCell;
use std::fmt;
use std::io;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use async_trait::async_trait;
use pingora::protocols::raw_connect::ProxyDigest;
use pingora::protocols::{
    GetProxyDigest, GetSocketDigest, GetTimingDigest, Peek, Shutdown, SocketDigest, Ssl, Stream,
    TimingDigest, UniqueID, UniqueIDType,
};
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt as _, ReadBuf};

use crate::delegate::delegate_write;
use crate::splice_end::SpliceEnd;

/// What a simulated connection does.
pub(crate) trait Fake: AsyncRead + AsyncWrite + SpliceEnd + Send + Sync + Unpin {
    /// Returns true if the kernel can move its bytes.
    fn can_splice(&self) -> bool;

    /// Makes the end of the connection a reset.
    fn reset_on_close(&self);

    /// Returns true if the peer has ended the connection.
    fn is_ended_by_peer(&self) -> bool;
}

/// A simulated connection.
pub(crate) struct FakeStream(Box<dyn Fake>);

impl FakeStream {
    pub(crate) fn new(fake: impl Fake + 'static) -> Self {
        Self(Box::new(fake))
    }

    /// Returns the connection if the kernel can move its bytes.
    pub(crate) fn splice_end(&self) -> Option<&dyn SpliceEnd> {
        self.0.can_splice().then_some(&*self.0 as &dyn SpliceEnd)
    }

    /// Makes the end of the connection a reset.
    pub(crate) fn reset_on_close(&self) {
        self.0.reset_on_close();
    }

    /// Returns true if the peer has ended the connection.
    pub(crate) fn is_ended_by_peer(&self) -> bool {
        self.0.is_ended_by_peer()
    }
}

type Dialed = Pin<Box<dyn Future<Output = io::Result<Stream>> + Send>>;
type Dialer = Rc<dyn Fn(Duration) -> Dialed>;

thread_local! {
    static DIALER: RefCell<Option<Dialer>> = const { RefCell::new(None) };
}

/// Sets what opens the connections to upstreams on this thread, in at most the given time.
pub(crate) fn set_dialer(dialer: Option<Dialer>) {
    DIALER.set(dialer);
}

/// Opens a connection to an upstream. Returns `None` on a thread without a dialer.
pub(crate) fn dial(time: Duration) -> Option<Dialed> {
    DIALER.with_borrow(|dialer| dialer.as_ref().map(|dialer| dialer(time)))
}

impl AsyncRead for FakeStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_read(context, buffer)
    }
}

delegate_write!(FakeStream, 0);

#[async_trait]
impl Shutdown for FakeStream {
    async fn shutdown(&mut self) {
        // The peer may be gone already.
        let _sent = self.0.shutdown().await;
    }
}

impl GetSocketDigest for FakeStream {
    fn get_socket_digest(&self) -> Option<Arc<SocketDigest>> {
        None
    }
}

impl GetTimingDigest for FakeStream {
    fn get_timing_digest(&self) -> Vec<Option<TimingDigest>> {
        Vec::new()
    }
}

impl GetProxyDigest for FakeStream {
    fn get_proxy_digest(&self) -> Option<Arc<ProxyDigest>> {
        None
    }
}

impl UniqueID for FakeStream {
    fn id(&self) -> UniqueIDType {
        0
    }
}

impl Ssl for FakeStream {}
impl Peek for FakeStream {}

impl fmt::Debug for FakeStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FakeStream").finish_non_exhaustive()
    }
}
