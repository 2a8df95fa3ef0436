//! Chooses the connection of a call: an idle one or a new one.

use std::sync::Arc;

use pingora_core::{ErrorType, protocols::Stream, server::configuration::ServerConf};

use super::dial::Dialer;
use crate::{clock::Monotonic, connect::ConnectTarget, connection_limit::Semaphore, idle::OwnerThread};

/// The source of connections to upstreams.
pub(super) struct UpstreamConnector {
    dialer: Dialer,
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
}

impl UpstreamConnector {
    /// Returns a source that keeps up to `idle_connections` idle connections.
    pub(super) fn new(conf: &ServerConf, idle_connections: usize) -> Self {
        Self { dialer: Dialer::new(conf), semaphore: Semaphore::new(idle_connections) }
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
    ) -> Result<Connected, ErrorType> {
        if !is_idempotent {
            // A POST must not be retried, so let this thread process a pending FIN before it reuses
            // an idle connection.
            tokio::task::yield_now().await;
        }
        if let Some((stream, owner)) = target.take_idle(Monotonic::now()) {
            return Ok(Connected { stream, owner, reused: true });
        }
        let owner = OwnerThread::own();
        match self.dialer.make(target).await {
            Ok(stream) => Ok(Connected { stream, owner, reused: false }),
            Err(error) => Err(error.etype().clone()),
        }
    }
}
