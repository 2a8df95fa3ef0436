//! Forwards requests with `pingora-proxy`: the second transport. Pingora runs the phases, carries the
//! messages, and makes and keeps the HTTP/2 connections to upstreams. Those of HTTP/1.1 are the
//! relay's, and read along by its parsers. The client's side is the same as before the relay: this is a separate downstream session to
//! Pingora, so that limits, timeouts and heads are what they are there.
//!
//! Why: docs/decisions/proxy.md, "HTTP/2 to tools is Pingora's".

mod client_session;
mod connection;
mod exchange;
mod failure;
mod head;
mod peer;
mod phases;
mod response_scan;

use std::future::poll_fn;
use std::sync::Arc;
use std::task::Poll;

use pingora::apps::HttpServerApp as _;
use pingora::protocols::http::ServerSession;
use pingora::proxy::{HttpProxy, http_proxy};
use pingora::server::ShutdownWatch;
use pingora::server::configuration::ServerConf;
use tokio::sync::watch;

use self::client_session::ClientSession;
use self::exchange::{Exchange, Shared};
use self::peer::Peers;
use self::phases::Adapter;
use crate::client::ClientStream;
use crate::connect::ConnectionLimits;
use crate::hooks::Phases;
use crate::relay::outcome::Next;

/// Pingora's own limit on attempts. The product decides about retries.
const MAX_ATTEMPTS: usize = 1_000;

/// Forwards requests to upstreams.
pub(crate) struct PingoraProxy<P: Phases> {
    phases: P,
    proxy: Arc<HttpProxy<Adapter<P>>>,
    /// Never set: a graceful shutdown reaches Pingora by the responses it is given.
    shutdown: ShutdownWatch,
}

impl<P: Phases> PingoraProxy<P> {
    /// Returns a proxy whose connections to upstreams of each version of HTTP keep to these limits.
    pub(crate) fn new(phases: P, limits: ConnectionLimits) -> Self {
        let peers = Peers::new(limits);
        let conf = ServerConf {
            threads: 1,
            // For each thread: the pool is one. It cannot be empty: without a place in it, a
            // connection is closed by its idle timeout.
            upstream_keepalive_pool_size: limits.idle.max(1),
            max_retries: MAX_ATTEMPTS,
            ..ServerConf::default()
        };
        let proxy = http_proxy(&Arc::new(conf), Adapter::new(peers));
        Self { phases, proxy: Arc::new(proxy), shutdown: watch::channel(false).1 }
    }

    /// Serves the request whose head the client has sent. `last` says that the connection must
    /// serve no other. Returns the connection and what happens to it, or `None` if it is closed.
    pub(crate) async fn serve(
        &self,
        client: Box<ClientStream>,
        last: bool,
    ) -> Option<(Box<ClientStream>, Next)> {
        let shared = Shared::new(Exchange::new(self.phases.clone(), client, last));
        let session = ServerSession::new_custom(Box::new(ClientSession::new(shared.clone())));
        let mut process = self.proxy.process_new_http(session, &self.shutdown);
        let stalled = poll_fn(|context| {
            shared.with(Exchange::begin_poll);
            match shared.enter(|| process.as_mut().poll(context)) {
                Poll::Ready(_reused) => Poll::Ready(None),
                Poll::Pending => shared
                    .with(|exchange| exchange.poll_unwatched(context))
                    .unwrap_or(Poll::Pending)
                    .map(Some),
            }
        })
        .await;
        drop(process);
        let mut exchange = shared.take()?;
        if let Some(error) = stalled {
            exchange.fail_finally(error);
            exchange.conclude().await;
            exchange.log();
        }
        Some((exchange.client, exchange.next))
    }
}
