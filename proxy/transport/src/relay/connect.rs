//! Chooses the connection of a call: an idle one, a new one, or a shared one.

use std::sync::Arc;

use pingora_core::{ErrorType, protocols::Stream, server::configuration::ServerConf};

use super::dial::Dialer;
use crate::{
    clock::Monotonic,
    connect::ConnectTarget,
    connection_limit::Semaphore,
    http2::tools::{Carrier, Unmade},
    idle::OwnerThread,
};

/// The source of connections to upstreams.
pub(super) struct UpstreamConnector {
    dialer: Arc<Dialer>,
    /// The limit of idle connections.
    semaphore: Arc<Semaphore>,
}

/// A connection to an upstream.
pub(super) struct Connected {
    pub(super) stream: Stream,
    /// The thread that keeps it when it is idle.
    pub(super) owner: OwnerThread,
    /// Whether the connection has served a call before.
    pub(super) reused: bool,
    /// Whether calls share the connection, so that the upstream can state which of them it has not
    /// processed.
    pub(super) shared: bool,
}

/// The error of a connection that could not be established.
#[derive(Debug)]
pub(super) struct ConnectError {
    pub(super) error: ErrorType,
    /// Whether the failure counts for this call. If several calls wait for one connection, it
    /// counts for one of them.
    pub(super) counts: bool,
}

impl UpstreamConnector {
    /// Returns a source that keeps up to `idle_connections` idle connections.
    pub(super) fn new(conf: &ServerConf, idle_connections: usize) -> Self {
        Self { dialer: Arc::new(Dialer::new(conf)), semaphore: Semaphore::new(idle_connections) }
    }

    /// Returns the limit of idle connections.
    pub(super) const fn semaphore(&self) -> &Arc<Semaphore> {
        &self.semaphore
    }

    /// Returns a connection to an upstream.
    pub(super) async fn connect(
        &self,
        target: &Arc<ConnectTarget>,
        is_idempotent: bool,
    ) -> Result<Connected, ConnectError> {
        if !is_idempotent {
            // A POST must not be retried, so let this thread process a pending FIN before it reuses
            // an idle connection.
            tokio::task::yield_now().await;
        }
        if let Some((stream, owner)) = target.take_idle(Monotonic::now()) {
            return Ok(Connected { stream, owner, reused: true, shared: false });
        }
        if target.http2 {
            // Boxed, so that HTTP/1.1 calls hold no memory for it.
            return Box::pin(self.share(target)).await;
        }
        let owner = OwnerThread::own();
        match self.dialer.make(target).await {
            Ok(stream) => Ok(Connected { stream, owner, reused: false, shared: false }),
            Err(error) => Err(ConnectError { error: error.etype().clone(), counts: true }),
        }
    }

    /// Returns a stream of an HTTP/2 connection, or an HTTP/1.1 connection if the upstream does not
    /// speak HTTP/2.
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
