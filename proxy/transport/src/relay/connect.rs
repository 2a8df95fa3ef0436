//! A connection for a call: an idle one, a new one, or one that calls share.

use std::sync::Arc;

use pingora_core::{ErrorType, protocols::Stream};

use super::Relay;
use crate::{
    clock::Monotonic,
    connect::ConnectTarget,
    http2::tools::{Carrier, Unmade},
    idle::OwnerThread,
};

/// A connection to an upstream.
pub(super) struct Connected {
    pub(super) stream: Stream,
    /// Where it waits for its next call.
    pub(super) owner: OwnerThread,
    /// Whether it has served a call before.
    pub(super) reused: bool,
    /// Whether other calls share it, so that the upstream can say which of them it has not processed.
    pub(super) shared: bool,
}

/// Why no connection could be made.
#[derive(Debug)]
pub(super) struct ConnectError {
    pub(super) error: ErrorType,
    /// Whether the failure counts as this call's: of all calls that wait for one connection it does for one.
    pub(super) counts: bool,
}

impl Relay {
    /// Returns a connection to an upstream.
    pub(super) async fn connect(
        &self,
        target: &Arc<ConnectTarget>,
        is_idempotent: bool,
    ) -> Result<Connected, ConnectError> {
        if !is_idempotent {
            // A POST must not be retried, so let this thread process a pending FIN before it reuses an idle connection.
            tokio::task::yield_now().await;
        }
        if let Some((stream, owner)) = target.take_idle(Monotonic::now()) {
            return Ok(Connected { stream, owner, reused: true, shared: false });
        }
        if target.http2 {
            // In a box of its own: HTTP/1.1 calls keep no room for it.
            return Box::pin(self.share(target)).await;
        }
        let owner = OwnerThread::own();
        match self.dialer.make(target).await {
            Ok(stream) => Ok(Connected { stream, owner, reused: false, shared: false }),
            Err(error) => Err(ConnectError { error: error.etype().clone(), counts: true }),
        }
    }

    /// Returns a stream of an HTTP/2 connection, or an HTTP/1.1 connection if the upstream does not speak HTTP/2.
    async fn share(&self, target: &Arc<ConnectTarget>) -> Result<Connected, ConnectError> {
        let (lines, to, longest) = target.lines();
        let make = || {
            let (dialer, target) = (Arc::clone(&self.dialer), Arc::clone(target));
            async move { dialer.agree(&target).await }
        };
        let owner = OwnerThread::own();
        match lines.carrier(to, longest, &self.semaphore, make).await {
            Ok(Carrier::Shared(stream, reused)) => {
                Ok(Connected { stream: Box::new(stream), owner, reused, shared: true })
            }
            Ok(Carrier::Alone(stream)) => Ok(Connected { stream, owner, reused: false, shared: false }),
            Err(Unmade { error, own }) => Err(ConnectError { error, counts: own }),
        }
    }
}
