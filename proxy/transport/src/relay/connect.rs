//! Chooses the connection of a call: an idle one or a new one.

use std::sync::Arc;

use pingora::ErrorType;
use pingora::protocols::Stream;

use super::dial;
use crate::clock::Monotonic;
use crate::connect::{ConnectTarget, ConnectionLimits};
use crate::connection_limit::Semaphore;
use crate::failure::{OUT_OF_FILES, connect_error};
use crate::idle::OwnerThread;
use crate::pipe::PipePool;
use crate::record::DialTimes;

/// The source of connections to upstreams.
pub(crate) struct UpstreamConnector {
    /// The pipes of bodies.
    pipes: Box<PipePool>,
    /// The limit of idle connections.
    semaphore: Arc<Semaphore>,
    /// Maximum number of connections.
    open: usize,
}

/// A connection to an upstream.
pub(crate) struct Connected {
    pub(crate) stream: Stream,
    /// The thread that keeps it when it is idle.
    pub(crate) owner: OwnerThread,
    /// When the connection was made. `None` if it has served a call before.
    pub(crate) dialed: Option<DialTimes>,
}

impl UpstreamConnector {
    /// Returns a source of connections within these limits.
    pub(crate) fn new(limits: ConnectionLimits) -> Self {
        let ConnectionLimits { idle, open, pipes } = limits;
        Self { pipes: Box::new(PipePool::new(pipes)), semaphore: Semaphore::new(idle), open }
    }

    /// Returns the pool of pipes.
    pub(crate) fn pipes(&self) -> &PipePool {
        &self.pipes
    }

    /// Returns the limit of idle connections.
    pub(crate) const fn semaphore(&self) -> &Arc<Semaphore> {
        &self.semaphore
    }

    /// Returns a connection to an upstream. `in_flight` is the number of requests, each of which may
    /// have one.
    pub(crate) async fn connect(
        &self,
        target: &Arc<ConnectTarget>,
        is_idempotent: bool,
        in_flight: usize,
    ) -> Result<Connected, ErrorType> {
        if !is_idempotent {
            // A POST must not be retried, so let this thread process a pending FIN before it reuses
            // an idle connection.
            tokio::task::yield_now().await;
        }
        if let Some((stream, owner)) = target.take_idle(Monotonic::now()) {
            return Ok(Connected { stream, owner, dialed: None });
        }
        // An idle connection holds a file as a call does. When calls took all of them, probes
        // failed too, and every server was unhealthy.
        if in_flight.saturating_add(self.semaphore.used()) > self.open {
            return Err(OUT_OF_FILES);
        }
        let owner = OwnerThread::own();
        match dial::connect(target).await {
            Ok((stream, times)) => Ok(Connected { stream, owner, dialed: Some(times) }),
            Err(error) => Err(connect_error(&error)),
        }
    }
}
